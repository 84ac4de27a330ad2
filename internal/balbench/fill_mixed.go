package balbench

import "github.com/balsa-sync/balsa/bal"

// The shares of a mixed block's accounts, in percent; the rest are plain accounts whose balance
// changes, half of them senders.
const (
	mixedContracts  = 30 // have all slots
	mixedNew        = 4
	mixedDelegated  = 1
	mixedDeployed   = 1
	mixedReadShare  = 20 // accounts that are only looked at, on top
	mixedSlotReads  = 50 // slots that are only looked at, in percent of those that change
	mixedDeploySlot = 5
)

func fillMixed(b *block) {
	n := b.load.Accounts
	part := func(percent int) int { return max(n*percent/100, 1) }
	contracts, created := part(mixedContracts), part(mixedNew)
	delegated, deployed := part(mixedDelegated), part(mixedDeployed)
	plain := max(n-contracts-created-delegated-deployed, 1)
	b.senders(plain / 2)
	b.take(Plain, plain-plain/2, func(_ int, a *bal.AccountChanges) { b.balance(a) })
	b.take(Plain, delegated, func(i int, a *bal.AccountChanges) {
		b.nonce(a)
		b.delegate(a, i+b.n)
	})
	for range created {
		b.balance(b.fresh())
	}
	for i := range deployed {
		a := b.fresh()
		b.deploy(a, code(usualCode, b.n<<24+i))
		for k := range mixedDeploySlot {
			b.slot(a, k, b.n+k)
		}
	}
	contracts = min(contracts, b.shape.Contracts)
	slots := b.skewed(contracts, max(b.load.Slots-deployed*mixedDeploySlot, contracts))
	b.take(Contract, contracts, func(_ int, a *bal.AccountChanges) {
		b.mixedSlots(a, slots[0])
		slots = slots[1:]
	})
	b.take(Plain, part(mixedReadShare), func(int, *bal.AccountChanges) {})
}

// skewed shares slots among contracts: the first has a tenth of them, the next half as many and so
// on, as long as that is more than an equal share of the rest.
func (b *block) skewed(contracts, slots int) []int {
	shares := make([]int, contracts)
	hot := slots / 10
	i := 0
	for ; i < contracts && hot > 2*slots/contracts; i++ {
		shares[i] = hot
		slots -= hot
		hot /= 2
	}
	for left := contracts - i; left > 0; i, left = i+1, left-1 {
		shares[i] = slots / left
		slots -= shares[i]
	}
	return shares
}

// mixedSlots writes over seven slots of ten, clears one and makes two new ones, and reads half as
// many.
func (b *block) mixedSlots(a *bal.AccountChanges, n int) {
	step := stride(13, b.shape.Slots)
	old := 0
	for k := range n {
		// Ten numbers of the contract's own, so that small shares have something of each.
		turn := (k + len(b.accounts)) % 10
		switch {
		case turn < 2 || old >= b.shape.Slots:
			b.slot(a, b.shape.Slots+b.n<<16+k, b.n*100+k+1)
			continue
		case turn == 2:
			b.slot(a, (b.n+old*step)%b.shape.Slots, 0)
		default:
			b.slot(a, (b.n+old*step)%b.shape.Slots, b.n*100+k+1)
		}
		old++
	}
	for range n * mixedSlotReads / 100 {
		if old >= b.shape.Slots {
			return
		}
		a.StorageReads = append(a.StorageReads, slotKey((b.n+old*step)%b.shape.Slots))
		old++
	}
}
