package trie_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

// hashedKeys are n random keys in order.
func hashedKeys(n int) []common.Hash {
	r := rand.New(rand.NewPCG(1, 40))
	keys := make([]common.Hash, n)
	for i := range keys {
		keys[i] = randomKey(r)
	}
	slices.SortFunc(keys, common.Hash.Cmp)
	return keys
}

// discard is a Sink that takes everything.
type discard struct{ rows int }

func (d *discard) PutBranch(uint32, trie.Path, trie.Branch) error { d.rows++; return nil }
func (d *discard) DeleteBranch(uint32, trie.Path) error           { d.rows++; return nil }

// buildAll builds one trie of all keys, with 9-byte values.
func buildAll(t testing.TB, b *trie.Builder, keys []common.Hash) common.Hash {
	value := [9]byte{0x88, 1}
	b.Reset()
	b.Begin(0)
	for _, k := range keys {
		binary.BigEndian.PutUint32(value[5:], binary.BigEndian.Uint32(k[4:]))
		if err := b.Leaf(&k, value[:]); err != nil {
			t.Fatal(err)
		}
	}
	id := mustEnd(t, b)
	mustFlush(t, b)
	return b.Root(id)
}

func TestBuildsAllocateNothingPerLeaf(t *testing.T) {
	keys := hashedKeys(5000)
	sink := &discard{}
	b := trie.NewBuilder(trie.Options{Sink: sink})
	buildAll(t, b, keys)
	if n := testing.AllocsPerRun(3, func() { buildAll(t, b, keys) }); n > 10 {
		t.Errorf("%v allocations for %d leaves", n, len(keys))
	}
}

// sliceReader is a Reader over sorted slices that allocates nothing.
type sliceReader struct {
	paths    []trie.Path
	branches []trie.Branch
	keys     []common.Hash
	value    []byte
}

func newSliceReader(t testing.TB, keys []common.Hash, value []byte) *sliceReader {
	r := &sliceReader{keys: keys, value: value}
	b := trie.NewBuilder(trie.Options{Sink: r})
	b.Begin(0)
	for _, k := range keys {
		if err := b.Leaf(&k, value); err != nil {
			t.Fatal(err)
		}
	}
	mustEnd(t, b)
	mustFlush(t, b)
	order := make([]int, len(r.paths))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return r.paths[i].Compare(r.paths[j]) })
	sorted := &sliceReader{keys: keys, value: value}
	for _, i := range order {
		sorted.paths = append(sorted.paths, r.paths[i])
		sorted.branches = append(sorted.branches, r.branches[i])
	}
	return sorted
}

func (r *sliceReader) PutBranch(_ uint32, p trie.Path, b trie.Branch) error {
	b.Refs = slices.Clone(b.Refs)
	r.paths, r.branches = append(r.paths, p), append(r.branches, b)
	return nil
}

func (r *sliceReader) DeleteBranch(uint32, trie.Path) error { return nil }

func (r *sliceReader) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	i, _ := slices.BinarySearchFunc(r.paths, p, trie.Path.Compare)
	if i == len(r.paths) || !r.paths[i].HasPrefix(p) {
		return trie.Path{}, trie.Branch{}, false, nil
	}
	return r.paths[i], r.branches[i], true, nil
}

func (r *sliceReader) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	i, _ := slices.BinarySearchFunc(r.keys, p.Key, common.Hash.Cmp)
	if i == len(r.keys) || !p.HasKey(&r.keys[i]) {
		return common.Hash{}, nil, false, nil
	}
	return r.keys[i], r.value, true, nil
}

// blockChanges changes n of the keys: four fifths stay, the rest are deleted or new.
func blockChanges(keys []common.Hash, n int, value []byte) []trie.Change {
	r := rand.New(rand.NewPCG(2, 41))
	m := map[common.Hash]trie.Change{}
	for range n {
		k := keys[r.IntN(len(keys))]
		c := trie.Change{Key: k, Value: value, Existed: true}
		switch r.IntN(10) {
		case 0:
			c.Value = nil
		case 1:
			c.Key[20] ^= 1
			c.Existed = false
		}
		m[c.Key] = c
	}
	var cs []trie.Change
	for _, c := range m {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b trie.Change) int { return a.Key.Cmp(b.Key) })
	return cs
}

func updateOnce(t testing.TB, u *trie.Updater, r trie.Reader, cs []trie.Change) common.Hash {
	u.Reset()
	id, err := u.Update(0, r, false, cs)
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return u.Root(id)
}

