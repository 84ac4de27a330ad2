package trie

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// maxRangeNodes is the most nodes two paths can have.
const maxRangeNodes = 2 * maxPathNodes

// rangeBuilders saves making a builder, with its pool of nodes, for each range.
var rangeBuilders = sync.Pool{New: func() any { return NewBuilder(Options{}) }}

// VerifyRange checks that keys and values are all leaves of the trie with the given root from
// start to the last key, as snap/1 sends them (AccountRange and StorageRanges). more says that the
// trie has leaves behind the last key.
//
//   - keys are strictly ascending, none below start; values are as the trie holds them (for an
//     account the consensus RLP, not the slim form of the wire), none empty; one value a key.
//   - An empty proof says that the leaves are the whole trie; more is false.
//   - A proof without keys shows that the trie has no leaf at or behind start.
//   - Otherwise the proof holds the nodes on the paths to start and to the last key, in any
//     order; nodes that are not needed are ignored, up to 130 nodes in all.
//
// Anything else gives ErrBadProof; bad input never panics.
//
// The proof's nodes cut the trie at the range's edges. What lies wholly outside goes into a
// builder as an opaque reference, what lies wholly inside is left out, and the leaves take its
// place. The builder then gives the root only if the leaves are exactly what was left out: a
// missing or a foreign leaf changes a node's encoding, and with it every hash above.
//
// Where go-ethereum's trie.VerifyRangeProof wants the whole paths to start and to the last key,
// this function wants a node only where its subtree lies partly inside the range: below a node
// that lies wholly inside, the leaves prove everything. So it takes some proofs that go-ethereum
// refuses for missing nodes, but none whose leaves are not the trie's. It also takes the node 0x80
// for an empty trie. It refuses what go-ethereum lets pass in nodes that no trie with 32-byte keys
// can hold, and leaves below start in a range without a proof.
func VerifyRange(root, start common.Hash, keys []common.Hash, values, proof [][]byte,
) (more bool, err error) {
	if err := checkLeaves(start, keys, values); err != nil {
		return false, err
	}
	if len(proof) > maxRangeNodes {
		return false, fmt.Errorf("%w: %d nodes", ErrBadProof, len(proof))
	}
	if root == EmptyRoot {
		if len(keys) > 0 || len(proof) > 1 || len(proof) == 1 && string(proof[0]) != emptyNode {
			return false, fmt.Errorf("%w: leaves or nodes for the empty root", ErrBadProof)
		}
		return false, nil
	}
	b := rangeBuilders.Get().(*Builder)
	defer func() {
		b.Reset()
		rangeBuilders.Put(b)
	}()
	b.Begin(0)
	v := rangeCut{start: start, keys: keys, values: values, b: b}
	if len(proof) > 0 {
		v.last = common.MaxHash
		if len(keys) > 0 {
			v.last = keys[len(keys)-1]
		}
		v.nodes = make(map[common.Hash][]byte, len(proof))
		for _, raw := range proof {
			v.nodes[keccak.Sum(raw)] = raw
		}
		done, err := v.root(root)
		if err != nil || done {
			return false, err
		}
	}
	if err := v.finish(root); err != nil {
		return false, err
	}
	return v.more, nil
}

// checkLeaves checks what can be said of a range's leaves without the trie.
func checkLeaves(start common.Hash, keys []common.Hash, values [][]byte) error {
	if len(keys) != len(values) {
		return fmt.Errorf("%w: %d keys and %d values", ErrBadProof, len(keys), len(values))
	}
	for i := range keys {
		switch {
		case i > 0 && keys[i] == keys[i-1]:
			return fmt.Errorf("%w: %w: %x", ErrBadProof, ErrDuplicateKey, keys[i])
		case i > 0 && bytes.Compare(keys[i][:], keys[i-1][:]) < 0:
			return fmt.Errorf("%w: %w: %x", ErrBadProof, ErrKeyOrder, keys[i])
		case len(values[i]) == 0:
			return fmt.Errorf("%w: %w: %x", ErrBadProof, ErrEmptyValue, keys[i])
		}
	}
	if len(keys) > 0 && bytes.Compare(keys[0][:], start[:]) < 0 {
		return fmt.Errorf("%w: key %x lies below the start %x", ErrBadProof, keys[0], start)
	}
	return nil
}

// rangeCut is a trie cut at the edges of a range, on its way into a builder.
type rangeCut struct {
	start, last common.Hash // both belong to the range
	keys        []common.Hash
	values      [][]byte
	nodes       map[common.Hash][]byte
	b           *Builder
	filled      bool // the builder has the leaves
	more        bool // something lies behind the range
}

// side says where a subtree or a leaf lies.
type side uint8

const (
	before side = iota
	inside
	behind
	across // only a subtree: partly inside
)

// sideOf says where the subtree at path p lies, by the interval of keys that p leads to.
func (v *rangeCut) sideOf(p Path) side {
	first, final := p.Key, lastKey(p)
	switch {
	case bytes.Compare(final[:], v.start[:]) < 0:
		return before
	case bytes.Compare(first[:], v.last[:]) > 0:
		return behind
	case bytes.Compare(first[:], v.start[:]) >= 0 && bytes.Compare(final[:], v.last[:]) <= 0:
		return inside
	default:
		return across
	}
}

