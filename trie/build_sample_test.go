package trie_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

// gethBuild builds a trie with go-ethereum's StackTrie and derives the branch rows from the nodes
// that it gives.
func gethBuild(t testing.TB, leaves map[common.Hash][]byte) (common.Hash, map[trie.Path][]byte) {
	t.Helper()
	nodes := make(map[string][]byte) // by path, one byte a nibble
	st := gethtrie.NewStackTrie(func(path []byte, _ common.Hash, blob []byte) {
		nodes[string(path)] = slices.Clone(blob)
	})
	for _, key := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := st.Update(key[:], leaves[key]); err != nil {
			t.Fatal(err)
		}
	}
	root := st.Hash()
	rows := make(map[trie.Path][]byte)
	if len(leaves) > 0 {
		gethRows(t, nodes, nil, nodes[""], rows)
	}
	return root, rows
}

// gethRows adds the rows at and below the node at path and tells whether there are any.
func gethRows(
	t testing.TB, nodes map[string][]byte, path, node []byte, rows map[trie.Path][]byte,
) bool {
	t.Helper()
	items := rawItems(t, node)
	child := func(path, ref []byte) bool {
		if ref[0] == 0xa0 {
			ref = nodes[string(path)]
		}
		return gethRows(t, nodes, path, ref, rows)
	}
	if len(items) == 2 {
		nibbles, leaf := compactNibbles(t, items[0])
		return !leaf && child(append(slices.Clone(path), nibbles...), items[1])
	}
	var b trie.Branch
	for x, ref := range items[:16] {
		if len(ref) == 1 {
			continue
		}
		b.Mask |= 1 << x
		b.Refs = append(b.Refs, ref...)
		if child(append(slices.Clone(path), byte(x)), ref) {
			b.Sub |= 1 << x
		}
	}
	rows[nibblePath(path)] = b.AppendTo(nil)
	return true
}

func rawItems(t testing.TB, node []byte) (items [][]byte) {
	t.Helper()
	rest, _, err := rlp.SplitList(node)
	for err == nil && len(rest) > 0 {
		var tail []byte
		_, _, tail, err = rlp.Split(rest)
		items = append(items, rest[:len(rest)-len(tail)])
		rest = tail
	}
	if err != nil || len(items) != 2 && len(items) != 17 {
		t.Fatalf("node %x: %d items, %v", node, len(items), err)
	}
	return items
}

func compactNibbles(t testing.TB, item []byte) (nibbles []byte, leaf bool) {
	t.Helper()
	c, _, err := rlp.SplitString(item)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range c {
		nibbles = append(nibbles, x>>4, x&15)
	}
	return nibbles[2-nibbles[0]&1:], nibbles[0]&2 != 0
}

func nibblePath(nibbles []byte) trie.Path {
	var p trie.Path
	for _, x := range nibbles {
		p = p.Child(x)
	}
	return p
}

