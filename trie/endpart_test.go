package trie_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

// splitter splits tries into parts at random prefixes. All parts are built by one of two builders,
// which share a Sink that refuses a row that comes twice.
type splitter struct {
	t        testing.TB
	r        *rand.Rand
	leaves   map[common.Hash][]byte
	builders [2]*trie.Builder
	split    float64 // how likely a range is split on
	parts    int
	empty    int
}

func (s *splitter) builder() *trie.Builder { return s.builders[s.r.IntN(2)] }

// part builds the leaves of keys, all below p, in one go or from parts of parts.
func (s *splitter) part(keys []common.Hash, p trie.Path) *trie.Part {
	s.parts++
	if p.Len < 64 && s.r.Float64() < s.split {
		return s.end(s.builder(), s.join(keys, p))
	}
	return s.end(s.builder(), func(b *trie.Builder) { s.addAll(b, keys) })
}

// end makes a part of what add adds.
func (s *splitter) end(b *trie.Builder, add func(b *trie.Builder)) *trie.Part {
	b.Begin(0)
	add(b)
	p, err := b.EndPart()
	if err != nil {
		s.t.Fatalf("part: %v", err)
	}
	if p.Empty() {
		s.empty++
	}
	return &p
}

func (s *splitter) addAll(b *trie.Builder, keys []common.Hash) {
	for _, k := range keys {
		if err := b.Leaf(&k, s.leaves[k]); err != nil {
			s.t.Fatalf("leaf %v: %v", k, err)
		}
	}
}

// join splits keys, all below p, at the 16 children of a path of random length on the way to one of
// them, and beside it, and returns what adds the parts, or here and there the leaves themselves.
func (s *splitter) join(keys []common.Hash, p trie.Path) func(*trie.Builder) {
	depth := p.Len
	if len(keys) > 0 && s.r.IntN(3) == 0 {
		depth += s.r.IntN(64 - p.Len)
	}
	var adds []func(*trie.Builder)
	if len(keys) == 0 {
		part := s.part(nil, p.Child(7))
		adds = append(adds, func(b *trie.Builder) { s.add(b, part) })
	}
	for len(keys) > 0 {
		child := trie.PathOf(keys[0], depth+1)
		n := 1
		for n < len(keys) && child.HasKey(&keys[n]) {
			n++
		}
		run := keys[:n]
		keys = keys[n:]
		if s.r.IntN(5) == 0 {
			adds = append(adds, func(b *trie.Builder) { s.addAll(b, run) })
			continue
		}
		part := s.part(run, child)
		adds = append(adds, func(b *trie.Builder) { s.add(b, part) })
	}
	return func(b *trie.Builder) {
		for _, add := range adds {
			add(b)
		}
	}
}

func (s *splitter) add(b *trie.Builder, p *trie.Part) {
	if err := b.AddPart(p); err != nil {
		s.t.Fatalf("add part: %v", err)
	}
}

// checkSplit builds leaves from parts and compares with go-ethereum.
func checkSplit(t testing.TB, r *rand.Rand, leaves map[common.Hash][]byte) *splitter {
	t.Helper()
	rows := trietest.New()
	s := &splitter{t: t, r: r, leaves: leaves, split: []float64{0.1, 0.5, 0.8}[r.IntN(3)]}
	for i := range s.builders {
		s.builders[i] = trie.NewBuilder(trie.Options{Sink: rows, Hasher: anyHasher(r)})
	}
	keys := slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp)
	add := s.join(keys, trie.Path{})
	b := s.builder()
	b.Begin(0)
	add(b)
	id := mustEnd(t, b)
	mustFlush(t, b)
	want, wantRows := gethBuild(t, leaves)
	if got := b.Root(id); got != want {
		t.Fatalf("root %x, want %x", got, want)
	}
	rows.Commit()
	checkRows(t, rows.Rows(), wantRows)
	return s
}

