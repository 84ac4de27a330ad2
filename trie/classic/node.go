package classic

// node is a leaf, an extension or a branch, or a stored node, one of these three that was not read
// yet; nil is the empty subtree. Paths are nibbles, one a byte, counted from the parent's position.
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
	dst = appendListHeader(dst, hexPrefixStringLen(n.path)+stringLen(n.value))
	return appendString(appendHexPrefixString(dst, n.path, true), n.value)
}

func (n *extension) appendRLP(dst []byte) []byte {
	ref := n.child.ref.view()
	dst = appendListHeader(dst, hexPrefixStringLen(n.path)+len(ref))
	return append(appendHexPrefixString(dst, n.path, false), ref...)
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

// place puts a value into a branch that is being made, at a position that is free.
func (n *branch) place(path, value []byte) {
	if len(path) == 0 {
		n.value = value
		return
	}
	n.children[path[0]] = &leaf{path: path[1:], value: value}
}

// only returns the child that is alone in a branch that holds nothing else.
func (n *branch) only() (x int, alone bool) {
	count := 0
	for i, c := range n.children {
		if c != nil {
			x, count = i, count+1
		}
	}
	return x, n.value == nil && count == 1
}

// empty reports whether a branch has no children.
func (n *branch) empty() bool {
	for _, c := range n.children {
		if c != nil {
			return false
		}
	}
	return true
}

// prefixed returns the subtree n moved down by path. Nodes that hold a path take it up, so that
// no extension ends in anything but a branch. n is not a stored node.
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
