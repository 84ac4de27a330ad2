package classic

import (
	"bytes"
	"fmt"
)

// tree is a trie's nodes, and what changes and hashes them. Nodes that nothing asked for yet are in
// its source.
type tree struct {
	root   node
	source Source // nil: all nodes are in memory
	hasher keccak
	buf    []byte // the encoding of the node that is being hashed
}

// change is one key's change on its way down.
type change struct {
	path  []byte // the whole key
	value []byte // empty: the key is removed
	// before is the value that the trie has, if checked; nil: none.
	before  []byte
	checked bool
}

// begins says why the trie's value cannot be what c begins with.
func (c *change) begins(value []byte) error {
	if !c.checked || bytes.Equal(c.before, value) {
		return nil
	}
	return fmt.Errorf("%w: key %x", ErrStale, packed(c.path))
}

// apply makes the change.
func (t *tree) apply(c *change) (err error) {
	if len(c.value) == 0 {
		t.root, _, err = t.remove(t.root, 0, c)
	} else {
		t.root, _, err = t.put(t.root, 0, c)
	}
	return err
}

// put returns the subtree n, whose position is the first at nibbles of the change's path, with the
// change's value, and whether that changed anything.
func (t *tree) put(n node, at int, c *change) (node, bool, error) {
	path := c.path[at:]
	switch n := n.(type) {
	case *stored:
		read, err := t.resolve(n, c.path[:at], c)
		if err != nil {
			return n, false, err
		}
		return t.put(read, at, c)
	case *leaf:
		return putBeside(n, path, c)
	case *extension:
		m := commonPrefix(n.path, path)
		if m == len(n.path) {
			changed, err := t.putBelow(n.child, at+m, c)
			if changed {
				n.ref.forget()
			}
			return n, changed, err
		}
		if err := c.begins(nil); err != nil {
			return n, false, err
		}
		fork := new(branch)
		fork.children[n.path[m]] = prefixed(n.path[m+1:], n.child)
		fork.place(path[m:], c.value)
		return prefixed(path[:m], fork), true, nil
	case *branch:
		changed, err := t.putBelow(n, at, c)
		return n, changed, err
	default:
		return &leaf{path: path, value: c.value}, true, c.begins(nil)
	}
}

// putBeside is put where the subtree is a leaf.
func putBeside(n *leaf, path []byte, c *change) (node, bool, error) {
	m := commonPrefix(n.path, path)
	if m == len(n.path) && m == len(path) {
		if err := c.begins(n.value); err != nil || bytes.Equal(n.value, c.value) {
			return n, false, err
		}
		n.value = c.value
		n.ref.forget()
		return n, true, nil
	}
	if err := c.begins(nil); err != nil {
		return n, false, err
	}
	fork := new(branch)
	fork.place(n.path[m:], n.value)
	fork.place(path[m:], c.value)
	return prefixed(path[:m], fork), true, nil
}

// putBelow is put for a branch, which stays where it is.
func (t *tree) putBelow(n *branch, at int, c *change) (changed bool, err error) {
	if at == len(c.path) {
		if err := c.begins(n.value); err != nil {
			return false, err
		}
		changed = !bytes.Equal(n.value, c.value)
		n.value = c.value
	} else {
		x := c.path[at]
		n.children[x], changed, err = t.put(n.children[x], at+1, c)
	}
	if changed {
		n.ref.forget()
	}
	return changed, err
}

// remove returns the subtree n, whose position is the first at nibbles of the change's path,
// without that key, and whether the key was there.
func (t *tree) remove(n node, at int, c *change) (node, bool, error) {
	path := c.path[at:]
	switch n := n.(type) {
	case *stored:
		read, err := t.resolve(n, c.path[:at], c)
		if err != nil {
			return n, false, err
		}
		return t.remove(read, at, c)
	case *leaf:
		if !bytes.Equal(n.path, path) {
			return n, false, c.begins(nil)
		}
		if err := c.begins(n.value); err != nil {
			return n, false, err
		}
		return nil, true, nil
	case *extension:
		if !bytes.HasPrefix(path, n.path) {
			return n, false, c.begins(nil)
		}
		below, changed, err := t.removeBelow(n.child, at+len(n.path), c)
		if err != nil || !changed {
			return n, false, err
		}
		return prefixed(n.path, below), true, nil
	case *branch:
		return t.removeBelow(n, at, c)
	default:
		return nil, false, c.begins(nil)
	}
}

// removeBelow is remove for a branch. It returns the branch, or what stands for one that holds a
// single entry then.
func (t *tree) removeBelow(n *branch, at int, c *change) (node, bool, error) {
	if at == len(c.path) {
		if err := c.begins(n.value); err != nil || n.value == nil {
			return n, false, err
		}
		n.value = nil
	} else {
		x := c.path[at]
		below, changed, err := t.remove(n.children[x], at+1, c)
		n.children[x] = below
		if err != nil || !changed {
			return n, false, err
		}
	}
	n.ref.forget()
	if n.value != nil && n.empty() {
		return &leaf{value: n.value}, true, nil
	}
	x, alone := n.only()
	if !alone {
		return n, true, nil
	}
	last := n.children[x]
	step := []byte{byte(x)}
	if s, ok := last.(*stored); ok {
		var err error
		if last, err = t.resolve(s, joined(c.path[:at], step), nil); err != nil {
			return n, false, err
		}
	}
	return prefixed(step, last), true, nil
}

// refer makes the references of n and of all nodes below it known.
func (t *tree) refer(n node) {
	ref := n.cache()
	if ref.known() {
		return
	}
	switch n := n.(type) {
	case *extension:
		t.refer(n.child)
	case *branch:
		for _, c := range n.children {
			if c != nil {
				t.refer(c)
			}
		}
	}
	t.buf = n.appendRLP(t.buf[:0])
	if len(t.buf) < 32 {
		ref.size = uint8(copy(ref.bytes[:], t.buf))
		return
	}
	ref.bytes[0] = 0xa0
	h := t.keccak256(t.buf)
	copy(ref.bytes[1:], h[:])
	ref.size = 33
}
