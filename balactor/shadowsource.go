package balactor

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/classic"
)

// worldParent is the store's read side as a world state asks for it.
type worldParent struct {
	reader   *state.Reader
	snapshot *state.Snapshot
}

var _ world.Parent = worldParent{}

// Account implements world.Parent.
func (p worldParent) Account(hash common.Hash) (world.Account, bool, error) {
	a, ok, err := p.reader.Account(&hash)
	if err != nil || !ok {
		return world.NewAccount(), false, err
	}
	return world.Account{
		Nonce: a.Nonce, Balance: a.Balance, StorageRoot: a.StorageRoot, CodeHash: a.CodeHash,
	}, true, nil
}

// Slot implements world.Parent.
func (p worldParent) Slot(account, slot common.Hash) (common.Hash, error) {
	row, err := p.reader.Slot(&account, &slot)
	if err != nil || row == nil {
		return common.Hash{}, err
	}
	return state.DecodeSlot(row)
}

// EachSlot implements world.Parent.
func (p worldParent) EachSlot(account common.Hash, f func(slot, value common.Hash) error) error {
	it := p.snapshot.Slots(account, common.Hash{})
	defer it.Close()
	for it.Next() {
		value, err := state.DecodeSlot(it.Value())
		if err == nil {
			err = f(it.Key(), value)
		}
		if err != nil {
			return err
		}
	}
	return it.Error()
}

// trieSource is a stored trie as a classic trie asks for it.
type trieSource struct{ trie.Reader }

var _ classic.Source = trieSource{}

// Branch implements classic.Source.
func (s trieSource) Branch(prefix []byte) (path []byte, r classic.Record, ok bool, err error) {
	p, b, ok, err := s.FirstBranch(pathOf(prefix))
	if err != nil || !ok {
		return nil, r, false, err
	}
	path = make([]byte, p.Len)
	for i := range path {
		path[i] = p.Nibble(i)
	}
	return path, classic.Record{Mask: b.Mask, Sub: b.Sub, Refs: b.Refs}, true, nil
}

// Leaf implements classic.Source.
func (s trieSource) Leaf(prefix []byte) (common.Hash, []byte, bool, error) {
	return s.FirstLeaf(pathOf(prefix))
}

func pathOf(nibbles []byte) trie.Path {
	p := trie.Path{Len: len(nibbles)}
	for i, x := range nibbles {
		p.Key[i/2] |= x << (4 * (^i & 1))
	}
	return p
}
