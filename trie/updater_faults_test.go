package trie_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

func putChange(key string, existed bool) trie.Change {
	front, back, _ := strings.Cut(key, "|")
	return trie.Change{Key: keyOf(front, back), Value: []byte{2}, Existed: existed}
}

func delChange(key string, existed bool) trie.Change {
	c := putChange(key, existed)
	c.Value = nil
	return c
}

// badChanges is an update that is an error.
type badChanges struct {
	name  string
	trie  *trietest.Trie
	empty bool
	want  error
	cs    []trie.Change
}

func staleChanges(t testing.TB) []badChanges {
	m, _ := filled(t, leavesOf([]byte{1}, "1", "123|1", "123|2", "1234", "5", "6|1", "6|2"))
	single, _ := filled(t, leavesOf([]byte{1}, "5"))
	none := trietest.New()
	put, del, stale := putChange, delChange, trie.ErrStaleChange
	list := func(cs ...trie.Change) []trie.Change { return cs }
	return []badChanges{
		{"new leaf exists, single", single, false, stale, list(put("5", false))},
		{"new leaf exists, below a branch", m, false, stale, list(put("5", false))},
		{"delete of what never was", m, false, stale, list(del("7", false))},
		{"delete below an absent child", m, false, stale, list(del("7", true))},
		{"change below an absent child", m, false, stale, list(put("7", true))},
		{"delete before an extension", m, false, stale, list(del("6", true))},
		{"change behind an extension", m, false, stale, list(put("61", true))},
		{"two of one leaf, single", single, false, stale, list(put("5", true), put("5|1", true))},
		{"two of one leaf", m, false, stale, list(put("5", true), del("5|1", true))},
		{"absent beside a leaf", m, false, stale, list(put("5", true), del("5|1", false))},
		{"absent beside an unread leaf", m, false, stale, list(del("5|1", false))},
		{"change in an empty trie", none, true, stale, list(put("5", true))},
		{"delete in an empty trie", none, false, stale, list(del("5", false))},
		{"out of order", m, false, trie.ErrKeyOrder, list(put("5", true), put("1", true))},
		{"twice", m, false, trie.ErrDuplicateKey, list(put("5", true), put("5", true))},
		{"huge value", m, false, trie.ErrValueTooLarge, list(trie.Change{
			Key: keyOf("5", ""), Existed: true, Value: make([]byte, trie.MaxValueLen+1)})},
	}
}

func TestStaleChangesFailTheirTrieAlone(t *testing.T) {
	want, _ := gethBuild(t, leavesOf([]byte{2}, "1", "3"))
	for _, c := range staleChanges(t) {
		t.Run(c.name, func(t *testing.T) {
			beside := trietest.New()
			sink := trietest.Forest{0: beside, 1: c.trie, 2: trietest.New()}
			u := trie.NewUpdater(trie.Options{Sink: sink})
			cs := []trie.Change{putChange("1", false), putChange("3", false)}
			if _, err := u.Update(0, beside, true, cs); err != nil {
				t.Fatal(err)
			}
			id, err := u.Update(1, c.trie, c.empty, c.cs)
			if !errors.Is(err, c.want) || !errors.Is(u.Err(id), c.want) {
				t.Errorf("error %v, %v, want %v", err, u.Err(id), c.want)
			}
			c.trie.Rollback()
			if _, err := u.Update(2, trietest.New(), false, cs); err != nil {
				t.Fatal(err)
			}
			if err := u.Flush(); err != nil {
				t.Fatal(err)
			}
			if u.Root(0) != want || u.Root(2) != want || u.Root(id) != (common.Hash{}) {
				t.Errorf("roots %x %x, want %x; and %x", u.Root(0), u.Root(2), want, u.Root(id))
			}
		})
	}
}

// stray is a Reader that answers with what its fields make of the truth. A path of negative length
// and a leaf of no value (nil) stand for none.
type stray struct {
	trie.Reader
	row  func(at *trie.Path, b *trie.Branch) // of rows below the root
	leaf func(key *common.Hash, value *[]byte)
}

func (s *stray) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	at, b, ok, err := s.Reader.FirstBranch(p)
	if s.row != nil && at.Len > 0 && ok {
		s.row(&at, &b)
		ok = at.Len >= 0
	}
	return at, b, ok, err
}

