package chaingen

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"
)

// ErrReference is wrapped by the errors of states that cannot be read in full.
var ErrReference = errors.New("chaingen: reference state")

// Account is an account as a State holds it.
type Account struct {
	Nonce   uint64
	Balance uint256.Int
	Code    []byte                      // nil where there is none
	Storage map[common.Hash]common.Hash // by plain slot; no zero values; nil where empty
}

// State is a whole state, by plain address. Empty accounts (EIP-161) are not in it.
type State map[common.Address]*Account

// States gives go-ethereum's own states of a chain, which stand for what is right. It is safe for
// concurrent use.
type States struct {
	chain *Chain
	// plain has the address or the slot behind each hash that a trie of the chain has as a key:
	// genesis and access lists together name them all.
	plain map[common.Hash][]byte
}

// Reference prepares to read the states of a chain.
func Reference(c *Chain) *States {
	s := &States{chain: c, plain: make(map[common.Hash][]byte)}
	add := func(key []byte) { s.plain[crypto.Keccak256Hash(key)] = key }
	for addr, a := range c.Genesis.Alloc {
		add(addr.Bytes())
		for slot := range a.Storage {
			add(slot.Bytes())
		}
	}
	for _, b := range c.Blocks {
		for _, a := range *b.AccessList() {
			add(a.Address.Bytes())
			for _, sc := range a.StorageChanges {
				slot := sc.Slot.Bytes32()
				add(slot[:])
			}
		}
	}
	return s
}

// At reads the state that the block with a number leaves (0 for the genesis) out of the tries
// that go-ethereum has written: all of it, in time proportional to its size.
func (s *States) At(number uint64) (State, error) {
	b, err := s.chain.Block(number)
	if err != nil {
		return nil, err
	}
	tdb := triedb.NewDatabase(s.chain.db, triedb.HashDefaults)
	defer tdb.Close()
	state := make(State)
	err = leaves(trie.StateTrieID(b.Root()), tdb, func(hash common.Hash, value []byte) error {
		addr, ok := s.plain[hash]
		if !ok {
			return fmt.Errorf("account %v has no known address", hash)
		}
		a, err := s.account(tdb, b.Root(), hash, value)
		state[common.BytesToAddress(addr)] = a
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w at block %d: %w", ErrReference, number, err)
	}
	return state, nil
}

func (s *States) account(tdb *triedb.Database, root, hash common.Hash, leaf []byte) (
	*Account, error,
) {
	var sa types.StateAccount
	if err := rlp.DecodeBytes(leaf, &sa); err != nil {
		return nil, fmt.Errorf("account %v: %w", hash, err)
	}
	a := &Account{Nonce: sa.Nonce, Balance: *sa.Balance}
	if codeHash := common.BytesToHash(sa.CodeHash); codeHash != types.EmptyCodeHash {
		if a.Code = rawdb.ReadCode(s.chain.db, codeHash); len(a.Code) == 0 {
			return nil, fmt.Errorf("account %v: code %v is missing", hash, codeHash)
		}
	}
	if sa.Root == types.EmptyRootHash {
		return a, nil
	}
	a.Storage = make(map[common.Hash]common.Hash)
	id := trie.StorageTrieID(root, hash, sa.Root)
	return a, leaves(id, tdb, func(slotHash common.Hash, value []byte) error {
		slot, ok := s.plain[slotHash]
		if !ok {
			return fmt.Errorf("account %v: slot %v has no known key", hash, slotHash)
		}
		_, content, _, err := rlp.Split(value)
		a.Storage[common.BytesToHash(slot)] = common.BytesToHash(content)
		return err
	})
}

// leaves calls f with every leaf of a trie.
func leaves(id *trie.ID, tdb *triedb.Database, f func(common.Hash, []byte) error) error {
	tr, err := trie.New(id, tdb)
	if err != nil {
		return err
	}
	nodes, err := tr.NodeIterator(nil)
	if err != nil {
		return err
	}
	it := trie.NewIterator(nodes)
	for it.Next() {
		if err := f(common.BytesToHash(it.Key), it.Value); err != nil {
			return err
		}
	}
	return it.Err
}
