package trie_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/balsa-sync/balsa/test/memtrie"
	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// account is a trie that random updates change, with the leaves that it should have.
type account struct {
	trie   *memtrie.Trie
	leaves map[common.Hash][]byte
	pool   []common.Hash
	size   int // of values, at most
}

func newAccount(r *rand.Rand, n int) *account {
	return &account{
		trie:   memtrie.New(),
		leaves: map[common.Hash][]byte{},
		pool:   keyPool(r, n),
		size:   []int{1, 1, 4, 32, 110}[r.IntN(5)],
	}
}

// change draws changes of a share of the pool, of which a share are deletes, and applies them to
// the leaves that the trie should have.
func (a *account) change(r *rand.Rand) []trie.Change {
	share, deletes := []int{2, 30, 100}[r.IntN(3)], []int{5, 40, 70, 100}[r.IntN(4)]
	values := map[common.Hash][]byte{}
	for _, k := range a.pool {
		switch {
		case r.IntN(100) >= share:
		case r.IntN(100) < deletes:
			values[k] = nil
			delete(a.leaves, k)
		default:
			values[k] = slotValue(r, a.size)
			a.leaves[k] = values[k]
		}
	}
	return a.trie.Changes(values)
}

// commit takes over what an update wrote.
func (a *account) commit(cs []trie.Change) {
	a.trie.Commit()
	for _, c := range cs {
		a.trie.SetLeaf(c.Key, c.Value)
	}
}

func TestRandomUpdatesAreGeths(t *testing.T) {
	leafRefs, branchRefs, emptied := 0, 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 10))
		forest := memtrie.Forest{}
		h := &testHasher{lanes: []int{1, 4, 8}[r.IntN(3)]}
		u := trie.NewUpdater(trie.Options{Sink: forest, Hasher: h})
		accounts := make([]*account, 1+r.IntN(5))
		for i := range accounts {
			accounts[i] = newAccount(r, []int{1, 2, 3, 6, 20, 60, 300}[r.IntN(7)])
			forest[uint32(i)] = accounts[i].trie
		}
		for round := range 12 {
			u.Reset()
			cs := make([][]trie.Change, len(accounts))
			for i, a := range accounts {
				empty := a.trie.Len() == 0 && r.IntN(2) == 0
				cs[i] = a.change(r)
				id, err := u.Update(uint32(i), a.trie, empty, cs[i])
				if err != nil || id != i {
					t.Fatalf("seed %d, round %d, account %d: id %d, %v", seed, round, i, id, err)
				}
			}
			if err := u.Flush(); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			for i, a := range accounts {
				a.commit(cs[i])
				root, rows := gethBuild(t, a.leaves)
				if u.Root(i) != root {
					t.Fatalf("seed %d, round %d, account %d: root %x, want %x", seed, round, i,
						u.Root(i), root)
				}
				checkRows(t, a.trie.Rows(), rows)
				l, b := embedded(t, rows)
				leafRefs, branchRefs = leafRefs+l, branchRefs+b
				if len(a.leaves) == 0 {
					emptied++
				}
			}
		}
		if h.failed != 0 {
			t.Errorf("seed %d: %d messages without room for padding", seed, h.failed)
		}
	}
	if leafRefs < 10_000 || branchRefs < 1000 || emptied < 100 {
		t.Errorf("only %d embedded leaves, %d embedded branches, %d empty tries tried", leafRefs, branchRefs,
			emptied)
	}
}

// leavesOf makes a trie of keys (by keyOf, front and back parted by a bar) with one value.
func leavesOf(value []byte, keys ...string) map[common.Hash][]byte {
	m := map[common.Hash][]byte{}
	for _, k := range keys {
		front, back, _ := bytes.Cut([]byte(k), []byte("|"))
		m[keyOf(string(front), string(back))] = value
	}
	return m
}

