package classic

import "bytes"

// node is a leaf, an extension or a branch; nil is the empty subtree. Paths are nibbles, one a
// byte, counted from the parent's position.
type node interface {
	// cache returns the place where the node keeps its reference.
	cache() *reference
	// appendRLP appends the node's encoding. The references of its children are valid.
	appendRLP(dst []byte) []byte
}

// reference is what a parent's encoding holds for a node (Yellow Paper, appendix D, function n):
// the node's RLP where that is shorter than 32 bytes, else 0xa0 and its hash. An empty one is not
// computed yet.
type reference struct {
	bytes [33]byte
	size  uint8
}

func (r *reference) known() bool { return r.size != 0 }
func (r *reference) forget()     { r.size = 0 }
func (r *reference) isHash() bool {
	return r.size == 33
}
func (r *reference) view() []byte { return r.bytes[:r.size] }

// leaf holds a value and the rest of its key.
type leaf struct {
	path  []byte
	value []byte
	ref   reference
}

// extension is the shared path of all keys below it; what lies below is always a branch.
type extension struct {
	path  []byte
	child *branch
	ref   reference
}

// branch has at least two of: sixteen children, and the value of the key that ends here.
type branch struct {
	children [16]node
	value    []byte
	ref      reference
}

func (n *leaf) cache() *reference      { return &n.ref }
func (n *extension) cache() *reference { return &n.ref }
func (n *branch) cache() *reference    { return &n.ref }

func (n *leaf) appendRLP(dst []byte) []byte {
	key := hexPrefix(n.path, true)
	dst = appendListHeader(dst, stringLen(key)+stringLen(n.value))
	return appendString(appendString(dst, key), n.value)
}

func (n *extension) appendRLP(dst []byte) []byte {
	key := hexPrefix(n.path, false)
	ref := n.child.ref.view()
	dst = appendListHeader(dst, stringLen(key)+len(ref))
	return append(appendString(dst, key), ref...)
}

func (n *branch) appendRLP(dst []byte) []byte {
	size := stringLen(n.value)
	for _, c := range n.children {
		if c == nil {
			size++
		} else {
			size += int(c.cache().size)
		}
	}
	dst = appendListHeader(dst, size)
	for _, c := range n.children {
		if c == nil {
			dst = append(dst, 0x80)
		} else {
			dst = append(dst, c.cache().view()...)
		}
	}
	return appendString(dst, n.value)
}

// put returns the subtree n with value at path, and whether that changed anything.
func put(n node, path, value []byte) (node, bool) {
	switch n := n.(type) {
	case *leaf:
		m := commonPrefix(n.path, path)
		if m == len(n.path) && m == len(path) {
			if bytes.Equal(n.value, value) {
				return n, false
			}
			n.value = value
			n.ref.forget()
			return n, true
		}
		fork := new(branch)
		fork.place(n.path[m:], n.value)
		fork.place(path[m:], value)
		return prefixed(path[:m], fork), true
	case *extension:
		m := commonPrefix(n.path, path)
		if m == len(n.path) {
			if !n.child.put(path[m:], value) {
				return n, false
			}
			n.ref.forget()
			return n, true
		}
		fork := new(branch)
		fork.children[n.path[m]] = prefixed(n.path[m+1:], n.child)
		fork.place(path[m:], value)
		return prefixed(path[:m], fork), true
	case *branch:
		return n, n.put(path, value)
	default:
		return &leaf{path: path, value: value}, true
	}
}

// put is the function put for a branch, which stays where it is.
func (n *branch) put(path, value []byte) (changed bool) {
	if len(path) == 0 {
		changed = !bytes.Equal(n.value, value)
		n.value = value
	} else {
		n.children[path[0]], changed = put(n.children[path[0]], path[1:], value)
	}
	if changed {
		n.ref.forget()
	}
	return changed
}

// place puts a value into a branch that is being made, at a position that is free.
func (n *branch) place(path, value []byte) {
	if len(path) == 0 {
		n.value = value
		return
	}
	n.children[path[0]] = &leaf{path: path[1:], value: value}
}

// remove returns the subtree n without the key at path, and whether the key was there.
func remove(n node, path []byte) (node, bool) {
	switch n := n.(type) {
	case *leaf:
		if !bytes.Equal(n.path, path) {
			return n, false
		}
		return nil, true
	case *extension:
		if !bytes.HasPrefix(path, n.path) {
			return n, false
		}
		below, changed := remove(n.child, path[len(n.path):])
		if !changed {
			return n, false
		}
		return prefixed(n.path, below), true
	case *branch:
		if len(path) == 0 {
			if n.value == nil {
				return n, false
			}
			n.value = nil
		} else {
			below, changed := remove(n.children[path[0]], path[1:])
			if !changed {
				return n, false
			}
			n.children[path[0]] = below
		}
		n.ref.forget()
		return n.collapsed(), true
	default:
		return nil, false
	}
}

// collapsed returns what stands for a branch that has lost an entry: the branch, or what remains
// of it where only one entry does.
func (n *branch) collapsed() node {
	last, count := 0, 0
	for x, c := range n.children {
		if c != nil {
			last, count = x, count+1
		}
	}
	switch {
	case n.value != nil && count == 0:
		return &leaf{value: n.value}
	case n.value == nil && count == 1:
		return prefixed([]byte{byte(last)}, n.children[last])
	default:
		return n
	}
}

// prefixed returns the subtree n moved down by path. Nodes that hold a path take it up, so that
// no extension ends in anything but a branch.
func prefixed(path []byte, n node) node {
	if len(path) == 0 {
		return n
	}
	switch n := n.(type) {
	case *leaf:
		return &leaf{path: joined(path, n.path), value: n.value}
	case *extension:
		return &extension{path: joined(path, n.path), child: n.child}
	case *branch:
		return &extension{path: path, child: n}
	default:
		return nil
	}
}

func joined(a, b []byte) []byte {
	return append(append(make([]byte, 0, len(a)+len(b)), a...), b...)
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
