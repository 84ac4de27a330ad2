package balbench

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/bal"
)

// block is a block that is being filled.
type block struct {
	shape Shape
	load  Load
	n     int // its number
	// What is left of the state's accounts: each is drawn once a block.
	plain, prepaid, contracts picker
	accounts                  []bal.AccountChanges
	created                   int
}

func newBlock(shape Shape, load Load, n int) *block {
	return &block{
		shape: shape, load: load, n: n,
		plain:     newPicker(n*7919, 104_729, shape.Accounts),
		prepaid:   newPicker(n*4567, 7919, shape.Prepaid),
		contracts: newPicker(n*31, 977, shape.Contracts),
	}
}

// picker draws all numbers below size, each once, far from the one before.
type picker struct{ at, step, left, size int }

func newPicker(start, step, size int) picker {
	if size == 0 {
		return picker{}
	}
	return picker{at: start % size, step: stride(step, size), left: size, size: size}
}

// stride is the least number from n that has no divisor in common with size: stepping by it
// meets size different numbers before the first comes again.
func stride(n, size int) int {
	for {
		a, b := n, size
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return n
		}
		n++
	}
}

// next draws a number; ok is false where none is left.
func (p *picker) next() (i int, ok bool) {
	if p.left == 0 {
		return 0, false
	}
	i = p.at
	p.at, p.left = (p.at+p.step)%p.size, p.left-1
	return i, true
}

// row adds an account to the list; the pointer is valid until the next row.
func (b *block) row(addr common.Address) *bal.AccountChanges {
	b.accounts = append(b.accounts, bal.AccountChanges{Address: addr})
	return &b.accounts[len(b.accounts)-1]
}

// index spreads the changes of a block over its transactions.
func (b *block) index() uint32 { return uint32(1 + len(b.accounts)%Transactions) }

// take adds rows of n accounts of a kind, as far as the state has them, and calls f with each.
func (b *block) take(k Kind, n int, f func(i int, a *bal.AccountChanges)) {
	p := map[Kind]*picker{Plain: &b.plain, Prepaid: &b.prepaid, Contract: &b.contracts}[k]
	for range n {
		i, ok := p.next()
		if !ok {
			return
		}
		f(i, b.row(k.Address(i)))
	}
}

// fresh adds a row of an account that no state and no other block has.
func (b *block) fresh() *bal.AccountChanges {
	b.created++
	return b.row(address("fresh", b.n<<24+b.created))
}

// balance gives the account one that it never had.
func (b *block) balance(a *bal.AccountChanges) {
	v := uint256.NewInt(uint64(1_000_000_000 + b.n*1_000_000 + len(b.accounts)))
	a.BalanceChanges = []bal.BalanceChange{{Index: b.index(), Balance: *v}}
}

// nonce gives the account the next nonce; every block's is higher than those of the ones before.
func (b *block) nonce(a *bal.AccountChanges) {
	a.NonceChanges = []bal.NonceChange{{Index: b.index(), Nonce: uint64(b.n + 2)}}
}

// deploy makes the account a contract with the code.
func (b *block) deploy(a *bal.AccountChanges, code []byte) {
	a.NonceChanges = []bal.NonceChange{{Index: b.index(), Nonce: 1}}
	a.CodeChanges = []bal.CodeChange{{Index: b.index(), Code: code}}
}

// slot sets a slot; zero clears it.
func (b *block) slot(a *bal.AccountChanges, slot, value int) {
	a.StorageChanges = append(a.StorageChanges, bal.SlotChanges{
		Slot:    slotKey(slot),
		Changes: []bal.StorageChange{{Index: b.index(), Value: slotKey(value)}},
	})
}
