package balbench

import (
	"bytes"
	"encoding/binary"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/bal"
)

// Sizes of codes, in bytes.
const (
	smallCode = 45 // of a minimal proxy (EIP-1167)
	usualCode = 600
)

// delegates is how many accounts EIP-7702 delegations go to.
const delegates = 50

func fillTransfers(b *block) {
	senders := b.load.Accounts / 2
	b.senders(senders)
	b.take(Plain, b.load.Accounts-senders, func(_ int, a *bal.AccountChanges) { b.balance(a) })
}

// senders pay for transactions.
func (b *block) senders(n int) {
	b.take(Plain, n, func(_ int, a *bal.AccountChanges) { b.balance(a); b.nonce(a) })
}

func fillNewAccounts(b *block) {
	b.senders(b.load.Accounts / 2)
	for range b.load.Accounts - b.load.Accounts/2 {
		b.balance(b.fresh())
	}
}

func fillValueCalls(b *block) {
	b.senders(b.load.Accounts / 10)
	b.take(Contract, 1, func(_ int, a *bal.AccountChanges) { b.balance(a) })
	for i := range b.load.Accounts - b.load.Accounts/10 {
		if a := b.fresh(); i%4 < 3 { // every fourth is touched and stays empty (EIP-161)
			b.balance(a)
		}
	}
}

func fillCreations(b *block) {
	b.senders(b.load.Accounts / 2)
	contracts := b.load.Accounts - b.load.Accounts/2
	for i := range contracts {
		a := b.fresh()
		b.deploy(a, code(usualCode, b.n<<24+i))
		if i%3 == 0 {
			b.balance(a)
		}
		for k := range b.load.Slots / contracts {
			b.slot(a, k, b.n+k)
		}
	}
}

// code is the i-th code of a size, in bytes.
func code(size, i int) []byte {
	c := bytes.Repeat([]byte{0x5b}, size) // JUMPDEST
	binary.BigEndian.PutUint64(c, uint64(i))
	return c
}

func fillCreate2(b *block) {
	const perFactory = 100
	factories := 1 + b.load.Accounts/perFactory
	b.senders(factories)
	b.take(Contract, factories, func(_ int, a *bal.AccountChanges) { b.nonce(a) })
	for range max(b.load.Accounts-2*factories, 1) {
		b.deploy(b.fresh(), code(smallCode, 0))
	}
}

func fillAuthorisations(b *block) {
	b.take(Plain, b.load.Accounts, func(i int, a *bal.AccountChanges) {
		b.nonce(a)
		b.delegate(a, i+b.n)
	})
}

func (b *block) delegate(a *bal.AccountChanges, i int) {
	c := types.AddressToDelegation(address("delegate", i%delegates))
	a.CodeChanges = []bal.CodeChange{{Index: b.index(), Code: c}}
}

// fillCreateDestroy drains accounts, and funds them again in the next block. Half of the rows are
// contracts that lived within a transaction and leave nothing.
func fillCreateDestroy(b *block) {
	gone := b.load.Accounts / 2
	b.prepaid = newPicker((b.n-1)/2*gone, 7919, b.shape.Prepaid) // the same twice
	b.take(Prepaid, b.load.Accounts-gone, func(_ int, a *bal.AccountChanges) {
		if b.balance(a); b.n%2 == 1 {
			a.BalanceChanges[0].Balance.Clear()
		}
	})
	for range gone {
		a := b.fresh()
		a.StorageReads = append(a.StorageReads, slotKey(1), slotKey(2))
	}
}
