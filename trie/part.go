package trie

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Part is what UpdatePart left of one child of a trie's root: nothing, one leaf, or a branch. It
// has its own memory, so it may go from one goroutine and Updater to another.
type Part struct {
	nibble byte
	kind   itemKind
	path   Path   // of a branch
	branch Branch // its row is written already
	key    common.Hash
	value  []byte // of a leaf
}

// Nibble is the child of the root that the part stands for.
func (p *Part) Nibble() byte { return p.nibble }

// UpdatePart applies cs, sorted by key and all beginning with nibble x, to child x of the root of
// the trie that r gives; root is the trie's row at the root path. The rows below the root go to
// the Sink with tag. Everything it makes is hashed when it returns. The parts of one trie may be
// made side by side, each by its own Updater with its own Reader and Sink. Errors: as Update.
func (u *Updater) UpdatePart(tag uint32, r Reader, root Branch, x byte, cs []Change) (Part, error) {
	b := u.b
	b.Begin(tag)
	b.reader = r
	err := u.walkPart(root, x, cs)
	if err != nil {
		b.Abort(err)
	}
	p := b.endPart()
	p.nibble = x
	err = b.cur.err
	b.cur = nil
	b.begun-- // nothing refers to it any more
	b.reader = nil
	if err != nil {
		return Part{}, err
	}
	return p, nil
}

func (u *Updater) walkPart(root Branch, x byte, cs []Change) error {
	if x > 15 {
		return fmt.Errorf("%w: nibble %d", ErrBadPath, x)
	}
	if err := root.check(); err != nil {
		return fmt.Errorf("branch root: %w", err)
	}
	if err := checkChanges(cs); err != nil {
		return err
	}
	p := Path{}.Child(x)
	for _, i := range []int{0, len(cs) - 1} {
		if i >= 0 && i < len(cs) && !p.HasKey(&cs[i].Key) {
			return fmt.Errorf("%w: change of %v outside of %v", ErrKeyOrder, cs[i].Key, p)
		}
	}
	if len(cs) > 0 {
		return u.child(p, &root, cs)
	}
	if ref := root.Ref(x); ref != nil {
		return u.b.Ref(p, ref, root.Sub>>x&1 != 0)
	}
	return nil
}

// endPart ends the open trie, which is one child of a root, hashes it, and gives its top.
func (b *Builder) endPart() Part {
	if b.cur.err == nil && b.top > 0 {
		if b.last.kind != placedItem {
			b.place(b.stack[b.top])
		}
		for b.top > 1 {
			c := b.pop()
			b.close(c, b.stack[b.top])
		}
	}
	b.flush()
	var p Part
	if b.cur.err == nil {
		p = b.partTop()
	}
	if b.cur.err != nil {
		b.drop()
		b.flush()
	}
	b.last.kind = noItem
	return p
}

// partTop takes the top of a hashed part out of the builder.
func (b *Builder) partTop() Part {
	if b.top > 0 {
		n := b.pop()
		n.trie, n.path = b.cur, PathOf(b.key, int(n.depth)).Key
		if b.sink != nil {
			b.put(n)
		}
		p := n.part(branchItem)
		b.nodes.release(n)
		return p
	}
	if b.last.kind == refItem {
		if err := b.resolve(); err != nil {
			b.failBuild(b.cur, err)
			return Part{}
		}
	}
	n, p := b.last.node, Part{}
	switch b.last.kind {
	case branchItem:
		n.path = b.key
		p = n.part(branchItem)
	case leafItem:
		buf := b.large
		if n != nil {
			buf = n.buf[:]
		}
		p.kind, p.key = leafItem, b.key
		p.value = bytes.Clone(buf[valueAt : valueAt+b.last.valueLen])
	}
	if n != nil && p.kind != noItem {
		b.nodes.release(n)
	}
	return p
}

// part copies branch n.
func (n *node) part(kind itemKind) Part {
	p := Part{kind: kind, path: Path{n.path, int(n.depth)}, branch: n.branch(nil)}
	p.branch.Refs = bytes.Clone(p.branch.Refs)
	return p
}

// JoinParts makes the root of a trie from the parts of the children that have changes; the others
// stay as root, the trie's row at the root path, has them. It writes or deletes the root row. It
// returns the id for Root and Err, and why the trie failed, if it did. Errors: as Update;
// ErrDuplicateKey for two parts of one child.
func (u *Updater) JoinParts(tag uint32, r Reader, root Branch, parts []Part) (id int, err error) {
	u.b.Begin(tag)
	u.b.reader = r
	if err := u.join(root, parts); err != nil {
		u.b.Abort(err)
	}
	id, err = u.b.End()
	u.b.reader = nil
	return id, err
}

func (u *Updater) join(root Branch, parts []Part) error {
	if len(parts) == 0 {
		return u.b.Subtree(Path{}, root)
	}
	if err := root.check(); err != nil {
		return fmt.Errorf("branch root: %w", err)
	}
	var byNibble [16]*Part
	for i := range parts {
		x := parts[i].nibble
		if x > 15 || byNibble[x] != nil {
			return fmt.Errorf("%w: two parts of child %x", ErrDuplicateKey, x)
		}
		byNibble[x] = &parts[i]
	}
	before, rest := u.b.items, root.Refs
	for x := range byte(16) {
		ref := rest[:0]
		if root.Mask>>x&1 != 0 {
			ref = rest[:refLen(rest)]
			rest = rest[len(ref):]
		}
		if err := u.joinChild(x, ref, root.Sub>>x&1 != 0, byNibble[x]); err != nil {
			return err
		}
	}
	return u.settle(Path{}, before)
}

func (u *Updater) joinChild(x byte, ref []byte, sub bool, p *Part) error {
	switch {
	case p == nil && len(ref) == 0:
		return nil
	case p == nil:
		return u.b.Ref(Path{}.Child(x), ref, sub)
	case p.kind == leafItem:
		return u.b.Leaf(&p.key, p.value)
	case p.kind == branchItem:
		return u.b.Subtree(p.path, p.branch)
	}
	return nil
}