func TestAnySplitIsTheSameTrie(t *testing.T) {
	parts, empty := 0, 0
	for seed := range seeds(400) {
		r := rand.New(rand.NewPCG(seed, 50))
		leaves := randomLeaves(r, []int{0, 1, 2, 5, 30, 200}[r.IntN(6)])
		if r.IntN(3) == 0 { // all below one nibble
			under := map[common.Hash][]byte{}
			for k, v := range leaves {
				k[0] = 0x70 | k[0]&15
				under[k] = v
			}
			leaves = under
		}
		s := checkSplit(t, r, leaves)
		parts, empty = parts+s.parts, empty+s.empty
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if parts < 4000 || empty < 100 {
		t.Errorf("only %d parts tried, %d of them empty", parts, empty)
	}
}

// TestSplitsAtEveryDepthAreTheSameTrie parts tries at one prefix of each length.
func TestSplitsAtEveryDepthAreTheSameTrie(t *testing.T) {
	tries := map[string]map[common.Hash][]byte{
		"a branch at every depth": {},
		"two leaves at the end":   {keyOf("7", "1"): {1}, keyOf("7", "2"): {2}},
		"one leaf":                {keyOf("7", "1"): {1}},
		"embedded nodes":          leavesOf([]byte{1}, "7|00", "7|01", "7|10", "7|100", "8"),
	}
	for i := range 64 {
		tries["a branch at every depth"][keyOf("7"+strings.Repeat("0", max(i-1, 0))+"1", "")] =
			slices.Repeat([]byte{1}, 1+i)
	}
	for name, leaves := range tries {
		want, wantRows := gethBuild(t, leaves)
		keys := slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp)
		for depth := 0; depth <= 64; depth++ {
			rows := trietest.New()
			s := &splitter{t: t, leaves: leaves}
			b := trie.NewBuilder(trie.Options{Sink: rows})
			whole := trie.NewBuilder(trie.Options{Sink: rows})
			whole.Begin(0)
			for rest := keys; len(rest) > 0; {
				p := trie.PathOf(rest[0], depth)
				n := 1
				for n < len(rest) && p.HasKey(&rest[n]) {
					n++
				}
				run := rest[:n]
				s.add(whole, s.end(b, func(b *trie.Builder) { s.addAll(b, run) }))
				rest = rest[n:]
			}
			id := mustEnd(t, whole)
			mustFlush(t, whole)
			if whole.Root(id) != want {
				t.Errorf("%s, split at %d: root %x, want %x", name, depth, whole.Root(id), want)
			}
			rows.Commit()
			checkRows(t, rows.Rows(), wantRows)
		}
	}
}

func TestAPartIsMadeAmongOtherTries(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 51))
	first, second := randomLeaves(r, 50), randomLeaves(r, 90)
	b := trie.NewBuilder(trie.Options{Hasher: &testHasher{lanes: 64}})
	addLeaves(t, b, 0, first)
	before := mustEnd(t, b)
	addLeaves(t, b, 0, second)
	p, err := b.EndPart()
	if err != nil || p.Empty() {
		t.Fatalf("part: empty %v, %v", p.Empty(), err)
	}
	b.Begin(0)
	for range 2 { // it stays as it is
		if err := b.AddPart(&p); err != nil {
			t.Fatal(err)
		}
		b.AddPart(&trie.Part{})
		after := mustEnd(t, b)
		mustFlush(t, b)
		for id, leaves := range map[int]map[common.Hash][]byte{before: first, after: second} {
			if want, _ := gethBuild(t, leaves); b.Root(id) != want {
				t.Errorf("trie %d: root %x, want %x", id, b.Root(id), want)
			}
		}
		b.Begin(0)
	}
}

func TestPartsThatFailAreErrors(t *testing.T) {
	leaves := leavesOf([]byte{1}, "1", "11", "2", "2|1")
	keys := slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp)
	b := trie.NewBuilder(trie.Options{Sink: &failingSink{Sink: &discard{}, at: 0}})
	if _, err := b.EndPart(); !errors.Is(err, trie.ErrNotBegun) {
		t.Errorf("part that was not begun: %v", err)
	}
	if err := b.AddPart(&trie.Part{}); !errors.Is(err, trie.ErrNotBegun) {
		t.Errorf("part added to no trie: %v", err)
	}
	addLeaves(t, b, 0, leaves)
	if _, err := b.EndPart(); !errors.Is(err, errInjected) {
		t.Errorf("failing sink: %v", err)
	}
	b.Begin(0)
	b.Abort(errInjected)
	if _, err := b.EndPart(); !errors.Is(err, errInjected) {
		t.Errorf("aborted part: %v", err)
	}
	s := &splitter{t: t, leaves: leaves}
	p := s.end(b, func(b *trie.Builder) { s.addAll(b, keys[:2]) })
	b.Begin(0)
	s.add(b, p)
	if err := b.AddPart(p); !errors.Is(err, trie.ErrKeyOrder) {
		t.Errorf("a part twice: %v", err)
	}
	if _, err := b.EndPart(); !errors.Is(err, trie.ErrKeyOrder) {
		t.Errorf("part of a failed trie: %v", err)
	}
	addLeaves(t, b, 0, leaves)
	id := mustEnd(t, b)
	mustFlush(t, b)
	if want, _ := gethBuild(t, leaves); id != 0 || b.Root(id) != want {
		t.Errorf("trie %d after failed parts: root %x, want %x", id, b.Root(id), want)
	}
}
