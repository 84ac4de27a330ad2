package chaingen

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
)

// ErrWrongRoot is wrapped where a block's access list does not give the block's state root.
var ErrWrongRoot = errors.New("chaingen: wrong state root")

// Replay applies the raw access list of every block to the genesis state, held in plain maps,
// and compares each state root with the header's. It executes nothing and shares nothing with
// Balsa: roots come from go-ethereum's StackTrie, built anew for every block. It gives the last
// state.
//
// That list and root agree does not show that the transactions produce the list; for that the
// blocks went through go-ethereum's execution.
func Replay(c *Chain) (State, error) { return replay(c, 1) }

// replay compares the root at the genesis, at every step-th block and at the head.
func replay(c *Chain, step uint64) (State, error) {
	o := newOracle(c)
	if got, want := o.root(), c.GenesisBlock.Root(); got != want {
		return nil, fmt.Errorf("%w: genesis: %v, the header says %v", ErrWrongRoot, got, want)
	}
	for _, b := range c.Blocks {
		raw, err := AccessListRLP(b)
		if err != nil {
			return nil, err
		}
		if err := o.apply(raw); err != nil {
			return nil, fmt.Errorf("block %d: %w", b.NumberU64(), err)
		}
		if b.NumberU64()%step != 0 && b != c.Head() {
			continue
		}
		if got, want := o.root(), b.Root(); got != want {
			return nil, fmt.Errorf("%w: block %d: %v, the header says %v", ErrWrongRoot,
				b.NumberU64(), got, want)
		}
	}
	return o.state, nil
}

// oracle holds a state and, beside it, the leaves of the account trie, so that a block costs one
// pass of hashing over the accounts but encodes only those that it changes.
type oracle struct {
	state  State
	leaves []leaf // ascending by key
}

// leaf is an entry of a trie: the hash of an address or slot, and the encoded value.
type leaf struct {
	key   common.Hash
	value []byte
}

func (l leaf) cmp(key common.Hash) int { return l.key.Cmp(key) }

func newOracle(c *Chain) *oracle {
	o := &oracle{state: make(State)}
	for addr, g := range c.Genesis.Alloc {
		a := &Account{Nonce: g.Nonce, Code: bytes.Clone(g.Code)}
		a.Balance.SetFromBig(g.Balance)
		for slot, value := range g.Storage {
			a.set(slot, value)
		}
		o.put(addr, a)
	}
	return o
}

// apply takes the last change of every field of every account of an access list (EIP-7928).
func (o *oracle) apply(raw []byte) error {
	var list bal.BlockAccessList
	if err := rlp.DecodeBytes(raw, &list); err != nil {
		return err
	}
	for _, row := range list {
		a := o.state[row.Address]
		if a == nil {
			a = new(Account)
		}
		for _, sc := range row.StorageChanges {
			a.set(sc.Slot.Bytes32(), sc.SlotChanges[len(sc.SlotChanges)-1].PostValue.Bytes32())
		}
		if n := len(row.BalanceChanges); n > 0 {
			a.Balance = *row.BalanceChanges[n-1].PostBalance
		}
		if n := len(row.NonceChanges); n > 0 {
			a.Nonce = row.NonceChanges[n-1].PostNonce
		}
		if n := len(row.CodeChanges); n > 0 {
			a.Code = nil // where the new code is empty, too
			a.Code = append(a.Code, row.CodeChanges[n-1].NewCode...)
		}
		o.put(row.Address, a)
	}
	return nil
}

// put stores an account, or removes it with its storage where EIP-161 calls it empty.
func (o *oracle) put(addr common.Address, a *Account) {
	key := crypto.Keccak256Hash(addr[:])
	i, found := slices.BinarySearchFunc(o.leaves, key, leaf.cmp)
	empty := a.Nonce == 0 && a.Balance.IsZero() && len(a.Code) == 0
	switch {
	case empty && found:
		delete(o.state, addr)
		o.leaves = slices.Delete(o.leaves, i, i+1)
		return
	case empty:
		return
	case !found:
		o.leaves = slices.Insert(o.leaves, i, leaf{key: key})
	}
	o.state[addr] = a
	o.leaves[i].value = a.encode()
}

func (o *oracle) root() common.Hash { return rootOf(o.leaves) }

// set writes a slot; zero deletes it.
func (a *Account) set(slot, value common.Hash) {
	if value == (common.Hash{}) {
		if delete(a.Storage, slot); len(a.Storage) == 0 {
			a.Storage = nil
		}
		return
	}
	if a.Storage == nil {
		a.Storage = make(map[common.Hash]common.Hash)
	}
	a.Storage[slot] = value
}

// encode gives the account's leaf: the RLP of nonce, balance, storage root and code hash.
func (a *Account) encode() []byte {
	slots := make([]leaf, 0, len(a.Storage))
	for slot, value := range a.Storage {
		enc, _ := rlp.EncodeToBytes(common.TrimLeftZeroes(value[:])) // bytes always encode
		slots = append(slots, leaf{crypto.Keccak256Hash(slot[:]), enc})
	}
	slices.SortFunc(slots, func(x, y leaf) int { return x.key.Cmp(y.key) })
	enc, _ := rlp.EncodeToBytes(&types.StateAccount{ // as do accounts with all fields set
		Nonce:    a.Nonce,
		Balance:  &a.Balance,
		Root:     rootOf(slots),
		CodeHash: crypto.Keccak256(a.Code),
	})
	return enc
}

// rootOf gives the root of the trie of some leaves, which must ascend.
func rootOf(leaves []leaf) common.Hash {
	st := trie.NewStackTrie(nil)
	for _, l := range leaves {
		if err := st.Update(l.key[:], l.value); err != nil {
			// Only keys out of order and empty values fail, and put and set allow neither.
			panic(fmt.Sprintf("chaingen: leaf %v: %v", l.key, err))
		}
	}
	return st.Hash()
}