func (s *stray) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	k, v, ok, err := s.Reader.FirstLeaf(p)
	if s.leaf != nil && ok {
		s.leaf(&k, &v)
		ok = v != nil
	}
	return k, v, ok, err
}

func rowAt(p trie.Path) func(*trie.Path, *trie.Branch) {
	return func(at *trie.Path, _ *trie.Branch) { *at = p }
}

func leafValue(v []byte) func(*common.Hash, *[]byte) {
	return func(_ *common.Hash, value *[]byte) { *value = v }
}

func TestReaderThatContradictsItselfIsAnError(t *testing.T) {
	m, _ := filled(t, leavesOf([]byte{1}, "1|1", "1|2", "15", "2"))
	change := []trie.Change{putChange("1|1", true)}
	split := []trie.Change{putChange("2|1", false)}
	collapse := []trie.Change{delChange("1|1", true), delChange("15", true)}
	missing, bad := trie.ErrMissingNode, trie.ErrBadBranch
	unclean := trie.Path{Key: keyOf("1", "1"), Len: 1}
	cases := []struct {
		name string
		want error
		cs   []trie.Change
		row  func(at *trie.Path, b *trie.Branch)
		leaf func(key *common.Hash, value *[]byte)
	}{
		{"no row", missing, change, rowAt(trie.Path{Len: -1}), nil},
		{"row elsewhere", missing, change, rowAt(nibblePath([]byte{2})), nil},
		{"row above", missing, change, rowAt(trie.Path{}), nil},
		{"row as deep as leaves", missing, change, rowAt(trie.PathOf(keyOf("1", ""), 64)), nil},
		{"row of an unclean path", missing, change, rowAt(unclean), nil},
		{"row of one child", bad, change, func(_ *trie.Path, b *trie.Branch) {
			b.Mask &= -b.Mask
		}, nil},
		{"row cut short", bad, change, func(_ *trie.Path, b *trie.Branch) {
			b.Refs = b.Refs[:len(b.Refs)-1]
		}, nil},
		{"no leaf to split", missing, split, nil, leafValue(nil)},
		{"no leaf to move up", missing, collapse, nil, leafValue(nil)},
		{"no value to move up", missing, collapse, nil, leafValue([]byte{})},
		{"leaf elsewhere", missing, split, nil, func(k *common.Hash, _ *[]byte) {
			*k = keyOf("4", "")
		}},
	}
	want, _ := gethBuild(t, leavesOf([]byte{2}, "1"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			u := trie.NewUpdater(trie.Options{Hasher: &testHasher{lanes: 8}})
			r := &stray{Reader: m, row: c.row, leaf: c.leaf}
			for range 3 {
				if _, err := u.Update(0, r, false, c.cs); !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
			}
			id, err := u.Update(0, nil, true, []trie.Change{putChange("1", false)})
			if err != nil || u.Flush() != nil || u.Root(id) != want {
				t.Errorf("trie behind it: root %x, want %x; %v", u.Root(id), want, err)
			}
		})
	}
}

// faultyUpdates updates three accounts over readers and a sink that can fail.
type faultyUpdates struct {
	accounts []*account
	cs       [][]trie.Change
	roots    []common.Hash
	forest   trietest.Forest
	sink     *failingSink
	u        *trie.Updater
}

func newFaultyUpdates(t *testing.T, r *rand.Rand) *faultyUpdates {
	f := &faultyUpdates{forest: trietest.Forest{}, sink: &failingSink{}}
	f.u = trie.NewUpdater(trie.Options{Sink: f.sink})
	for i := range uint32(3) {
		a := newAccount(r, 30)
		for range 3 {
			values := map[common.Hash][]byte{}
			for _, c := range a.change(r) {
				values[c.Key] = c.Value
			}
			if _, err := a.trie.Update(values); err != nil {
				t.Fatal(err)
			}
		}
		f.forest[i] = a.trie
		f.accounts = append(f.accounts, a)
		f.cs = append(f.cs, a.change(r))
		root, _ := gethBuild(t, a.leaves)
		f.roots = append(f.roots, root)
	}
	return f
}

// update updates account i over a reader that fails at call readAt, and tells whether it failed.
func (f *faultyUpdates) update(t *testing.T, i, readAt int) (failed bool) {
	t.Helper()
	reader := &failingReader{Reader: f.accounts[i].trie, at: readAt}
	_, err := f.u.Update(uint32(i), reader, false, f.cs[i])
	failed = readAt >= 0 && reader.calls > readAt
	if failed && !errors.Is(err, errInjected) {
		t.Fatalf("the reader failed at call %d, the update gives %v", readAt, err)
	}
	return failed
}

