package bench

import (
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

const (
	// GasLimit of every block: 100,000 items.
	GasLimit = 200_000_000
	// Transactions of every block.
	Transactions = 200
)

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

// AccessList is the access list of the n-th block, n from 1 on; always the same one.
func (s Sizes) AccessList(n int) *bal.AccessList {
	l := &bal.AccessList{}
	switch s.Family {
	case FamilyUpdate:
		s.update(l, n)
	case FamilyCreate:
		s.create(l, n)
	case FamilyDelegate:
		s.delegate(l, n)
	case FamilyClear:
		s.clear(l, n)
	}
	slices.SortFunc(l.Accounts, func(a, b bal.AccountChanges) int {
		return a.Address.Cmp(b.Address)
	})
	for i := range l.Accounts {
		slices.SortFunc(l.Accounts[i].StorageChanges, func(a, b bal.SlotChanges) int {
			return a.Slot.Cmp(b.Slot)
		})
	}
	return l
}

// index spreads the changes of a block over its transactions.
func index(i int) uint32 { return uint32(1 + i%Transactions) }

func setBalance(a *bal.AccountChanges, i, n int) {
	v := uint256.NewInt(uint64(1_000_000_000 + n*1000 + i))
	a.BalanceChanges = []bal.BalanceChange{{Index: index(i), Balance: *v}}
}

func setSlot(a *bal.AccountChanges, i, slot, value int) {
	a.StorageChanges = append(a.StorageChanges, bal.SlotChanges{
		Slot:    slotKey(slot),
		Changes: []bal.StorageChange{{Index: index(i), Value: slotKey(value)}},
	})
}

func (s Sizes) update(l *bal.AccessList, n int) {
	step := stride(104_729, s.Accounts)
	for i := range balancesPerBlock {
		a := bal.AccountChanges{Address: accountAddress((n*7919 + i*step) % s.Accounts)}
		setBalance(&a, i, n)
		l.Accounts = append(l.Accounts, a)
	}
	step, slotStep := stride(977, s.Contracts), stride(13, s.Slots)
	for i := range contractsPerBlock {
		a := bal.AccountChanges{Address: contractAddress((n*31 + i*step) % s.Contracts)}
		for k := range slotsPerContract {
			setSlot(&a, i, (n+k*slotStep)%s.Slots, n*100+k+1)
		}
		l.Accounts = append(l.Accounts, a)
	}
}

func (s Sizes) create(l *bal.AccessList, n int) {
	for i := range balancesPerBlock {
		a := bal.AccountChanges{Address: address("new account", n*balancesPerBlock+i)}
		setBalance(&a, i, n)
		l.Accounts = append(l.Accounts, a)
	}
	for i := range contractsPerBlock {
		a := bal.AccountChanges{Address: address("new contract", n*contractsPerBlock+i)}
		a.NonceChanges = []bal.NonceChange{{Index: index(i), Nonce: 1}}
		code := crypto.Keccak256([]byte("code"), binary.BigEndian.AppendUint64(nil, uint64(i)))
		a.CodeChanges = []bal.CodeChange{{Index: index(i), Code: code}}
		for k := range slotsPerContract / 2 {
			setSlot(&a, i, k, n*100+k+1)
		}
		l.Accounts = append(l.Accounts, a)
	}
}

func (s Sizes) delegate(l *bal.AccessList, n int) {
	step := stride(104_729, s.Accounts)
	for i := range balancesPerBlock {
		a := bal.AccountChanges{Address: accountAddress((n*7919 + 13 + i*step) % s.Accounts)}
		target := address("delegate", i%50)
		code := types.AddressToDelegation(target)
		a.NonceChanges = []bal.NonceChange{{Index: index(i), Nonce: uint64(n + 2)}}
		a.CodeChanges = []bal.CodeChange{{Index: index(i), Code: code}}
		l.Accounts = append(l.Accounts, a)
	}
}

// clear visits the contracts in turn and clears the next slots of each; once all are cleared, its
// blocks change nothing.
func (s Sizes) clear(l *bal.AccessList, n int) {
	step := stride(13, s.Slots)
	for i := range contractsPerBlock {
		at := (n-1)*contractsPerBlock + i
		a := bal.AccountChanges{Address: contractAddress(at % s.Contracts)}
		for k := range slotsPerContract {
			setSlot(&a, i, (at/s.Contracts*slotsPerContract+k)*step%s.Slots, 0)
		}
		l.Accounts = append(l.Accounts, a)
	}
}

// newHeader is the Amsterdam header of the block after parent.
func newHeader(parent *types.Header, root common.Hash, list []byte) *types.Header {
	number := new(big.Int).Add(parent.Number, big.NewInt(1))
	zero, slot, listHash := uint64(0), number.Uint64(), bal.Hash(list)
	h := &types.Header{
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash,
		ReceiptHash: types.EmptyReceiptsHash, Root: root,
		Difficulty: new(big.Int), Number: number, GasLimit: GasLimit, Time: 12 * slot,
		BaseFee: big.NewInt(7), WithdrawalsHash: &types.EmptyWithdrawalsHash,
		BlobGasUsed: &zero, ExcessBlobGas: &zero, ParentBeaconRoot: &common.Hash{},
		RequestsHash: &types.EmptyRequestsHash, BlockAccessListHash: &listHash, SlotNumber: &slot,
	}
	if number.Sign() > 0 {
		h.ParentHash = parent.Hash()
	}
	return h
}
