package trie

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Part is the top of a part of a trie whose rest is hashed: nothing (the zero Part), one leaf, or a
// branch. EndPart makes it of the leaves below one prefix, UpdatePart of one child of a root. It
// has its own memory, so it may go from one goroutine and Builder to another.
type Part struct {
	nibble byte // of UpdatePart
	kind   itemKind
	path   Path   // of a branch
	branch Branch // its row is written already
	key    common.Hash
	value  []byte // of a leaf
}

// Nibble is the child of the root that a part of UpdatePart stands for.
func (p *Part) Nibble() byte { return p.nibble }

// Empty reports whether the part has no leaf.
func (p *Part) Empty() bool { return p.kind == noItem }

// EndPart ends the open trie as a part of a larger one, so that the ranges of one trie can be built
// side by side, each by its own Builder. All keys of a part have a prefix that those of no other
// part have. Everything below the top is hashed when it returns and its rows are with the Sink;
// so is the row of the top itself where that is a branch. A part has no id. It returns why the
// trie failed, if it did.
func (b *Builder) EndPart() (Part, error) {
	if b.cur == nil {
		return Part{}, ErrNotBegun
	}
	p := b.endPart()
	err := b.cur.err
	b.cur = nil
	b.begun-- // nothing refers to it any more
	if err != nil {
		return Part{}, err
	}
	return p, nil
}

// AddPart adds what EndPart returned as the next item of the open trie, which may end as a part
// too. Parts come in ascending order of their keys, also between other items. The part is not
// changed, and not referred to when AddPart returns. Errors: as Leaf, ErrBadBranch.
func (b *Builder) AddPart(p *Part) error {
	switch p.kind {
	case leafItem:
		return b.Leaf(&p.key, p.value)
	case branchItem:
		return b.Subtree(p.path, p.branch)
	}
	return b.usable()
}

// UpdatePart applies cs, sorted by key and all beginning with nibble x, to child x of the root of
// the trie that r gives; root is the trie's row at the root path. The rows below the root go to
// the Sink with tag. Everything it makes is hashed when it returns. The parts of one trie may be
// made side by side, each by its own Updater with its own Reader and Sink. Errors: as Update.
func (u *Updater) UpdatePart(tag uint32, r Reader, root Branch, x byte, cs []Change) (Part, error) {
	b := u.b
	b.Begin(tag)
	b.reader = r
	if err := u.walkPart(root, x, cs); err != nil {
		b.Abort(err)
	}
	p, err := b.EndPart()
	b.reader = nil
	if err != nil {
		return Part{}, err
	}
	p.nibble = x
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

// endPart ends the items of the open trie, hashes what is below its top, and gives the top.
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
		n.trie, n.path = b.cur, b.key
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
		p.kind, p.key = leafItem, b.key
		p.value = bytes.Clone(b.heldValue())
	}
	if n != nil && p.kind != noItem {
		b.nodes.release(n)
	}
	return p
}

// part copies branch n.
func (n *node) part(kind itemKind) Part {
	p := Part{kind: kind, path: PathOf(n.path, int(n.depth)), branch: n.branch(new([maxRefsLen]byte))}
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
	case p != nil:
		return u.b.AddPart(p)
	case len(ref) > 0:
		return u.b.Ref(Path{}.Child(x), ref, sub)
	}
	return nil
}