// checkRows compares rows by path.
func checkRows(t testing.TB, got, want map[trie.Path][]byte) {
	t.Helper()
	for p, row := range want {
		if string(got[p]) != string(row) {
			t.Errorf("row %v: %x, want %x", p, got[p], row)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("row %v: a branch that is not there", p)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// embedded counts the children in rows that are embedded: leaves, and others.
func embedded(t testing.TB, rows map[trie.Path][]byte) (leaves, branches int) {
	t.Helper()
	for _, row := range rows {
		b, err := trie.DecodeBranch(row)
		if err != nil {
			t.Fatal(err)
		}
		for x := range byte(16) {
			ref := b.Ref(x)
			switch {
			case len(ref) == 0 || ref[0] == 0xa0:
			case b.Sub>>x&1 != 0:
				branches++
			default:
				leaves++
			}
		}
	}
	return leaves, branches
}

// testHasher hashes by keccak.Sum, as if on many lanes, or by another Hasher: it spoils the padding
// of each message and checks what a Hasher may expect.
type testHasher struct {
	lanes           int
	by              keccak.Hasher // nil: keccak.Sum
	calls, messages int
	failed          int // messages against the rules
}

// testHashers are as if on 1, 4 and 8 lanes, and on the kernels that this machine has.
func testHashers() []*testHasher {
	hs := []*testHasher{{lanes: 1}, {lanes: 4}, {lanes: 8}}
	for _, lanes := range keccak.Widths() {
		hs = append(hs, &testHasher{lanes: lanes, by: keccak.NewLanes(lanes)})
	}
	return hs
}

// anyHasher draws one of testHashers.
func anyHasher(r *rand.Rand) *testHasher {
	hs := testHashers()
	return hs[r.IntN(len(hs))]
}

func (h *testHasher) Lanes() int { return h.lanes }

func (h *testHasher) Hash(ms []keccak.Message) {
	h.calls++
	h.messages += len(ms)
	for _, m := range ms {
		switch {
		case cap(m.Data) < keccak.PaddedLen(len(m.Data)) || len(m.Data) == 0:
			h.failed++
		case h.by == nil:
			*m.Out = keccak.Sum(m.Data)
		}
	}
	if h.by != nil {
		h.by.Hash(ms)
	}
	for _, m := range ms {
		padding := m.Data[len(m.Data):min(cap(m.Data), keccak.PaddedLen(len(m.Data)))]
		for i := range padding {
			padding[i] = 0xee
		}
	}
}

// keyPools makes sets of keys of several kinds, which random tries draw from.
var keyPools = []struct {
	name string
	key  func(r *rand.Rand, pre common.Hash) common.Hash
}{
	{"random", func(r *rand.Rand, _ common.Hash) common.Hash { return randomKey(r) }},
	{"shared prefixes", func(r *rand.Rand, pre common.Hash) common.Hash {
		k := randomKey(r)
		copy(k[:r.IntN(33)], pre[:])
		return k
	}},
	{"last nibbles", func(r *rand.Rand, pre common.Hash) common.Hash {
		pre[31], pre[30] = byte(r.Uint32()), byte(r.IntN(2))
		return pre
	}},
	{"few bits", func(r *rand.Rand, pre common.Hash) common.Hash {
		for range 3 {
			pre[r.IntN(32)] ^= 1 << r.IntN(8)
		}
		return pre
	}},
	{"last bytes", func(r *rand.Rand, pre common.Hash) common.Hash {
		pre[31-r.IntN(4)] = byte(r.Uint32())
		pre[31] = byte(r.Uint32())
		return pre
	}},
	{"dense at the top", func(r *rand.Rand, _ common.Hash) common.Hash {
		k := randomKey(r)
		k[0], k[1] = byte(r.IntN(4))<<4, 0
		return k
	}},
}

// keyPool draws about n keys of a random kind, in order.
func keyPool(r *rand.Rand, n int) []common.Hash {
	pre := randomKey(r)
	kind := keyPools[r.IntN(len(keyPools))]
	keys := make([]common.Hash, n)
	for i := range keys {
		keys[i] = kind.key(r, pre)
	}
	slices.SortFunc(keys, common.Hash.Cmp)
	return slices.Compact(keys)
}

// slotValue draws the RLP of a number of at most n bytes that is not zero.
func slotValue(r *rand.Rand, n int) []byte {
	v := make([]byte, 1+r.IntN(n))
	for i := range v {
		v[i] = byte(r.Uint32())
	}
	v[0] |= 1
	enc, _ := rlp.EncodeToBytes(v)
	return enc
}

// randomLeaves draws a trie: about n leaves, tiny values or all sizes.
func randomLeaves(r *rand.Rand, n int) map[common.Hash][]byte {
	leaves := make(map[common.Hash][]byte, n)
	size := []int{1, 2, 32, 120, 700}[r.IntN(5)]
	for _, k := range keyPool(r, n) {
		leaves[k] = slotValue(r, size)
	}
	return leaves
}

// filled returns a trie in memory, its rows built, and checked against go-ethereum.
func filled(t testing.TB, leaves map[common.Hash][]byte) (*trietest.Trie, common.Hash) {
	t.Helper()
	m := trietest.New()
	for k, v := range leaves {
		m.SetLeaf(k, v)
	}
	root, err := m.Build()
	if err != nil {
		t.Fatal(err)
	}
	wantRoot, wantRows := gethBuild(t, leaves)
	if root != wantRoot {
		t.Fatalf("root %x, want %x", root, wantRoot)
	}
	checkRows(t, m.Rows(), wantRows)
	return m, root
}

var effort = flag.Int("trie.effort", 1, "multiplies the number of random tries")

// seeds is the number of seeds to try.
func seeds(n int) uint64 { return uint64(n * *effort) }

var errInjected = errors.New("injected")

// failingSink fails at the call with number at, counted from 0.
type failingSink struct {
	trie.Sink
	at, calls int
	tag       uint32 // of the call that failed
	after     int    // calls with that tag since
}

func (s *failingSink) next(tag uint32) error {
	s.calls++
	if s.at >= 0 && s.calls-1 > s.at && tag == s.tag {
		s.after++
	}
	if s.calls-1 == s.at {
		s.tag = tag
		return fmt.Errorf("%w at call %d", errInjected, s.at)
	}
	return nil
}

func (s *failingSink) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	if err := s.next(tag); err != nil {
		return err
	}
	return s.Sink.PutBranch(tag, p, b)
}

func (s *failingSink) DeleteBranch(tag uint32, p trie.Path) error {
	if err := s.next(tag); err != nil {
		return err
	}
	return s.Sink.DeleteBranch(tag, p)
}

// failingReader fails at the call with number at, counted from 0.
type failingReader struct {
	trie.Reader
	at, calls int
}

func (f *failingReader) next() error {
	f.calls++
	if f.calls-1 == f.at {
		return fmt.Errorf("%w at call %d", errInjected, f.at)
	}
	return nil
}

func (f *failingReader) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	if err := f.next(); err != nil {
		return trie.Path{}, trie.Branch{}, false, err
	}
	return f.Reader.FirstBranch(p)
}

func (f *failingReader) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	if err := f.next(); err != nil {
		return common.Hash{}, nil, false, err
	}
	return f.Reader.FirstLeaf(p)
}

// noHasher hashes nothing: what is left is the rest of the work.
type noHasher struct{}

func (noHasher) Lanes() int            { return 1 }
func (noHasher) Hash([]keccak.Message) {}
