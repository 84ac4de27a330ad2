package bench

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

// Account is one account of the state that the blocks start from.
type Account struct {
	Hash     common.Hash
	Address  common.Address
	Contract bool // has the slots of Genesis.Slots
}

// Genesis is the state that the blocks start from. Every account has nonce 1 and a balance of
// 1 ether; every contract has the slots 0 to n-1 with the same value, and no code, which plays no
// part in what is measured.
type Genesis struct {
	Accounts    []Account     // ascending hash
	Slots       []common.Hash // the hashed slots of each contract, ascending
	StorageRoot common.Hash   // of each contract
	Root        common.Hash   // state root; from go-ethereum's StackTrie
	Header      *types.Header
}

var (
	genesisBalance = uint256.NewInt(1e18)
	genesisValue   = common.HexToHash("0x01020304")
	// genesisSlot is the value as flat states and tries hold it.
	genesisSlot = []byte{0x84, 1, 2, 3, 4}
)

// address is the i-th one of a kind.
func address(kind string, i int) common.Address {
	h := crypto.Keccak256([]byte(kind), binary.BigEndian.AppendUint64(nil, uint64(i)))
	return common.BytesToAddress(h[12:])
}

func accountAddress(i int) common.Address  { return address("account", i) }
func contractAddress(i int) common.Address { return address("contract", i) }

func slotKey(i int) common.Hash { return uint256.NewInt(uint64(i)).Bytes32() }

// NewGenesis makes the state of the given sizes, always the same one.
func NewGenesis(s Sizes) (*Genesis, error) {
	g := &Genesis{Accounts: make([]Account, 0, s.Accounts+s.Contracts)}
	add := func(a common.Address, contract bool) {
		g.Accounts = append(g.Accounts, Account{crypto.Keccak256Hash(a[:]), a, contract})
	}
	for i := range s.Accounts {
		add(accountAddress(i), false)
	}
	for i := range s.Contracts {
		add(contractAddress(i), true)
	}
	slices.SortFunc(g.Accounts, func(a, b Account) int { return a.Hash.Cmp(b.Hash) })
	for i := range s.Slots {
		k := slotKey(i)
		g.Slots = append(g.Slots, crypto.Keccak256Hash(k[:]))
	}
	slices.SortFunc(g.Slots, common.Hash.Cmp)
	if err := g.computeRoots(); err != nil {
		return nil, err
	}
	g.Header = newHeader(&types.Header{Number: big.NewInt(-1)}, g.Root, bal.Empty)
	return g, nil
}

func (g *Genesis) computeRoots() error {
	t := trie.NewStackTrie(nil)
	for _, s := range g.Slots {
		if err := t.Update(s[:], genesisSlot); err != nil {
			return fmt.Errorf("bench: storage root: %w", err)
		}
	}
	g.StorageRoot = t.Hash()
	var values [2][]byte
	for i, contract := range []bool{false, true} {
		a := g.account(contract)
		v, err := rlp.EncodeToBytes(&a)
		if err != nil {
			return fmt.Errorf("bench: account: %w", err)
		}
		values[i] = v
	}
	t = trie.NewStackTrie(nil)
	for i := range g.Accounts {
		v := values[0]
		if g.Accounts[i].Contract {
			v = values[1]
		}
		if err := t.Update(g.Accounts[i].Hash[:], v); err != nil {
			return fmt.Errorf("bench: state root: %w", err)
		}
	}
	g.Root = t.Hash()
	return nil
}

// account is a plain account's or a contract's value.
func (g *Genesis) account(contract bool) types.StateAccount {
	a := types.StateAccount{Nonce: 1, Balance: genesisBalance, Root: types.EmptyRootHash,
		CodeHash: types.EmptyCodeHash[:]}
	if contract {
		a.Root = g.StorageRoot
	}
	return a
}

// Alloc is the state as a genesis alloc. All contracts share one map of slots.
func (g *Genesis) Alloc() map[common.Address]types.Account {
	storage := make(map[common.Hash]common.Hash, len(g.Slots))
	for i := range g.Slots {
		storage[slotKey(i)] = genesisValue
	}
	alloc := make(map[common.Address]types.Account, len(g.Accounts))
	balance := genesisBalance.ToBig()
	for i := range g.Accounts {
		a := types.Account{Nonce: 1, Balance: balance}
		if g.Accounts[i].Contract {
			a.Storage = storage
		}
		alloc[g.Accounts[i].Address] = a
	}
	return alloc
}
