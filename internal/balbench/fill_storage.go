package balbench

import (
	"github.com/balsa-sync/balsa/bal"
)

// slotsEach is how many slots a contract gets where the load asks for none.
func (b *block) slotsEach() int { return max(b.load.Slots/max(b.load.Accounts, 1), 1) }

func fillOverwrites(b *block) {
	b.overwrite(b.load.Accounts, b.slotsEach())
}

// overwrite writes over the next slots of each of some contracts.
func (b *block) overwrite(contracts, each int) {
	step := stride(13, b.shape.Slots)
	b.take(Contract, contracts, func(_ int, a *bal.AccountChanges) {
		for k := range min(each, b.shape.Slots) {
			b.slot(a, (b.n+k*step)%b.shape.Slots, b.n*100+k+1)
		}
	})
}

// fillClears visits the contracts in turn and clears the next slots of each; once all are cleared,
// it sets them again.
func fillClears(b *block) {
	each := min(b.slotsEach(), b.shape.Slots)
	visits := (b.shape.Slots + each - 1) / each // of a contract until it is cleared
	contracts := min(b.load.Accounts, b.shape.Contracts)
	step := stride(13, b.shape.Slots)
	for i := range contracts {
		at := (b.n-1)*contracts + i
		visit := at / b.shape.Contracts
		a := b.row(Contract.Address(at % b.shape.Contracts))
		for k := range each {
			value := 0
			if visit/visits%2 == 1 {
				value = b.n*100 + k + 1
			}
			from := visit % visits * each
			if from+k < b.shape.Slots {
				b.slot(a, (from+k)*step%b.shape.Slots, value)
			}
		}
	}
}

func fillNewSlots(b *block) {
	each := b.slotsEach()
	b.take(Contract, b.load.Accounts, func(_ int, a *bal.AccountChanges) {
		for k := range each {
			b.slot(a, b.shape.Slots+b.n*each+k, b.n*100+k+1)
		}
	})
}

// fillUpdate is five sixths balances; contracts have the slots.
func fillUpdate(b *block) {
	contracts := max(b.load.Accounts/6, 1)
	b.take(Plain, b.load.Accounts-contracts, func(_ int, a *bal.AccountChanges) { b.balance(a) })
	b.overwrite(contracts, max(b.load.Slots/contracts, 1))
}

// fillCreate is five sixths new accounts; contracts have the slots. Every block deploys the same
// codes.
func fillCreate(b *block) {
	contracts := max(b.load.Accounts/6, 1)
	for range b.load.Accounts - contracts {
		b.balance(b.fresh())
	}
	for i := range contracts {
		a := b.fresh()
		b.deploy(a, code(32, i))
		for k := range max(b.load.Slots/contracts, 1) {
			b.slot(a, k, b.n*100+k+1)
		}
	}
}