func TestNamedUpdatesEqualARebuild(t *testing.T) {
	cases := []struct {
		name          string
		before, after []string
	}{
		{"first leaf", nil, []string{"1"}},
		{"first leaves", nil, []string{"1", "1|1", "2"}},
		{"emptied, one leaf", []string{"1"}, nil},
		{"emptied, many leaves", []string{"1", "1|1", "2", "2|5", "23|5"}, nil},
		{"one leaf becomes another", []string{"1"}, []string{"2"}},
		{"one leaf gets a neighbour before", []string{"1|5"}, []string{"1|4", "1|5"}},
		{"one leaf gets a neighbour behind", []string{"1|5"}, []string{"1|5", "1|6"}},
		{"one leaf goes, two come around", []string{"1|5"}, []string{"1|4", "1|6"}},
		{"collapses to one leaf", []string{"1", "2", "3"}, []string{"2"}},
		{"collapses to one leaf from below", []string{"1|1", "1|2", "3"}, []string{"1|2"}},
		{"collapses to a branch", []string{"1|1", "1|2", "3"}, []string{"1|1", "1|2"}},
		{"collapses to a branch below an extension", []string{"1|1", "1|2", "1|22", "3"},
			[]string{"1|1", "1|2"}},
		{"grows again", []string{"2"}, []string{"1", "2", "3", "3|1"}},
		{"last sibling goes, a leaf moves up", []string{"1", "11", "2"}, []string{"1", "2"}},
		{"last sibling goes, a branch moves up", []string{"1", "11", "111", "2"}, []string{"11", "111", "2"}},
		{"removal below an extension", []string{"123|1", "123|2", "123|3"}, []string{"123|1", "123|3"}},
		{"removal ends an extension", []string{"123|1", "123|2", "4"}, []string{"123|1", "4"}},
		{"insert splits an extension in front", []string{"123|1", "123|2"}, []string{"122", "123|1", "123|2"}},
		{"insert splits an extension behind", []string{"123|1", "123|2"}, []string{"123|1", "123|2", "124"}},
		{"insert splits the root's extension at once", []string{"123|1", "123|2"},
			[]string{"0", "123|1", "123|2"}},
		{"inserts on both sides of an extension", []string{"1234|1", "1234|2"},
			[]string{"122", "1232", "1234|1", "1234|2", "1235", "124"}},
		{"a branch goes and one comes beside its place", []string{"123|1", "123|2", "9"},
			[]string{"12", "13", "9"}},
		{"all under one first nibble becomes all under another", []string{"1", "11", "12"},
			[]string{"2", "21", "22"}},
		{"the branch above goes, two below it stay", []string{"111|1", "111|2", "112|1", "112|2", "12"},
			[]string{"111|1", "111|2", "112|1", "112|2"}},
		{"the edges of the keys", []string{"0", "ffff"}, []string{"0", "0|1", "ffff", "f"}},
	}
	for _, value := range [][]byte{{1}, bytes.Repeat([]byte{9}, 33)} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s, %d bytes", c.name, len(value)), func(t *testing.T) {
				before, after := leavesOf(value, c.before...), leavesOf(value, c.after...)
				m, _ := filled(t, before)
				values := maps.Clone(after)
				for k := range before {
					if _, stays := after[k]; !stays {
						values[k] = nil
					}
				}
				got, err := m.Update(values)
				if err != nil {
					t.Fatal(err)
				}
				root, rows := gethBuild(t, after)
				if got != root {
					t.Errorf("root %x, want %x", got, root)
				}
				checkRows(t, m.Rows(), rows)
			})
		}
	}
}

func TestUpdateWithoutChangesRecomputesTheRoot(t *testing.T) {
	for _, n := range []int{0, 1, 2, 200} {
		m, root := filled(t, randomLeaves(rand.New(rand.NewPCG(uint64(n), 11)), n))
		before := m.Rows()
		got, err := m.Update(nil)
		if err != nil || got != root {
			t.Errorf("%d leaves: root %x, want %x; %v", n, got, root, err)
		}
		checkRows(t, m.Rows(), before)
	}
}

func TestUpdateTakesEmptyValuesAsDeletes(t *testing.T) {
	for _, none := range [][]byte{nil, {}, {0x80}} {
		m, _ := filled(t, leavesOf([]byte{1}, "1", "2"))
		u := trie.NewUpdater(trie.Options{})
		id, err := u.Update(0, m, false, []trie.Change{{Key: keyOf("2", ""), Value: none, Existed: true}})
		if err != nil || u.Flush() != nil {
			t.Fatal(err)
		}
		if want, _ := gethBuild(t, leavesOf([]byte{1}, "1")); u.Root(id) != want {
			t.Errorf("value %x: root %x, want %x", none, u.Root(id), want)
		}
	}
}

func TestUpdateReadsOnlyTheWayToItsChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 12))
	leaves := map[common.Hash][]byte{}
	for range 5000 {
		leaves[randomKey(r)] = []byte{1}
	}
	m, _ := filled(t, leaves)
	for k := range leaves {
		counted := &failingReader{Reader: m, at: -1}
		u := trie.NewUpdater(trie.Options{})
		if _, err := u.Update(0, counted, false, []trie.Change{{Key: k, Value: []byte{2}, Existed: true}}); err != nil {
			t.Fatal(err)
		}
		// 5,000 random keys have no branch deeper than 7 nibbles; the leaf itself is not read.
		if counted.calls > 8 {
			t.Fatalf("%d reads for one change", counted.calls)
		}
	}
	counted := &failingReader{Reader: m, at: -1}
	u := trie.NewUpdater(trie.Options{})
	if _, err := u.Update(0, counted, true, []trie.Change{{Key: keyOf("1", ""), Value: []byte{2}}}); err != nil {
		t.Fatal(err)
	}
	if counted.calls != 0 {
		t.Errorf("%d reads of a trie known to be empty", counted.calls)
	}
}

func TestStaleChangesFailTheirTrieAlone(t *testing.T) {
	old := leavesOf([]byte{1}, "1", "123|1", "123|2", "1234", "5", "6|1", "6|2")
	m, _ := filled(t, old)
	single, _ := filled(t, leavesOf([]byte{1}, "5"))
	none := memtrie.New()
	put := func(key string, existed bool) trie.Change {
		for k := range leavesOf(nil, key) {
			return trie.Change{Key: k, Value: []byte{2}, Existed: existed}
		}
		panic("no key")
	}
	del := func(key string, existed bool) trie.Change {
		c := put(key, existed)
		c.Value = nil
		return c
	}
	cases := []struct {
		name  string
		trie  *memtrie.Trie
		empty bool
		want  error
		cs    []trie.Change
	}{
		{"new leaf exists, single", single, false, trie.ErrStaleChange, []trie.Change{put("5", false)}},
		{"new leaf exists, below a branch", m, false, trie.ErrStaleChange, []trie.Change{put("5", false)}},
		{"delete of what never was", m, false, trie.ErrStaleChange, []trie.Change{del("7", false)}},
		{"delete below an absent child", m, false, trie.ErrStaleChange, []trie.Change{del("7", true)}},
		{"change below an absent child", m, false, trie.ErrStaleChange, []trie.Change{put("7", true)}},
		{"delete beside an extension", m, false, trie.ErrStaleChange, []trie.Change{del("6", true)}},
		{"change behind an extension", m, false, trie.ErrStaleChange, []trie.Change{put("61", true)}},
		{"two leaves that were one, single", single, false, trie.ErrStaleChange,
			[]trie.Change{put("5", true), put("5|1", true)}},
		{"two leaves that were one", m, false, trie.ErrStaleChange,
			[]trie.Change{put("5", true), del("5|1", true)}},
		{"delete of an absent leaf beside one", m, false, trie.ErrStaleChange,
			[]trie.Change{put("5", true), del("5|1", false)}},
		{"delete beside an unread leaf", m, false, trie.ErrStaleChange, []trie.Change{del("5|1", false)}},
		{"change in an empty trie", none, true, trie.ErrStaleChange, []trie.Change{put("5", true)}},
		{"delete in an empty trie", none, false, trie.ErrStaleChange, []trie.Change{del("5", false)}},
		{"out of order", m, false, trie.ErrKeyOrder, []trie.Change{put("5", true), put("1", true)}},
		{"twice", m, false, trie.ErrDuplicateKey, []trie.Change{put("5", true), put("5", true)}},
		{"huge value", m, false, trie.ErrValueTooLarge,
			[]trie.Change{{Key: keyOf("5", ""), Existed: true, Value: make([]byte, trie.MaxValueLen+1)}}},
	}
	want, _ := gethBuild(t, leavesOf([]byte{2}, "1", "3"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.trie.Rollback()
			beside := memtrie.New()
			u := trie.NewUpdater(trie.Options{Sink: memtrie.Forest{0: beside, 1: c.trie, 2: memtrie.New()}})
			cs := []trie.Change{put("1", false), put("3", false)}
			if _, err := u.Update(0, beside, true, cs); err != nil {
				t.Fatal(err)
			}
			id, err := u.Update(1, c.trie, c.empty, c.cs)
			if !errors.Is(err, c.want) || !errors.Is(u.Err(id), c.want) {
				t.Errorf("error %v, %v, want %v", err, u.Err(id), c.want)
			}
			if _, err := u.Update(2, memtrie.New(), false, cs); err != nil {
				t.Fatal(err)
			}
			if err := u.Flush(); err != nil {
				t.Fatal(err)
			}
			if u.Root(0) != want || u.Root(2) != want || u.Root(id) != (common.Hash{}) {
				t.Errorf("roots %x %x, want %x; %x, want none", u.Root(0), u.Root(2), want, u.Root(id))
			}
		})
	}
}

