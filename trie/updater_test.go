package trie_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

// account is a trie that random updates change, with the leaves that it should have.
type account struct {
	trie   *trietest.Trie
	leaves map[common.Hash][]byte
	pool   []common.Hash
	size   int // of values, at most
}

func newAccount(r *rand.Rand, n int) *account {
	return &account{
		trie:   trietest.New(),
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
	for seed := range seeds(60) {
		r := rand.New(rand.NewPCG(seed, 10))
		forest := trietest.Forest{}
		h := anyHasher(r)
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
	if leafRefs < 4000 || branchRefs < 400 || emptied < 40 {
		t.Errorf("only %d embedded leaves, %d embedded branches, %d empty tries tried", leafRefs,
			branchRefs, emptied)
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

// turnInto gives the values that make the leaves before those after.
func turnInto(before, after map[common.Hash][]byte) map[common.Hash][]byte {
	values := maps.Clone(after)
	for k := range before {
		values[k] = after[k]
	}
	return values
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
		{"last sibling goes, a branch moves up", []string{"1", "11", "111", "2"},
			[]string{"11", "111", "2"}},
		{"removal below an extension", []string{"123|1", "123|2", "123|3"},
			[]string{"123|1", "123|3"}},
		{"removal ends an extension", []string{"123|1", "123|2", "4"}, []string{"123|1", "4"}},
		{"insert splits an extension in front", []string{"123|1", "123|2"},
			[]string{"122", "123|1", "123|2"}},
		{"insert splits an extension behind", []string{"123|1", "123|2"},
			[]string{"123|1", "123|2", "124"}},
		{"insert splits the root's extension at once", []string{"123|1", "123|2"},
			[]string{"0", "123|1", "123|2"}},
		{"inserts on both sides of an extension", []string{"1234|1", "1234|2"},
			[]string{"122", "1232", "1234|1", "1234|2", "1235", "124"}},
		{"a branch goes and one comes beside its place", []string{"123|1", "123|2", "9"},
			[]string{"12", "13", "9"}},
		{"all under one first nibble becomes all under another", []string{"1", "11", "12"},
			[]string{"2", "21", "22"}},
		{"the branch above goes, two below it stay",
			[]string{"111|1", "111|2", "112|1", "112|2", "12"},
			[]string{"111|1", "111|2", "112|1", "112|2"}},
		{"the edges of the keys", []string{"0", "ffff"}, []string{"0", "0|1", "ffff", "f"}},
	}
	for _, value := range [][]byte{{1}, bytes.Repeat([]byte{9}, 33)} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s, %d bytes", c.name, len(value)), func(t *testing.T) {
				before, after := leavesOf(value, c.before...), leavesOf(value, c.after...)
				m, _ := filled(t, before)
				got, err := m.Update(turnInto(before, after))
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
	k := keyOf("2", "")
	for _, none := range [][]byte{nil, {}, {0x80}} {
		m, _ := filled(t, leavesOf([]byte{1}, "1", "2"))
		u := trie.NewUpdater(trie.Options{})
		id, err := u.Update(0, m, false, []trie.Change{{Key: k, Value: none, Existed: true}})
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
	for _, k := range m.Keys()[:300] {
		counted := &failingReader{Reader: m, at: -1}
		u := trie.NewUpdater(trie.Options{})
		change := trie.Change{Key: k, Value: []byte{2}, Existed: true}
		if _, err := u.Update(0, counted, false, []trie.Change{change}); err != nil {
			t.Fatal(err)
		}
		// 5,000 random keys have no branch deeper than 7 nibbles; the leaf itself is not read.
		if counted.calls > 8 {
			t.Fatalf("%d reads for one change", counted.calls)
		}
	}
	counted := &failingReader{Reader: m, at: -1}
	u := trie.NewUpdater(trie.Options{})
	change := trie.Change{Key: keyOf("1", ""), Value: []byte{2}}
	if _, err := u.Update(0, counted, true, []trie.Change{change}); err != nil {
		t.Fatal(err)
	}
	if counted.calls != 0 {
		t.Errorf("%d reads of a trie known to be empty", counted.calls)
	}
}
