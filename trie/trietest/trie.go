package trietest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// ErrRow says that a Sink was called against its rules.
var ErrRow = errors.New("row written against the rules of a sink")

// Trie is one trie. As a Reader it shows the rows and leaves that are committed; as a Sink it
// keeps what it is given until Commit. It is not safe for concurrent use.
type Trie struct {
	leaves map[common.Hash][]byte
	rows   map[trie.Path][]byte

	written map[trie.Path][]byte // since the last commit; nil: deleted

	// The keys of leaves and rows in order; dropped by changes and made again on demand.
	leafOrder []common.Hash
	rowOrder  []trie.Path
}

// New returns an empty trie.
func New() *Trie {
	return &Trie{
		leaves:  make(map[common.Hash][]byte),
		rows:    make(map[trie.Path][]byte),
		written: make(map[trie.Path][]byte),
	}
}

// Len is the number of leaves.
func (t *Trie) Len() int { return len(t.leaves) }

// Get returns the value of a leaf, nil where there is none.
func (t *Trie) Get(key common.Hash) []byte { return t.leaves[key] }

// SetLeaf sets a leaf; an empty value removes it. Rows do not follow by themselves.
func (t *Trie) SetLeaf(key common.Hash, value []byte) {
	t.leafOrder = nil
	if len(value) == 0 {
		delete(t.leaves, key)
		return
	}
	t.leaves[key] = bytes.Clone(value)
}

// SetRow sets a branch row, as a test that builds a trie by hand needs it.
func (t *Trie) SetRow(p trie.Path, b trie.Branch) {
	t.rowOrder = nil
	t.rows[p] = b.AppendTo(nil)
}

// Keys returns the keys of all leaves in order. The caller must not change it.
func (t *Trie) Keys() []common.Hash {
	if t.leafOrder == nil {
		t.leafOrder = slices.SortedFunc(maps.Keys(t.leaves), common.Hash.Cmp)
	}
	return t.leafOrder
}

// Rows returns a copy of the committed rows by path, to compare.
func (t *Trie) Rows() map[trie.Path][]byte { return maps.Clone(t.rows) }

// FirstBranch is that of [trie.Reader].
func (t *Trie) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	if t.rowOrder == nil {
		t.rowOrder = slices.SortedFunc(maps.Keys(t.rows), trie.Path.Compare)
	}
	i, _ := slices.BinarySearchFunc(t.rowOrder, p, trie.Path.Compare)
	if i == len(t.rowOrder) || !t.rowOrder[i].HasPrefix(p) {
		return trie.Path{}, trie.Branch{}, false, nil
	}
	at := t.rowOrder[i]
	b, err := trie.DecodeBranch(t.rows[at])
	return at, b, err == nil, err
}

// FirstLeaf is that of [trie.Reader].
func (t *Trie) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	keys := t.Keys()
	i, _ := slices.BinarySearchFunc(keys, p.Key, common.Hash.Cmp)
	if i == len(keys) || !p.HasKey(&keys[i]) {
		return common.Hash{}, nil, false, nil
	}
	return keys[i], t.leaves[keys[i]], true, nil
}

// PutBranch is that of [trie.Sink]; it takes any tag.
func (t *Trie) PutBranch(_ uint32, p trie.Path, b trie.Branch) error {
	if _, ok := t.written[p]; ok {
		return fmt.Errorf("%w: put %v, written before", ErrRow, p)
	}
	row := b.AppendTo(nil)
	if _, err := trie.DecodeBranch(row); err != nil {
		return fmt.Errorf("%w: put %v: %w", ErrRow, p, err)
	}
	t.written[p] = row
	return nil
}

// DeleteBranch is that of [trie.Sink]; it takes any tag.
func (t *Trie) DeleteBranch(_ uint32, p trie.Path) error {
	if _, ok := t.written[p]; ok {
		return fmt.Errorf("%w: delete %v, written before", ErrRow, p)
	}
	if _, ok := t.rows[p]; !ok {
		return fmt.Errorf("%w: delete %v, which is not there", ErrRow, p)
	}
	t.written[p] = nil
	return nil
}

// Commit makes what the Sink was given visible to the Reader.
func (t *Trie) Commit() {
	for p, row := range t.written {
		if row == nil {
			delete(t.rows, p)
		} else {
			t.rows[p] = row
		}
	}
	clear(t.written)
	t.rowOrder = nil
}

// Rollback forgets what the Sink was given since the last commit.
func (t *Trie) Rollback() { clear(t.written) }

// Build makes all rows anew from the leaves and returns the root.
func (t *Trie) Build() (common.Hash, error) {
	t.Rollback()
	b := trie.NewBuilder(trie.Options{Sink: t})
	b.Begin(0)
	for _, key := range t.Keys() {
		if err := b.Leaf(&key, t.leaves[key]); err != nil {
			return common.Hash{}, err
		}
	}
	id, err := b.End()
	if err != nil {
		return common.Hash{}, err
	}
	if err := b.Flush(); err != nil {
		return common.Hash{}, err
	}
	clear(t.rows)
	t.Commit()
	return b.Root(id), nil
}

// Update changes leaves and rows through a [trie.Updater] and returns the new root. A nil value
// deletes; entries that change nothing are left out, as the Updater wants it.
func (t *Trie) Update(values map[common.Hash][]byte) (common.Hash, error) {
	u := trie.NewUpdater(trie.Options{Sink: t})
	id, err := u.Update(0, t, len(t.leaves) == 0, t.Changes(values))
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		t.Rollback()
		return common.Hash{}, err
	}
	t.Commit()
	for key, value := range values {
		t.SetLeaf(key, value)
	}
	return u.Root(id), nil
}

// Changes turns new values into sorted changes and leaves out those that change nothing.
func (t *Trie) Changes(values map[common.Hash][]byte) []trie.Change {
	var cs []trie.Change
	for _, key := range slices.SortedFunc(maps.Keys(values), common.Hash.Cmp) {
		old, existed := t.leaves[key]
		if !bytes.Equal(old, values[key]) {
			cs = append(cs, trie.Change{Key: key, Value: values[key], Existed: existed})
		}
	}
	return cs
}

// Forest is a Sink that hands each row to the trie of its tag.
type Forest map[uint32]*Trie

// PutBranch is that of [trie.Sink].
func (f Forest) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	t, ok := f[tag]
	if !ok {
		return fmt.Errorf("%w: no trie has tag %d", ErrRow, tag)
	}
	return t.PutBranch(tag, p, b)
}

// DeleteBranch is that of [trie.Sink].
func (f Forest) DeleteBranch(tag uint32, p trie.Path) error {
	t, ok := f[tag]
	if !ok {
		return fmt.Errorf("%w: no trie has tag %d", ErrRow, tag)
	}
	return t.DeleteBranch(tag, p)
}
