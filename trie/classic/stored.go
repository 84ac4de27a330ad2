package classic

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/ethereum/go-ethereum/common"
)

// keyNibbles is the length of every key of a stored trie, in nibbles.
const keyNibbles = 2 * common.HashLength

// Source gives a stored trie of 32-byte keys: the records of its branches, and its leaves. Leaves
// and extensions have no records of their own. Paths are nibbles, one a byte. What it returns stays
// unchanged while the trie is in use.
type Source interface {
	// Branch returns the first branch, depth first, whose path has the given prefix; false if there
	// is none.
	Branch(prefix []byte) (path []byte, r Record, ok bool, err error)
	// Leaf returns the leaf with the least key below prefix; false if there is none. The value is
	// as the trie holds it.
	Leaf(prefix []byte) (key common.Hash, value []byte, ok bool, err error)
}

// Record is a stored branch.
type Record struct {
	// Mask has bit x set where child x exists. Sub has bit x set where there is a branch at or below
	// child x; elsewhere the child is a leaf.
	Mask, Sub uint16
	// Refs are the references of the children, ascending and back to back, as the branch's RLP has
	// them.
	Refs []byte
}

// Stored is a trie whose nodes come from a Source as they are needed. Each node that is read must
// encode to the reference that its parent has for it, up to the root that the trie was opened at.
//
// It is for one goroutine. After an error every further call returns that error.
type Stored struct {
	tree
	err error
}

// Open opens the trie with the given root. The empty root needs no reading.
func Open(root common.Hash, s Source) (*Stored, error) {
	t := &Stored{tree: tree{source: s, hasher: newKeccak()}}
	if root == t.hash() { // of a trie without nodes
		return t, nil
	}
	n, err := t.read(nil, nil, true)
	if err != nil {
		return nil, err
	}
	t.root = n
	if got := t.hash(); got != root {
		return nil, fmt.Errorf("%w: its root is %x, not %x", ErrContradiction, got, root)
	}
	return t, nil
}

// Get returns the value of key, nil where there is none. The caller must not change it.
func (t *Stored) Get(key common.Hash) ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	value, err := t.get(nibblesOf(key[:]))
	t.err = err
	return value, err
}

// Change changes the value of key from before to after; of both, nothing means that the key is
// absent. ErrStale where the trie has another value than before. The trie keeps both.
func (t *Stored) Change(key common.Hash, before, after []byte) error {
	if t.err == nil {
		t.err = t.apply(&change{
			path: nibblesOf(key[:]), value: after, before: before, checked: true,
		})
	}
	return t.err
}

// Hash returns the root hash. It costs one Keccak-256 a node that changed since the last call.
func (t *Stored) Hash() (common.Hash, error) {
	if t.err != nil {
		return common.Hash{}, t.err
	}
	return t.hash(), nil
}

// stored is a node that was not read yet. What is known of it is what its parent's record says.
type stored struct {
	ref reference
	sub bool // it is, or has below it, a branch; else it is a leaf
}

func (n *stored) cache() *reference           { return &n.ref }
func (n *stored) appendRLP(dst []byte) []byte { return append(dst, n.ref.view()...) }

// resolve reads the node n at path prefix. A change on its way to a leaf knows the value that it
// should find there, which needs no reading if the reference agrees.
func (t *tree) resolve(n *stored, prefix []byte, c *change) (node, error) {
	if !n.sub && c != nil && c.checked && len(c.before) > 0 {
		guess := &leaf{path: c.path[len(prefix):], value: c.before}
		t.refer(guess)
		if guess.ref == n.ref {
			return guess, nil
		}
	}
	read, err := t.read(prefix, n, false)
	if err != nil {
		return nil, err
	}
	t.refer(read)
	if ref := read.cache(); !bytes.Equal(ref.view(), n.ref.view()) {
		return nil, fmt.Errorf("%w: the node at %x encodes to %x, its parent has %x",
			ErrContradiction, prefix, ref.view(), n.ref.view())
	}
	return read, nil
}

// read makes the node at prefix of what the source has there: what its parent's record says of it,
// or, with the root, whatever there is.
func (t *tree) read(prefix []byte, n *stored, root bool) (node, error) {
	if root || n.sub {
		path, r, ok, err := t.source.Branch(prefix)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return branchAt(prefix, path, &r)
		case !root:
			return nil, fmt.Errorf("%w: no branch below %x", ErrContradiction, prefix)
		}
	}
	key, value, ok, err := t.source.Leaf(prefix)
	if err != nil {
		return nil, err
	}
	path := nibblesOf(key[:])
	if !ok || len(value) == 0 || !bytes.HasPrefix(path, prefix) {
		return nil, fmt.Errorf("%w: no leaf below %x", ErrContradiction, prefix)
	}
	return &leaf{path: path[len(prefix):], value: value}, nil
}

// branchAt makes the node at prefix of the branch at path: the branch, or an extension above it.
func branchAt(prefix, path []byte, r *Record) (node, error) {
	if len(path) >= keyNibbles || !bytes.HasPrefix(path, prefix) {
		return nil, fmt.Errorf("%w: the branch below %x lies at %x",
			ErrContradiction, prefix, path)
	}
	b, err := r.branch()
	if err != nil {
		return nil, fmt.Errorf("the branch at %x: %w", path, err)
	}
	return prefixed(bytes.Clone(path[len(prefix):]), b), nil
}

// branch makes a branch of a record, its children unread.
func (r *Record) branch() (*branch, error) {
	if bits.OnesCount16(r.Mask) < 2 || r.Sub&^r.Mask != 0 {
		return nil, fmt.Errorf("%w: children %016b, branches %016b", ErrContradiction, r.Mask, r.Sub)
	}
	b := new(branch)
	children := make([]stored, bits.OnesCount16(r.Mask))
	refs := r.Refs
	for x := range b.children {
		if r.Mask>>x&1 == 0 {
			continue
		}
		size := refSize(refs)
		if size == 0 {
			return nil, fmt.Errorf("%w: the reference of child %x", ErrContradiction, x)
		}
		c := &children[0]
		children = children[1:]
		c.ref.size = uint8(copy(c.ref.bytes[:], refs[:size]))
		c.sub = r.Sub>>x&1 != 0
		b.children[x] = c
		refs = refs[size:]
	}
	if len(refs) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the references", ErrContradiction, len(refs))
	}
	return b, nil
}

// refSize is the size of the reference that b begins with: a hash, or a list shorter than 32 bytes.
// 0: neither.
func refSize(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == 0xa0 && len(b) >= 33:
		return 33
	case b[0] > 0xc0 && b[0] < 0xc0+31 && len(b) > int(b[0]-0xc0):
		return 1 + int(b[0]-0xc0)
	}
	return 0
}