// lastKey returns the greatest key with prefix p: the rest of p is f.
func lastKey(p Path) common.Hash {
	k := p.Key
	for i := p.Len; i < keyNibbles; i++ {
		if i%2 == 0 {
			k[i/2] |= 0xf0
		} else {
			k[i/2] |= 0x0f
		}
	}
	return k
}

// root cuts the trie from its root node on. done says that the root node settles the matter: the
// trie's only child lies before a range that has no leaves.
func (v *rangeCut) root(hash common.Hash) (done bool, err error) {
	if v.sideOf(Path{}) == inside {
		return false, nil // from 00..00 to ff..ff: the leaves are the whole trie
	}
	n, err := v.node(Path{}, hash[:])
	if err != nil {
		return false, err
	}
	if n.kind != proofExtension || v.sideOf(n.path) == inside || v.sideOf(n.path) == across {
		return false, v.cut(Path{}, nil, &n)
	}
	// No branch above the extension could hold its reference, and none is needed: every key of
	// the trie lies below it, outside the range.
	if len(v.keys) > 0 {
		return false, fmt.Errorf("%w: no key of the trie lies in the range", ErrBadProof)
	}
	return true, nil
}

// node looks up the node at path p by its hash and decodes it.
func (v *rangeCut) node(p Path, hash []byte) (proofNode, error) {
	raw, ok := v.nodes[common.Hash(hash)]
	if !ok {
		return proofNode{}, fmt.Errorf("%w: node %x at path %v is missing", ErrBadProof, hash, p)
	}
	if p.Len > 0 && len(raw) < common.HashLength {
		return proofNode{}, badNode(p, "a node that should be embedded")
	}
	return decodeNode(p, raw)
}

// subtree cuts the subtree at path p, which its parent refers to by ref.
func (v *rangeCut) subtree(p Path, ref []byte) error {
	switch s := v.sideOf(p); s {
	case inside:
		return nil
	case across:
		n, err := v.resolve(p, ref)
		if err != nil {
			return err
		}
		return v.cut(p, ref, &n)
	default:
		return v.outside(s, p, ref)
	}
}

// resolve decodes the node at path p from its reference.
func (v *rangeCut) resolve(p Path, ref []byte) (proofNode, error) {
	if isHashRef(ref) {
		return v.node(p, ref[1:])
	}
	return decodeNode(p, ref)
}

// cut cuts the node n at path p, whose subtree lies across an edge of the range.
func (v *rangeCut) cut(p Path, ref []byte, n *proofNode) error {
	switch n.kind {
	case proofLeaf:
		return v.leaf(n.path.Key, n.value)
	case proofExtension:
		return v.extension(p, ref, n)
	default:
		for x, child := range n.refs {
			if child == nil {
				continue
			}
			if err := v.subtree(p.Child(byte(x)), child); err != nil {
				return err
			}
		}
		return nil
	}
}

// leaf keeps a leaf of the proof that lies outside the range. One inside must be among the leaves
// of the range, which take its place.
func (v *rangeCut) leaf(key common.Hash, value []byte) error {
	switch {
	case bytes.Compare(key[:], v.start[:]) < 0:
	case bytes.Compare(key[:], v.last[:]) > 0:
		if err := v.fill(); err != nil {
			return err
		}
		v.more = true
	default:
		return nil
	}
	return badRange(v.b.Leaf(&key, value))
}

// extension cuts the extension n at path p by what really lies below it.
func (v *rangeCut) extension(p Path, ref []byte, n *proofNode) error {
	switch s := v.sideOf(n.path); s {
	case inside:
		return nil
	case across:
		below, err := v.resolve(n.path, n.refs[0])
		if err != nil {
			return err
		}
		if below.kind != proofBranch {
			return badNode(n.path, "an extension above no branch")
		}
		return v.cut(n.path, n.refs[0], &below)
	default:
		return v.outside(s, p, ref)
	}
}

// outside keeps the subtree at path p, which lies outside the range, as its parent has it. No leaf
// of the range may lie below p, in what an extension there leaves free.
func (v *rangeCut) outside(s side, p Path, ref []byte) error {
	if s == behind {
		if err := v.fill(); err != nil {
			return err
		}
		v.more = true
	}
	for _, i := range [2]int{0, len(v.keys) - 1} {
		if i >= 0 && i < len(v.keys) && p.HasKey(&v.keys[i]) {
			return fmt.Errorf("%w: key %x is not in the trie", ErrBadProof, v.keys[i])
		}
	}
	branch := true // below a hash nobody knows, and nothing here hangs on it
	if !isHashRef(ref) {
		branch, _ = embeddedKind(ref)
	}
	return badRange(v.b.Ref(p, ref, branch))
}

// fill gives the builder the leaves of the range, once.
func (v *rangeCut) fill() error {
	if v.filled {
		return nil
	}
	v.filled = true
	for i := range v.keys {
		if err := v.b.Leaf(&v.keys[i], v.values[i]); err != nil {
			return badRange(err)
		}
	}
	return nil
}

// finish ends the build and compares the root.
func (v *rangeCut) finish(want common.Hash) error {
	if err := v.fill(); err != nil {
		return err
	}
	id, err := v.b.End()
	if err != nil {
		return badRange(err)
	}
	if err := v.b.Flush(); err != nil {
		return err
	}
	if got := v.b.Root(id); got != want {
		return fmt.Errorf("%w: the range gives root %x, want %x", ErrBadProof, got, want)
	}
	return nil
}

// badRange marks an error of the builder as the range's.
func badRange(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrBadProof, err)
}