// stray is a Reader that may answer with what its fields say instead of the truth.
type stray struct {
	trie.Reader
	branch func(trie.Path, trie.Path, trie.Branch, bool) (trie.Path, trie.Branch, bool)
	leaf   func(common.Hash, []byte, bool) (common.Hash, []byte, bool)
}

func (s *stray) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	at, b, ok, err := s.Reader.FirstBranch(p)
	if s.branch != nil {
		at, b, ok = s.branch(p, at, b, ok)
	}
	return at, b, ok, err
}

func (s *stray) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	k, v, ok, err := s.Reader.FirstLeaf(p)
	if s.leaf != nil {
		k, v, ok = s.leaf(k, v, ok)
	}
	return k, v, ok, err
}

func TestReaderThatContradictsItselfIsAnError(t *testing.T) {
	m, _ := filled(t, leavesOf([]byte{1}, "1|1", "1|2", "15", "2"))
	type (
		path   = trie.Path
		branch = trie.Branch
	)
	below := func(f func(path, branch, bool) (path, branch, bool)) *stray {
		return &stray{Reader: m, branch: func(p, at path, b branch, ok bool) (path, branch, bool) {
			if p.Len == 0 {
				return at, b, ok
			}
			return f(at, b, ok)
		}}
	}
	leaf := func(f func(common.Hash, []byte, bool) (common.Hash, []byte, bool)) *stray {
		return &stray{Reader: m, leaf: f}
	}
	change := []trie.Change{{Key: keyOf("1", "1"), Value: []byte{2}, Existed: true}}
	split := []trie.Change{{Key: keyOf("2", "1"), Value: []byte{2}}}
	collapse := []trie.Change{
		{Key: keyOf("1", "1"), Existed: true}, {Key: keyOf("15", ""), Existed: true}}
	cases := []struct {
		name string
		r    *stray
		cs   []trie.Change
		want error
	}{
		{"no row", below(func(path, branch, bool) (path, branch, bool) {
			return path{}, branch{}, false
		}), change, trie.ErrMissingNode},
		{"row elsewhere", below(func(_ path, b branch, _ bool) (path, branch, bool) {
			return nibblePath([]byte{2}), b, true
		}), change, trie.ErrMissingNode},
		{"row above", below(func(_ path, b branch, _ bool) (path, branch, bool) {
			return path{}, b, true
		}), change, trie.ErrMissingNode},
		{"row as deep as leaves", below(func(_ path, b branch, _ bool) (path, branch, bool) {
			return trie.PathOf(keyOf("1", ""), 64), b, true
		}), change, trie.ErrMissingNode},
		{"row of an unclean path", below(func(_ path, b branch, _ bool) (path, branch, bool) {
			return path{Key: keyOf("1", "1"), Len: 1}, b, true
		}), change, trie.ErrMissingNode},
		{"row of one child", below(func(at path, b branch, _ bool) (path, branch, bool) {
			b.Mask &= -b.Mask
			return at, b, true
		}), change, trie.ErrBadBranch},
		{"row cut short", below(func(at path, b branch, _ bool) (path, branch, bool) {
			b.Refs = b.Refs[:len(b.Refs)-1]
			return at, b, true
		}), change, trie.ErrBadBranch},
		{"no leaf to split", leaf(func(common.Hash, []byte, bool) (common.Hash, []byte, bool) {
			return common.Hash{}, nil, false
		}), split, trie.ErrMissingNode},
		{"no leaf to move up", leaf(func(common.Hash, []byte, bool) (common.Hash, []byte, bool) {
			return common.Hash{}, nil, false
		}), collapse, trie.ErrMissingNode},
		{"leaf elsewhere", leaf(func(_ common.Hash, v []byte, _ bool) (common.Hash, []byte, bool) {
			return keyOf("4", ""), v, true
		}), split, trie.ErrMissingNode},
		{"leaf without value to move up", leaf(func(k common.Hash, _ []byte, _ bool) (common.Hash, []byte, bool) {
			return k, nil, true
		}), collapse, trie.ErrMissingNode},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			u := trie.NewUpdater(trie.Options{Hasher: &testHasher{lanes: 8}})
			for range 3 {
				if _, err := u.Update(0, c.r, false, c.cs); !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
			}
			want, _ := gethBuild(t, leavesOf([]byte{2}, "1"))
			id, err := u.Update(0, nil, true, []trie.Change{{Key: keyOf("1", ""), Value: []byte{2}}})
			if err != nil || u.Flush() != nil || u.Root(id) != want {
				t.Errorf("trie behind it: root %x, want %x; %v", u.Root(id), want, err)
			}
		})
	}
}

