package trie_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

func TestManyTriesShareTheHashing(t *testing.T) {
	hashers := append(testHashers(), &testHasher{lanes: 3}, &testHasher{lanes: 12},
		&testHasher{lanes: 4096})
	for _, h := range hashers {
		lanes := h.lanes
		r := rand.New(rand.NewPCG(uint64(lanes), 2))
		forest := trietest.Forest{}
		b := trie.NewBuilder(trie.Options{Hasher: h, Sink: forest})
		for round := range 3 {
			b.Reset()
			var all []map[common.Hash][]byte
			for i := range 120 {
				leaves := randomLeaves(r, []int{0, 1, 2, 10, 60}[r.IntN(5)])
				tag := uint32(round*1000 + i)
				forest[tag] = trietest.New()
				addLeaves(t, b, tag, leaves)
				if id := mustEnd(t, b); id != i {
					t.Fatalf("id %d, want %d", id, i)
				}
				if all = append(all, leaves); r.IntN(30) == 0 {
					mustFlush(t, b)
				}
			}
			mustFlush(t, b)
			for i, leaves := range all {
				root, rows := gethBuild(t, leaves)
				if got := b.Root(i); got != root {
					t.Fatalf("lanes %d: root %x, want %x", lanes, got, root)
				}
				m := forest[uint32(round*1000+i)]
				m.Commit()
				checkRows(t, m.Rows(), rows)
			}
		}
		if h.failed != 0 {
			t.Errorf("lanes %d: %d messages without room for padding", lanes, h.failed)
		}
	}
}

func TestSmallTriesFillTheLanesTogether(t *testing.T) {
	h := &testHasher{lanes: 8}
	r := rand.New(rand.NewPCG(1, 8))
	b := trie.NewBuilder(trie.Options{Hasher: h})
	for range 64 {
		leaves := map[common.Hash][]byte{}
		for range 10 {
			leaves[randomKey(r)] = slotValue(r, 8)
		}
		addLeaves(t, b, 0, leaves)
		mustEnd(t, b)
	}
	mustFlush(t, b)
	if h.messages < 7*h.calls {
		t.Errorf("%d messages in %d calls: most of 8 lanes should be in use", h.messages, h.calls)
	}
}

func TestTheSameStorageUnderManyAccounts(t *testing.T) {
	leaves := randomLeaves(rand.New(rand.NewPCG(1, 3)), 40)
	want, _ := gethBuild(t, leaves)
	for _, h := range testHashers() {
		b := trie.NewBuilder(trie.Options{Hasher: h})
		for range 1000 {
			addLeaves(t, b, 0, leaves)
			mustEnd(t, b)
		}
		mustFlush(t, b)
		for id := range 1000 {
			if b.Root(id) != want {
				t.Fatalf("%d lanes: trie %d: root %x, want %x", h.lanes, id, b.Root(id), want)
			}
		}
	}
}

// TestLargeTriesAreGeths builds tries that use all of a builder's memory many times over.
func TestLargeTriesAreGeths(t *testing.T) {
	for _, size := range []int{9, 33, 75, 96, 100, 135, 300, 400} {
		r := rand.New(rand.NewPCG(uint64(size), 3))
		leaves := map[common.Hash][]byte{}
		for range 3000 {
			leaves[randomKey(r)] = slotValue(r, size)
		}
		want, wantRows := gethBuild(t, leaves)
		for _, h := range testHashers() {
			rows := trietest.New()
			b := trie.NewBuilder(trie.Options{Hasher: h, Sink: rows})
			addLeaves(t, b, 0, leaves)
			id := mustEnd(t, b)
			mustFlush(t, b)
			if b.Root(id) != want || h.failed != 0 {
				t.Errorf("values of %d bytes on %d lanes: root %x, want %x; %d without room",
					size, h.lanes, b.Root(id), want, h.failed)
			}
			rows.Commit()
			checkRows(t, rows.Rows(), wantRows)
		}
	}
}

// TestFlushInTheMiddleChangesNothing flushes between leaves, where one is held.
func TestFlushInTheMiddleChangesNothing(t *testing.T) {
	for seed := range seeds(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		leaves := randomLeaves(r, 100)
		want, wantRows := gethBuild(t, leaves)
		rows := trietest.New()
		b := trie.NewBuilder(trie.Options{Hasher: anyHasher(r), Sink: rows})
		b.Begin(0)
		often := 1 + r.IntN(40)
		for _, k := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
			if err := b.Leaf(&k, leaves[k]); err != nil {
				t.Fatal(err)
			}
			if r.IntN(often) == 0 {
				mustFlush(t, b)
			}
		}
		id := mustEnd(t, b)
		mustFlush(t, b)
		if b.Root(id) != want {
			t.Fatalf("seed %d: root %x, want %x", seed, b.Root(id), want)
		}
		rows.Commit()
		checkRows(t, rows.Rows(), wantRows)
	}
}
