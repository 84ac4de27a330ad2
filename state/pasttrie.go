package state

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// pastTrie is how a trie of the past differs from today's. It does not change once it is made.
type pastTrie struct {
	puts    []pastBranch // ascending by path
	deleted map[trie.Path]struct{}
	leaves  []pastLeaf // those that have changed since, ascending by key
}

type pastBranch struct {
	path   trie.Path
	branch trie.Branch
}

// pastLeaf is a leaf as it was; without a value it was not there.
type pastLeaf struct {
	key   common.Hash
	value []byte // as the trie has it
}

// PutBranch implements trie.Sink.
func (t *pastTrie) PutBranch(_ uint32, p trie.Path, b trie.Branch) error {
	b.Refs = bytes.Clone(b.Refs)
	t.puts = append(t.puts, pastBranch{p, b})
	return nil
}

// DeleteBranch implements trie.Sink.
func (t *pastTrie) DeleteBranch(_ uint32, p trie.Path) error {
	t.deleted[p] = struct{}{}
	return nil
}

// leaf finds a leaf that has changed since.
func (t *pastTrie) leaf(key *common.Hash) (int, bool) {
	return slices.BinarySearchFunc(t.leaves, key, func(l pastLeaf, k *common.Hash) int {
		return bytes.Compare(l.key[:], k[:])
	})
}

// AccountTrie gives the account trie as it was, read by r, a reader of the same snapshot. Bytes
// that it returns stay valid until r is closed. Its root is the header's, or the error is
// ErrCorrupt.
func (p *Past) AccountTrie(r *Reader) (trie.Reader, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	base := r.AccountTrie()
	if p.account == nil {
		t, err := newPastTrie(p.accounts, func(hash *common.Hash, row []byte) ([]byte, error) {
			a, err := decodeAccountRow(hash, row)
			return a.AppendFull(nil), err
		})
		if err != nil {
			return nil, err
		}
		err = t.undo(base, p.at.Root, p.accounts, func(hash *common.Hash) ([]byte, error) {
			return r.SlimAccount(hash)
		})
		if err != nil {
			return nil, fmt.Errorf("account trie of %v: %w", p.at, err)
		}
		p.account = t
	}
	return &pastReader{t: p.account, base: base, flat: func(at *trie.Path) pastWalk {
		it := p.sn.Accounts(at.Key)
		return pastWalk{it, it.Key, func() ([]byte, error) {
			a, err := it.Account()
			return a.AppendFull(nil), err
		}}
	}}, nil
}

