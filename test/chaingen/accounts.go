package chaingen

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// maxWithdrawals is MAX_WITHDRAWALS_PER_PAYLOAD of the consensus layer.
const maxWithdrawals = 16

// The recipes of a family take turns, and where in the turn a block starts depends on its number:
// a chain of a few small blocks has all of them, without a draw that could leave one out.

func fillTransfers(b *block, n int) {
	for i := range n {
		switch (int(b.number) + i) % 6 {
		case 0:
			from := b.sender() // to itself
			b.send(from, &from.addr, transferGas, b.amount(), nil)
		case 1:
			b.transfer(b.holder(), new(big.Int)) // nothing, to somebody
		case 2:
			b.transfer(b.coinbase, b.amount())
		case 3:
			b.transfer(b.world.writers[b.rng.IntN(writerCount)], b.amount()) // a contract
		default:
			b.transfer(b.holder(), b.amount())
		}
	}
}

func fillNewAccounts(b *block, n int) {
	for range n {
		b.transfer(b.freshAddress(), b.amount())
	}
}

func fillValueCalls(b *block, n int) {
	for i := range n {
		count := 1 + b.rng.IntN(12)
		amount := big.NewInt(1 + b.rng.Int64N(1_000_000_000))
		switch (int(b.number) + i) % 4 {
		case 0: // touches them; EIP-161 leaves none behind
			b.call(b.world.payer, nil, args(b.freshAddress(), count, 0))
		case 1: // existing accounts among the new ones
			b.pay(b.holder(), count, amount)
		default:
			b.pay(b.freshAddress(), count, amount)
		}
	}
}

// pay has the payer send amount to count addresses from first on.
func (b *block) pay(first common.Address, count int, amount *big.Int) {
	total := new(big.Int).Mul(big.NewInt(int64(count)), amount)
	b.call(b.world.payer, total, args(first, count, amount))
}

func fillWithdrawals(b *block, n int) {
	for i := range min(n, maxWithdrawals) {
		gwei := 1 + b.rng.Uint64N(40_000_000_000)
		switch (int(b.number) + i) % 5 {
		case 0:
			b.withdraw(b.freshAddress(), gwei)
		case 1:
			b.withdraw(b.freshAddress(), 0) // creates nothing
		case 2:
			b.withdraw(b.holder(), 0)
		case 3:
			b.withdraw(b.world.writers[0], gwei)
		default:
			b.withdraw(b.holder(), gwei)
		}
	}
}
