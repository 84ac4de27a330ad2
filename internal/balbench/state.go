package balbench

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// Kind is what an account of a State is.
type Kind uint8

// The kinds of accounts. All have a balance of 1 ether.
const (
	Plain    Kind = iota // nonce 1
	Prepaid              // nonce 0
	Contract             // nonce 1 and the slots of the state; no code, which plays no part
	kinds
)

// State is the state that blocks start from. Every contract has the slots 0 to n-1 with the same
// value.
type State struct {
	Shape       Shape
	StorageRoot common.Hash   // of each contract
	Root        common.Hash   // from go-ethereum's StackTrie
	Header      *types.Header // of block 0

	accounts []account
	slots    []common.Hash // the hashed slots of each contract, ascending
}

type account struct {
	hash  common.Hash
	index uint32
	kind  Kind
}

var (
	genesisBalance = uint256.NewInt(1e18)
	genesisValue   = common.HexToHash("0x01020304")
	// genesisSlot is the value as flat states and tries hold it.
	genesisSlot = []byte{0x84, 1, 2, 3, 4}
)

// address is the i-th one of a label.
func address(label string, i int) common.Address {
	var buf [40]byte
	b := binary.BigEndian.AppendUint64(append(buf[:0], label...), uint64(i))
	h := keccak.Sum(b)
	return common.BytesToAddress(h[12:])
}

var labels = [kinds]string{Plain: "account", Prepaid: "prepaid", Contract: "contract"}

// Address is the address of the i-th account of a kind.
func (k Kind) Address(i int) common.Address { return address(labels[k], i) }

func slotKey(i int) common.Hash { return uint256.NewInt(uint64(i)).Bytes32() }

// NewState makes the state of a shape, always the same one.
func NewState(shape Shape) (*State, error) {
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	s := &State{Shape: shape, accounts: make([]account, 0, shape.All())}
	for k, n := range [kinds]int{shape.Accounts, shape.Prepaid, shape.Contracts} {
		for i := range n {
			a := Kind(k).Address(i)
			s.accounts = append(s.accounts, account{keccak.Sum(a[:]), uint32(i), Kind(k)})
		}
	}
	slices.SortFunc(s.accounts, func(a, b account) int { return a.hash.Cmp(b.hash) })
	for i := range shape.Slots {
		k := slotKey(i)
		s.slots = append(s.slots, keccak.Sum(k[:]))
	}
	slices.SortFunc(s.slots, common.Hash.Cmp)
	if err := s.computeRoots(); err != nil {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	s.Header = NewHeader(&types.Header{Number: big.NewInt(-1)}, s.Root, bal.Empty)
	return s, nil
}

func (s *State) computeRoots() error {
	t := trie.NewStackTrie(nil)
	for _, k := range s.slots {
		if err := t.Update(k[:], genesisSlot); err != nil {
			return fmt.Errorf("storage root: %w", err)
		}
	}
	s.StorageRoot = t.Hash()
	var values [kinds][]byte
	for k := range kinds {
		a := s.value(k)
		v, err := rlp.EncodeToBytes(&a)
		if err != nil {
			return fmt.Errorf("account: %w", err)
		}
		values[k] = v
	}
	t = trie.NewStackTrie(nil)
	for i := range s.accounts {
		a := &s.accounts[i]
		if err := t.Update(a.hash[:], values[a.kind]); err != nil {
			return fmt.Errorf("state root: %w", err)
		}
	}
	s.Root = t.Hash()
	return nil
}

// value is what the trie holds of an account of a kind.
func (s *State) value(k Kind) types.StateAccount {
	a := types.StateAccount{Nonce: 1, Balance: genesisBalance, Root: types.EmptyRootHash,
		CodeHash: types.EmptyCodeHash[:]}
	switch k {
	case Contract:
		a.Root = s.StorageRoot
	case Prepaid:
		a.Nonce = 0
	}
	return a
}

// Alloc is the state as a genesis alloc. All contracts share one map of slots.
func (s *State) Alloc() map[common.Address]types.Account {
	storage := make(map[common.Hash]common.Hash, len(s.slots))
	for i := range s.slots {
		storage[slotKey(i)] = genesisValue
	}
	alloc := make(map[common.Address]types.Account, len(s.accounts))
	for i := range s.accounts {
		at := &s.accounts[i]
		v := s.value(at.kind)
		a := types.Account{Nonce: v.Nonce, Balance: v.Balance.ToBig()}
		if at.kind == Contract {
			a.Storage = storage
		}
		alloc[at.kind.Address(int(at.index))] = a
	}
	return alloc
}