func TestUpdateOverAFailingReaderOrSinkFailsTheRightTrie(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 13))
		forest := memtrie.Forest{}
		accounts := make([]*account, 3)
		for i := range accounts {
			accounts[i] = newAccount(r, 30)
			forest[uint32(i)] = accounts[i].trie
			a := accounts[i]
			for range 3 {
				cs := a.change(r)
				values := map[common.Hash][]byte{}
				for _, c := range cs {
					values[c.Key] = c.Value
				}
				if _, err := a.trie.Update(values); err != nil {
					t.Fatal(err)
				}
			}
		}
		cs := make([][]trie.Change, 3)
		roots := make([]common.Hash, 3)
		for i, a := range accounts {
			cs[i] = a.change(r)
			roots[i], _ = gethBuild(t, a.leaves)
		}
		sink := &failingSink{}
		u := trie.NewUpdater(trie.Options{Sink: sink})
		update := func(i, readAt int) (fails bool) {
			reader := &failingReader{Reader: accounts[i].trie, at: readAt}
			_, err := u.Update(uint32(i), reader, false, cs[i])
			if fails = readAt >= 0 && reader.calls > readAt; fails && !errors.Is(err, errInjected) {
				t.Fatalf("seed %d: reader failed at call %d, update: %v", seed, readAt, err)
			}
			return fails
		}
		check := func(failed int) {
			t.Helper()
			for i := range accounts {
				if err := u.Err(i); errors.Is(err, errInjected) != (i == failed) {
					t.Fatalf("seed %d: account %d, of which %d failed: %v", seed, i, failed, err)
				} else if i != failed && u.Root(i) != roots[i] {
					t.Fatalf("seed %d: account %d: root %x, want %x", seed, i, u.Root(i), roots[i])
				}
				accounts[i].trie.Rollback()
			}
			u.Reset()
		}
		for at := 0; ; at++ {
			*sink = failingSink{Sink: forest, at: -1}
			update(0, -1)
			fails := update(1, at)
			update(2, -1)
			if err := u.Flush(); err != nil {
				t.Fatal(err)
			}
			if !fails {
				check(-1)
				break
			}
			check(1)
		}
		for at := 0; ; at++ {
			*sink = failingSink{Sink: forest, at: at}
			for i := range accounts {
				update(i, -1)
			}
			_ = u.Flush() // whether it or an update says so depends on when the row is complete
			if sink.calls <= at {
				check(-1)
				break
			}
			check(int(sink.tag))
		}
	}
}

// TestFalseChangesAndReadersNeverPanic gives an updater changes that lie and rows of other tries:
// the outcome is an error or a wrong root, and the trie behind it is unharmed.
func TestFalseChangesAndReadersNeverPanic(t *testing.T) {
	failures := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 14))
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
		both := &stray{Reader: rows, leaf: nil}
		mixed := struct{ trie.Reader }{both}
		if r.IntN(2) == 0 {
			both.leaf = func(k common.Hash, _ []byte, ok bool) (common.Hash, []byte, bool) {
				k2, v2, ok2, _ := flat.FirstLeaf(trie.PathOf(k, r.IntN(65)))
				return k2, v2, ok && ok2
			}
		}
		u := trie.NewUpdater(trie.Options{Hasher: &testHasher{lanes: 4}})
		var cs []trie.Change
		for _, k := range pool {
			if r.IntN(3) == 0 {
				cs = append(cs, trie.Change{Key: k, Value: slotValue(r, 2), Existed: r.IntN(2) == 0})
			} else if r.IntN(2) == 0 {
				cs = append(cs, trie.Change{Key: k, Existed: r.IntN(4) > 0})
			}
		}
		if _, err := u.Update(0, mixed, false, cs); err != nil {
			failures++
		}
		want, _ := gethBuild(t, leavesOf([]byte{2}, "1"))
		id, err := u.Update(0, nil, true, []trie.Change{{Key: keyOf("1", ""), Value: []byte{2}}})
		if err != nil || u.Flush() != nil || u.Root(id) != want {
			t.Fatalf("seed %d: trie behind: root %x, want %x; %v", seed, u.Root(id), want, err)
		}
	}
	if failures < 100 {
		t.Errorf("only %d of 300 false updates failed", failures)
	}
}
