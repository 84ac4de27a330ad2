package trie_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

// addLeaves begins a trie and adds leaves in order.
func addLeaves(t testing.TB, b *trie.Builder, tag uint32, leaves map[common.Hash][]byte) {
	t.Helper()
	b.Begin(tag)
	for _, k := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := b.Leaf(&k, leaves[k]); err != nil {
			t.Fatalf("leaf %v: %v", k, err)
		}
	}
}

func mustEnd(t testing.TB, b *trie.Builder) int {
	t.Helper()
	id, err := b.End()
	if err != nil {
		t.Fatalf("end: %v", err)
	}
	return id
}

func mustFlush(t testing.TB, b *trie.Builder) {
	t.Helper()
	if err := b.Flush(); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

func TestRandomTriesAreGeths(t *testing.T) {
	leafRefs, branchRefs := 0, 0
	for seed := range seeds(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		leaves := randomLeaves(r, []int{0, 1, 2, 3, 5, 20, 100, 500}[r.IntN(8)])
		m, _ := filled(t, leaves)
		l, b := embedded(t, m.Rows())
		leafRefs, branchRefs = leafRefs+l, branchRefs+b
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if leafRefs < 500 || branchRefs < 50 {
		t.Errorf("only %d embedded leaves and %d embedded branches tried", leafRefs, branchRefs)
	}
}

// keyOf makes a key of hex digits: those of front, zeros, those of back.
func keyOf(front, back string) common.Hash {
	return common.HexToHash(front + strings.Repeat("0", 64-len(front)-len(back)) + back)
}

func TestSmallTriesAreGeths(t *testing.T) {
	one, long := []byte{1}, slices.Repeat([]byte{7}, 40)
	cases := map[string]map[common.Hash][]byte{
		"no leaf":                       {},
		"one leaf":                      {keyOf("a1", ""): one},
		"one leaf at 00..00":            {{}: one},
		"one leaf at ff..ff":            {common.MaxHash: one},
		"00..00 and ff..ff":             {{}: one, common.MaxHash: long},
		"two differ in the last nibble": {keyOf("a1", "0"): one, keyOf("a1", "1"): one},
		"... with long values":          {keyOf("a1", "0"): long, keyOf("a1", "1"): long},
		"... and a third one beside": {keyOf("a1", "0"): one, keyOf("a1", "1"): one,
			keyOf("b", ""): one},
		"two differ in the first nibble": {keyOf("0", ""): one, keyOf("f", ""): one},
		"one first nibble": {keyOf("7", "1"): one, keyOf("71", "2"): long,
			keyOf("7f", ""): one},
		"two first nibbles": {keyOf("7", "1"): one, keyOf("71", "2"): long, keyOf("8", ""): one,
			keyOf("8", "f"): one},
		"a branch embedded in a branch": {keyOf("1", "00"): one, keyOf("1", "01"): one,
			keyOf("1", "10"): one, keyOf("2", ""): one},
		"an embedded extension": {keyOf("1", "000"): one, keyOf("1", "001"): one,
			keyOf("1", "100"): one, keyOf("2", ""): one},
		"a branch below each nibble": func() map[common.Hash][]byte {
			m := map[common.Hash][]byte{}
			for i := range 64 {
				m[keyOf(strings.Repeat("0", i)+"1", "")] = one
			}
			return m
		}(),
		"all last nibbles": func() map[common.Hash][]byte {
			m := map[common.Hash][]byte{}
			for i := range 256 {
				m[keyOf("", fmt.Sprintf("%02x", i))] = one
			}
			return m
		}(),
	}
	for name, leaves := range cases {
		t.Run(name, func(t *testing.T) {
			m, root := filled(t, leaves)
			if len(leaves) == 0 && root != trie.EmptyRoot {
				t.Errorf("root %x, want the empty root", root)
			}
			if len(leaves) < 2 && len(m.Rows()) != 0 {
				t.Errorf("%d rows, want none", len(m.Rows()))
			}
		})
	}
}

func TestValuesOfEverySizeAreGeths(t *testing.T) {
	for _, n := range []int{1, 2, 30, 31, 32, 33, 54, 55, 56, 57, 100, 101, 255, 256, 257, 495, 503,
		504, 505, 543, 544, 545, 1000, 65535, 65536, 200_000, trie.MaxValueLen} {
		v := slices.Repeat([]byte{0x91}, n)
		filled(t, map[common.Hash][]byte{keyOf("1", ""): v})
		filled(t, map[common.Hash][]byte{
			keyOf("1", ""): v, keyOf("1", "1"): v, keyOf("15", ""): v, keyOf("2", ""): {1}})
	}
}

// streamRow streams the trie below a row as a random mix of leaves, references and branches.
func streamRow(b *trie.Builder, m *trietest.Trie, r *rand.Rand, p trie.Path, br trie.Branch) error {
	if r.IntN(5) == 0 {
		return b.Subtree(p, br)
	}
	for x := range byte(16) {
		ref, c := br.Ref(x), p.Child(x)
		var err error
		switch {
		case ref == nil:
		case r.IntN(3) == 0:
			err = b.Ref(c, ref, br.Sub>>x&1 != 0)
		case br.Sub>>x&1 == 0:
			key, value, _, _ := m.FirstLeaf(c)
			err = b.Leaf(&key, value)
		default:
			at, below, _, _ := m.FirstBranch(c)
			err = streamRow(b, m, r, at, below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestAnyMixOfLeavesReferencesAndBranchesIsTheSameTrie(t *testing.T) {
	for seed := range seeds(150) {
		r := rand.New(rand.NewPCG(seed, 4))
		m, root := filled(t, randomLeaves(r, 2+r.IntN(100)))
		got := trietest.New()
		b := trie.NewBuilder(trie.Options{Sink: got, Hasher: anyHasher(r)})
		b.Begin(0)
		p, br, ok, err := m.FirstBranch(trie.Path{})
		if !ok || err != nil {
			continue
		}
		if err := streamRow(b, m, r, p, br); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		id := mustEnd(t, b)
		mustFlush(t, b)
		if b.Root(id) != root {
			t.Fatalf("seed %d: root %x, want %x", seed, b.Root(id), root)
		}
		got.Commit()
		for p, row := range got.Rows() {
			if string(row) != string(m.Rows()[p]) {
				t.Fatalf("seed %d: row %v is %x, want %x", seed, p, row, m.Rows()[p])
			}
		}
	}
}

func TestSubtreeAloneMakesTheRoot(t *testing.T) {
	for _, leaves := range []map[common.Hash][]byte{
		{keyOf("0", ""): {1}, keyOf("1", ""): {1}},
		{keyOf("10", ""): {1}, keyOf("11", ""): {1}},
		{keyOf("1", "10"): {1}, keyOf("1", "11"): {1}},
	} {
		m, root := filled(t, leaves)
		p, br, _, _ := m.FirstBranch(trie.Path{})
		b := trie.NewBuilder(trie.Options{})
		b.Begin(0)
		if err := b.Subtree(p, br); err != nil {
			t.Fatal(err)
		}
		id := mustEnd(t, b)
		mustFlush(t, b)
		if b.Root(id) != root {
			t.Errorf("root %x, want %x", b.Root(id), root)
		}
	}
}

// badItem is a stream of items that is an error.
type badItem struct {
	name string
	want error
	do   func(b *trie.Builder)
}

func addLeaf(b *trie.Builder, k common.Hash, v ...byte) error { return b.Leaf(&k, v) }

func addHash(b *trie.Builder, nibbles ...byte) error {
	return b.Ref(nibblePath(nibbles), hashRef, false)
}

func badLeaves() []badItem {
	return []badItem{
		{"duplicate leaf", trie.ErrDuplicateKey, func(b *trie.Builder) {
			addLeaf(b, keyOf("5", ""), 1)
			addLeaf(b, keyOf("5", ""), 1)
		}},
		{"leaf before the last", trie.ErrKeyOrder, func(b *trie.Builder) {
			addLeaf(b, keyOf("5", "1"), 1)
			addLeaf(b, keyOf("5", ""), 1)
		}},
		{"leaf far before the last", trie.ErrKeyOrder, func(b *trie.Builder) {
			addLeaf(b, keyOf("51", ""), 1)
			addLeaf(b, keyOf("52", ""), 1)
			addLeaf(b, keyOf("52", "7"), 1)
			addLeaf(b, keyOf("4", ""), 1)
		}},
		{"no value", trie.ErrEmptyValue, func(b *trie.Builder) { addLeaf(b, keyOf("5", "")) }},
		{"the RLP of nothing", trie.ErrEmptyValue, func(b *trie.Builder) {
			addLeaf(b, keyOf("4", ""), 1)
			addLeaf(b, keyOf("5", ""), 0x80)
		}},
		{"huge value", trie.ErrValueTooLarge, func(b *trie.Builder) {
			addLeaf(b, keyOf("4", ""), make([]byte, trie.MaxValueLen+1)...)
		}},
		{"leaf inside a reference", trie.ErrKeyOrder, func(b *trie.Builder) {
			addHash(b, 1, 2)
			addLeaf(b, keyOf("121", ""), 1)
		}},
		{"given up", errInjected, func(b *trie.Builder) {
			addLeaf(b, keyOf("1", ""), 1)
			b.Abort(errInjected)
			b.Abort(trie.ErrKeyOrder)
		}},
	}
}

func badReferences() []badItem {
	row := trie.Branch{Mask: 3, Refs: slices.Concat(hashRef, hashRef)}
	one := nibblePath([]byte{1})
	return []badItem{
		{"reference of the same child", trie.ErrKeyOrder, func(b *trie.Builder) {
			addHash(b, 1, 2)
			addHash(b, 1, 2)
		}},
		{"reference around a leaf", trie.ErrKeyOrder, func(b *trie.Builder) {
			addLeaf(b, keyOf("121", ""), 1)
			addHash(b, 1, 2)
		}},
		{"reference before the last", trie.ErrKeyOrder, func(b *trie.Builder) {
			addHash(b, 1, 2)
			addHash(b, 1, 3)
			addHash(b, 1, 1)
		}},
		{"branch around a leaf", trie.ErrKeyOrder, func(b *trie.Builder) {
			addLeaf(b, keyOf("121", ""), 1)
			b.Subtree(one, row)
		}},
		{"lone reference", trie.ErrLoneRef, func(b *trie.Builder) { addHash(b, 1, 1) }},
		{"lone reference between leaves", trie.ErrLoneRef, func(b *trie.Builder) {
			addLeaf(b, keyOf("1", ""), 1)
			addHash(b, 2, 2)
			addLeaf(b, keyOf("3", ""), 1)
		}},
		{"reference of the root", trie.ErrBadPath, func(b *trie.Builder) { addHash(b) }},
		{"reference beyond keys", trie.ErrBadPath, func(b *trie.Builder) {
			b.Ref(trie.Path{Len: 65}, hashRef, false)
		}},
		{"short reference", trie.ErrBadBranch, func(b *trie.Builder) {
			b.Ref(one, hashRef[:32], false)
		}},
		{"no reference", trie.ErrBadBranch, func(b *trie.Builder) { b.Ref(one, nil, false) }},
		{"branch below all keys", trie.ErrBadPath, func(b *trie.Builder) {
			b.Subtree(nibblePath(make([]byte, 64)), row)
		}},
		{"branch above the root", trie.ErrBadPath, func(b *trie.Builder) {
			b.Subtree(trie.Path{Len: -1}, row)
		}},
		{"branch of one child", trie.ErrBadBranch, func(b *trie.Builder) {
			b.Subtree(trie.Path{}, trie.Branch{Mask: 1, Refs: hashRef})
		}},
		{"branch with short references", trie.ErrBadBranch, func(b *trie.Builder) {
			b.Subtree(trie.Path{}, trie.Branch{Mask: 3, Refs: row.Refs[:65]})
		}},
	}
}

func TestBadItemsFailTheirTrieAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	good := randomLeaves(r, 80)
	root, rows := gethBuild(t, good)
	for _, c := range append(badLeaves(), badReferences()...) {
		t.Run(c.name, func(t *testing.T) {
			forest := trietest.Forest{1: trietest.New(), 2: trietest.New(), 3: trietest.New()}
			b := trie.NewBuilder(trie.Options{Sink: forest, Hasher: &testHasher{lanes: 8}})
			addLeaves(t, b, 1, good)
			mustEnd(t, b)
			b.Begin(2) // leaves nodes behind, open and waiting
			for _, k := range keyPool(r, 90) {
				k[0] = 0
				addLeaf(b, k, 1)
			}
			b.Abort(nil)
			if _, err := b.End(); err == nil {
				t.Error("an aborted trie ends without error")
			}
			b.Begin(2)
			c.do(b)
			if addLeaf(b, common.MaxHash, 1) == nil && c.want != trie.ErrLoneRef {
				t.Error("a failed trie takes another leaf")
			}
			failed, err := b.End()
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			addLeaves(t, b, 3, good)
			last := mustEnd(t, b)
			mustFlush(t, b)
			if !errors.Is(b.Err(failed), c.want) || b.Root(failed) != (common.Hash{}) {
				t.Errorf("failed trie: root %x, error %v", b.Root(failed), b.Err(failed))
			}
			for tag, id := range map[uint32]int{1: 0, 3: last} {
				if b.Root(id) != root || b.Err(id) != nil {
					t.Errorf("trie %d: root %x, want %x; %v", id, b.Root(id), root, b.Err(id))
				}
				forest[tag].Commit()
				checkRows(t, forest[tag].Rows(), rows)
			}
		})
	}
}

// TestFailedTriesGiveTheirNodesBack lets more tries fail than the pool has nodes.
func TestFailedTriesGiveTheirNodesBack(t *testing.T) {
	leaves := randomLeaves(rand.New(rand.NewPCG(1, 9)), 300)
	want, _ := gethBuild(t, leaves)
	row := trie.Branch{Mask: 3, Refs: slices.Concat(hashRef, hashRef)}
	b := trie.NewBuilder(trie.Options{Hasher: &testHasher{lanes: 8}})
	for i := range 1500 {
		b.Begin(0)
		for j := range i % 5 {
			addLeaf(b, common.Hash{byte(j * j), byte(i)}, 1)
		}
		if i%2 == 0 {
			b.Subtree(nibblePath([]byte{8, 1}), row)
		}
		b.Abort(errInjected)
		b.End()
	}
	addLeaves(t, b, 0, leaves)
	id := mustEnd(t, b)
	mustFlush(t, b)
	if b.Root(id) != want {
		t.Errorf("root %x, want %x", b.Root(id), want)
	}
}

func TestLoneReferenceIsAnErrorAtTheEndToo(t *testing.T) {
	b := trie.NewBuilder(trie.Options{})
	for range 2 {
		b.Begin(0)
		addLeaf(b, keyOf("1", ""), 1)
		addHash(b, 2, 2)
		if _, err := b.End(); !errors.Is(err, trie.ErrLoneRef) {
			t.Errorf("error %v, want %v", err, trie.ErrLoneRef)
		}
	}
}

func TestTriesBeginAndEndInTurn(t *testing.T) {
	b := trie.NewBuilder(trie.Options{})
	k := keyOf("1", "")
	if err := b.Leaf(&k, []byte{1}); !errors.Is(err, trie.ErrNotBegun) {
		t.Errorf("leaf before Begin: %v", err)
	}
	if _, err := b.End(); !errors.Is(err, trie.ErrNotBegun) {
		t.Errorf("end before Begin: %v", err)
	}
	b.Begin(1)
	if err := b.Leaf(&k, []byte{1}); err != nil {
		t.Fatal(err)
	}
	b.Begin(2)
	id := mustEnd(t, b)
	mustFlush(t, b)
	if id != 1 || b.Root(1) != trie.EmptyRoot || b.Err(1) != nil {
		t.Errorf("trie %d: root %x, %v", id, b.Root(1), b.Err(1))
	}
	if !errors.Is(b.Err(0), trie.ErrNotEnded) {
		t.Errorf("trie that was left open: %v", b.Err(0))
	}
	if b.Root(2) != (common.Hash{}) || !errors.Is(b.Err(2), trie.ErrNotBegun) {
		t.Errorf("trie that was never begun: root %x, %v", b.Root(2), b.Err(2))
	}
}

func TestResetForgetsAnOpenTrie(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	b := trie.NewBuilder(trie.Options{Hasher: &testHasher{lanes: 64}})
	for range 50 {
		leaves := randomLeaves(r, 100)
		addLeaves(t, b, 0, leaves)
		b.Reset() // open, with nodes that wait
		addLeaves(t, b, 0, leaves)
		mustEnd(t, b)
		mustFlush(t, b)
		if want, _ := gethBuild(t, leaves); b.Root(0) != want {
			t.Fatalf("root %x, want %x", b.Root(0), want)
		}
		b.Reset()
	}
}

func TestSinkThatFailsAtAnyCallFailsTheRightTrie(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	var tries []map[common.Hash][]byte
	var roots []common.Hash
	for range 6 {
		leaves := randomLeaves(r, 25)
		root, _ := gethBuild(t, leaves)
		tries, roots = append(tries, leaves), append(roots, root)
	}
	sink := &failingSink{at: -1}
	b := trie.NewBuilder(trie.Options{Sink: sink, Hasher: &testHasher{lanes: 3}})
	for at := 0; ; at++ {
		forest := trietest.Forest{}
		*sink = failingSink{Sink: forest, at: at}
		b.Reset()
		early := make([]error, len(tries))
		for i, leaves := range tries {
			forest[uint32(i)] = trietest.New()
			b.Begin(uint32(i))
			for _, k := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
				if err := b.Leaf(&k, leaves[k]); err != nil {
					break
				}
			}
			_, early[i] = b.End()
		}
		late := b.Flush()
		if sink.calls <= at {
			if at < 50 {
				t.Errorf("only %d calls tried", at)
			}
			return
		}
		if sink.after != 0 || b.Root(int(sink.tag)) != (common.Hash{}) {
			t.Fatalf("call %d failed: %d more for that trie, root %x", at, sink.after,
				b.Root(int(sink.tag)))
		}
		for i := range tries {
			err := b.Err(i)
			if failed := uint32(i) == sink.tag; errors.Is(err, errInjected) != failed {
				t.Fatalf("call %d failed for trie %d; trie %d: %v", at, sink.tag, i, err)
			} else if failed && (early[i] == nil) != errors.Is(late, errInjected) {
				t.Fatalf("call %d: end %v, flush %v", at, early[i], late)
			} else if !failed && (b.Root(i) != roots[i] || err != nil || early[i] != nil) {
				t.Fatalf("call %d: trie %d beside the failed one: %v, %v", at, i, err, early[i])
			}
		}
	}
}

// TestPoolNeverRunsDry builds tries whose branches are open at all 64 depths, over a hasher that
// is never given a whole group, so that nodes are hashed only where the pool runs out.
func TestPoolNeverRunsDry(t *testing.T) {
	leaves := map[common.Hash][]byte{}
	for i := range 64 {
		for _, x := range "369c" {
			leaves[keyOf(strings.Repeat("0", i)+string(x), "")] = slices.Repeat([]byte{1}, 1+i)
		}
	}
	want, _ := gethBuild(t, leaves)
	b := trie.NewBuilder(trie.Options{Hasher: &testHasher{lanes: 1 << 20}})
	for range 40 {
		addLeaves(t, b, 0, leaves)
		mustEnd(t, b)
	}
	mustFlush(t, b)
	for id := range 40 {
		if b.Root(id) != want {
			t.Fatalf("trie %d: root %x, want %x", id, b.Root(id), want)
		}
	}
}

func TestBuilderWithoutHasherUsesKeccak(t *testing.T) {
	b := trie.NewBuilder(trie.Options{Hasher: keccak.New()})
	k := keyOf("1", "")
	b.Begin(0)
	if err := b.Leaf(&k, []byte{1}); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, b)
	mustFlush(t, b)
	if want, _ := gethBuild(t, map[common.Hash][]byte{k: {1}}); b.Root(0) != want {
		t.Errorf("root %x, want %x", b.Root(0), want)
	}
}