// check checks that one account failed (-1: none) and the others did not, and starts again.
func (f *faultyUpdates) check(t *testing.T, failed int) {
	t.Helper()
	for i, a := range f.accounts {
		if err := f.u.Err(i); errors.Is(err, errInjected) != (i == failed) {
			t.Fatalf("account %d, of which %d failed: %v", i, failed, err)
		}
		want := f.roots[i]
		if i == failed {
			want = common.Hash{}
		}
		if f.u.Root(i) != want {
			t.Fatalf("account %d: root %x, want %x", i, f.u.Root(i), want)
		}
		a.trie.Rollback()
	}
	f.u.Reset()
}

func TestUpdateOverAReaderThatFailsAtAnyCallFailsTheRightTrie(t *testing.T) {
	for seed := range seeds(6) {
		f := newFaultyUpdates(t, rand.New(rand.NewPCG(seed, 13)))
		for at, failed := 0, true; failed; at++ {
			*f.sink = failingSink{Sink: f.forest, at: -1}
			f.update(t, 0, -1)
			failed = f.update(t, 1, at)
			f.update(t, 2, -1)
			if err := f.u.Flush(); err != nil {
				t.Fatal(err)
			}
			if failed {
				f.check(t, 1)
			} else {
				f.check(t, -1)
			}
		}
	}
}

func TestUpdateOverASinkThatFailsAtAnyCallFailsTheRightTrie(t *testing.T) {
	for seed := range seeds(6) {
		f := newFaultyUpdates(t, rand.New(rand.NewPCG(seed, 14)))
		for at, failed := 0, true; failed; at++ {
			*f.sink = failingSink{Sink: f.forest, at: at}
			for i := range f.accounts {
				f.update(t, i, -1)
			}
			_ = f.u.Flush() // it or an update says so, whichever completed the row
			if f.sink.after > 0 {
				t.Fatalf("%d calls for a trie that failed", f.sink.after)
			}
			if failed = f.sink.calls > at; failed {
				f.check(t, int(f.sink.tag))
			} else {
				f.check(t, -1)
			}
		}
	}
}

// TestFalseChangesAndReadersNeverPanic gives an updater changes that lie and rows of other tries:
// the outcome is an error or a wrong root, and the trie behind it is unharmed.
func TestFalseChangesAndReadersNeverPanic(t *testing.T) {
	failures := 0
	for seed := range seeds(300) {
		r := rand.New(rand.NewPCG(seed, 15))
		pool := keyPool(r, 40)
		draw := func() map[common.Hash][]byte {
			m := map[common.Hash][]byte{}
			for _, k := range pool {
				if r.IntN(2) == 0 {
					m[k] = slotValue(r, 1+31*r.IntN(2))
				}
			}
			return m
		}
		rows, _ := filled(t, draw())
		flat, _ := filled(t, draw())
		mixed := &stray{Reader: rows}
		if r.IntN(2) == 0 {
			mixed.leaf = func(k *common.Hash, v *[]byte) {
				*k, *v, _, _ = flat.FirstLeaf(trie.PathOf(*k, r.IntN(65)))
			}
		}
		u := trie.NewUpdater(trie.Options{Hasher: &testHasher{lanes: 4}})
		var cs []trie.Change
		for _, k := range pool {
			if r.IntN(3) == 0 {
				c := trie.Change{Key: k, Value: slotValue(r, 2), Existed: r.IntN(2) == 0}
				cs = append(cs, c)
			} else if r.IntN(2) == 0 {
				cs = append(cs, trie.Change{Key: k, Existed: r.IntN(4) > 0})
			}
		}
		if _, err := u.Update(0, mixed, false, cs); err != nil {
			failures++
		}
		want, _ := gethBuild(t, leavesOf([]byte{2}, "1"))
		id, err := u.Update(0, nil, true, []trie.Change{putChange("1", false)})
		if err != nil || u.Flush() != nil || u.Root(id) != want {
			t.Fatalf("seed %d: trie behind: root %x, want %x; %v", seed, u.Root(id), want, err)
		}
	}
	if failures < 100 {
		t.Errorf("only %d of 300 false updates failed", failures)
	}
}