// StorageTrie gives an account's storage trie as it was; see AccountTrie.
func (p *Past) StorageTrie(r *Reader, account common.Hash) (trie.Reader, error) {
	base := r.StorageTrie(account)
	changed := p.slots[account]
	if len(changed) == 0 {
		return base, nil
	}
	a, ok, err := p.Account(account)
	if err != nil {
		return nil, err
	}
	root := trie.EmptyRoot
	if ok {
		root = a.StorageRoot
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.storage[account]
	if t == nil {
		t, err = newPastTrie(changed, func(_ *common.Hash, row []byte) ([]byte, error) {
			return row, nil
		})
		if err != nil {
			return nil, err
		}
		err = t.undo(base, root, changed, func(slot *common.Hash) ([]byte, error) {
			return r.Slot(&account, slot)
		})
		if err != nil {
			return nil, fmt.Errorf("storage trie of account %x at %v: %w", account, p.at, err)
		}
		p.storage[account] = t
	}
	return &pastReader{t: t, base: base, flat: func(at *trie.Path) pastWalk {
		it := p.sn.Slots(account, at.Key)
		return pastWalk{it, it.Key, func() ([]byte, error) { return bytes.Clone(it.Value()), nil }}
	}}, nil
}

func newPastTrie(rows map[common.Hash][]byte, leaf func(*common.Hash, []byte) ([]byte, error)) (
	*pastTrie, error) {
	t := &pastTrie{deleted: map[trie.Path]struct{}{}, leaves: make([]pastLeaf, 0, len(rows))}
	for _, key := range slices.SortedFunc(maps.Keys(rows), common.Hash.Cmp) {
		l := pastLeaf{key: key}
		if row := rows[key]; row != nil {
			var err error
			if l.value, err = leaf(&key, row); err != nil {
				return nil, err
			}
		}
		t.leaves = append(t.leaves, l)
	}
	return t, nil
}

// undo finds the branches that differ. rows are what was there, and now gives what is.
func (t *pastTrie) undo(base trie.Reader, want common.Hash, rows map[common.Hash][]byte,
	now func(key *common.Hash) ([]byte, error)) error {
	var changes []trie.Change
	for i := range t.leaves {
		l := &t.leaves[i]
		row, err := now(&l.key)
		if err != nil {
			return err
		}
		if !bytes.Equal(row, rows[l.key]) {
			changes = append(changes, trie.Change{Key: l.key, Value: l.value, Existed: row != nil})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	u := trie.NewUpdater(trie.Options{Sink: t})
	id, err := u.Update(0, base, false, changes)
	if err == nil {
		err = u.Flush()
	}
	if err == nil {
		err = u.Err(id)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if root := u.Root(id); root != want {
		return fmt.Errorf("%w: the reverse diffs lead to root %x, not to %x", ErrCorrupt, root, want)
	}
	slices.SortFunc(t.puts, func(a, b pastBranch) int { return a.path.Compare(b.path) })
	return nil
}

// pastReader reads a trie of the past.
type pastReader struct {
	t    *pastTrie
	base trie.Reader
	flat func(at *trie.Path) pastWalk
}

// pastWalk walks today's leaves from a key on.
type pastWalk struct {
	it interface {
		Next() bool
		Error() error
		Close() error
	}
	key   func() common.Hash
	value func() ([]byte, error)
}

// FirstBranch implements trie.Reader.
func (r *pastReader) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	at, b, ok, err := r.untouched(p)
	if err != nil {
		return at, b, false, err
	}
	i, _ := slices.BinarySearchFunc(r.t.puts, p, func(b pastBranch, p trie.Path) int {
		return b.path.Compare(p)
	})
	if i < len(r.t.puts) {
		put := &r.t.puts[i]
		if put.path.HasPrefix(p) && (!ok || put.path.Compare(at) <= 0) {
			return put.path, put.branch, true, nil
		}
	}
	return at, b, ok, nil
}

// untouched finds the first of today's branches below p that was there before. All branches below
// p lie below the first of them.
func (r *pastReader) untouched(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	at, b, ok, err := r.base.FirstBranch(p)
	if err != nil || !ok {
		return at, b, false, err
	}
	if _, gone := r.t.deleted[at]; !gone {
		return at, b, true, nil
	}
	for x := range byte(16) {
		if b.Sub>>x&1 == 0 {
			continue
		}
		at, child, ok, err := r.untouched(at.Child(x))
		if err != nil || ok {
			return at, child, ok, err
		}
	}
	return trie.Path{}, trie.Branch{}, false, nil
}

// FirstLeaf implements trie.Reader. It passes over leaves that have changed since.
func (r *pastReader) FirstLeaf(p trie.Path) (key common.Hash, value []byte, ok bool, err error) {
	i, _ := r.t.leaf(&p.Key)
	for ; i < len(r.t.leaves) && p.HasKey(&r.t.leaves[i].key); i++ {
		if l := &r.t.leaves[i]; l.value != nil {
			key, value, ok = l.key, l.value, true
			break
		}
	}
	w := r.flat(&p)
	defer w.it.Close()
	for w.it.Next() {
		k := w.key()
		if !p.HasKey(&k) || ok && bytes.Compare(k[:], key[:]) >= 0 {
			break
		}
		if _, changed := r.t.leaf(&k); changed {
			continue
		}
		value, err = w.value()
		return k, value, err == nil, err
	}
	if err := w.it.Error(); err != nil {
		return common.Hash{}, nil, false, err
	}
	return key, value, ok, nil
}