func TestUpdatesAllocateNothingPerChange(t *testing.T) {
	keys := hashedKeys(20_000)
	r := newSliceReader(t, keys, []byte{1})
	cs := blockChanges(keys, 3000, []byte{2})
	u := trie.NewUpdater(trie.Options{Sink: &discard{}})
	m := trietest.New()
	for _, k := range keys {
		m.SetLeaf(k, []byte{1})
	}
	for _, c := range cs {
		m.SetLeaf(c.Key, c.Value)
	}
	want, err := m.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got := updateOnce(t, u, r, cs); got != want {
		t.Errorf("root %x, want %x", got, want)
	}
	if n := testing.AllocsPerRun(3, func() { updateOnce(t, u, r, cs) }); n > 10 {
		t.Errorf("%v allocations for %d changes", n, len(cs))
	}
}

// builds are what BenchmarkBuild builds.
var builds = []struct {
	name      string
	per       int // leaves of a trie
	valueSize int
}{
	{"one trie, 9-byte values", 1_000_000, 9},
	{"one trie, 100-byte values", 1_000_000, 100},
	{"tries of 10, 9-byte values", 10, 9},
}

// triesAFlush is how many small tries BenchmarkBuild hashes together.
const triesAFlush = 64

func BenchmarkBuild(b *testing.B) {
	keys := hashedKeys(1_000_000)
	for _, c := range builds {
		tries := slices.Collect(slices.Chunk(keys, c.per))
		if c.per < len(keys) {
			tries = dealt(keys, c.per)
		}
		value := append([]byte{0x80 + byte(min(c.valueSize-1, 55))},
			slices.Repeat([]byte{7}, c.valueSize-1)...)
		hashers := map[string]keccak.Hasher{"no hashing": noHasher{}}
		for _, lanes := range keccak.Widths() {
			hashers[fmt.Sprintf("%d lanes", lanes)] = keccak.NewLanes(lanes)
		}
		for _, name := range slices.Sorted(maps.Keys(hashers)) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				bd := trie.NewBuilder(trie.Options{Sink: &discard{}, Hasher: hashers[name]})
				b.ReportAllocs()
				for b.Loop() {
					buildTries(b, bd, tries, value)
				}
				b.ReportMetric(nanosPer(b, len(keys)), "ns/leaf")
			})
		}
		b.Run(c.name+"/go-ethereum", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stackTries(b, tries, value)
			}
			b.ReportMetric(nanosPer(b, len(keys)), "ns/leaf")
		})
	}
}

// dealt deals keys at random to tries of per keys.
func dealt(keys []common.Hash, per int) [][]common.Hash {
	keys = slices.Clone(keys)
	r := rand.New(rand.NewPCG(3, 42))
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	tries := slices.Collect(slices.Chunk(keys, per))
	for _, keys := range tries {
		slices.SortFunc(keys, common.Hash.Cmp)
	}
	return tries
}

func buildTries(b *testing.B, bd *trie.Builder, tries [][]common.Hash, value []byte) {
	for group := range slices.Chunk(tries, triesAFlush) {
		bd.Reset()
		for _, keys := range group {
			bd.Begin(0)
			for i := range keys {
				if err := bd.Leaf(&keys[i], value); err != nil {
					b.Fatal(err)
				}
			}
			mustEnd(b, bd)
		}
		mustFlush(b, bd)
	}
}

func stackTries(b *testing.B, tries [][]common.Hash, value []byte) {
	rows := &discard{}
	st := gethtrie.NewStackTrie(func([]byte, common.Hash, []byte) { rows.rows++ })
	for _, keys := range tries {
		for i := range keys {
			if err := st.Update(keys[i][:], value); err != nil {
				b.Fatal(err)
			}
		}
		st.Hash()
		st.Reset()
	}
}

// nanosPer is the time of one iteration divided by n.
func nanosPer(b *testing.B, n int) float64 {
	return float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(n)
}

func BenchmarkUpdate(b *testing.B) {
	keys := hashedKeys(1_000_000)
	r := newSliceReader(b, keys, slices.Repeat([]byte{1}, 75))
	cs := blockChanges(keys, 2000, slices.Repeat([]byte{2}, 75))
	for _, c := range []struct {
		name string
		o    trie.Options
	}{
		{"balsa", trie.Options{Sink: &discard{}}},
		{"no hashing", trie.Options{Sink: &discard{}, Hasher: noHasher{}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			u := trie.NewUpdater(c.o)
			b.ReportAllocs()
			for b.Loop() {
				updateOnce(b, u, r, cs)
			}
			b.ReportMetric(nanosPer(b, len(cs)), "ns/change")
		})
	}
}
