package trie

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// advance makes way for an item whose key or path has n nibbles: it places the item before it and
// closes the branches that the new one lies outside of. Unless it is the trie's first, the new
// item then belongs below the top of the stack. It fails the trie where the item is out of order.
func (b *Builder) advance(key *common.Hash, n int) bool {
	b.items++
	if b.last.kind != noItem {
		l, ascends := parting(&b.key, key)
		if !ascends || l >= min(n, b.last.pathLen) {
			b.fail(b.orderError(key, n, l))
			return false
		}
		b.part(l)
	}
	copyHash(&b.key, key)
	return true
}

func (b *Builder) orderError(key *common.Hash, n, l int) error {
	before, at := Path{b.key, b.last.pathLen}, Path{*key, n}
	if l == keyNibbles && n == l && b.last.pathLen == l {
		return fmt.Errorf("%w: %v", ErrDuplicateKey, at)
	}
	return fmt.Errorf("%w: %v behind %v", ErrKeyOrder, at, before)
}

// part ends what lies before an item that shares l nibbles with the last one. The branch at which
// they part, at depth l, is then the top of the stack.
func (b *Builder) part(l int) {
	top := b.stack[b.top]
	if b.last.kind != placedItem {
		if int(top.depth) < l {
			top = b.push(l)
		}
		if b.last.kind == leafItem {
			b.placeLeaf(top)
		} else {
			b.place(top)
		}
	}
	for int(top.depth) > l {
		c := b.pop()
		top = b.stack[b.top]
		if int(top.depth) < l {
			top = b.push(l)
		}
		b.close(c, top)
	}
}

// finish places the last item and closes everything, up to the root.
func (b *Builder) finish() {
	if b.last.kind == noItem {
		b.cur.root = EmptyRoot
		return
	}
	if b.last.kind != placedItem {
		b.place(b.stack[b.top])
	}
	for b.top > 0 {
		c := b.pop()
		b.close(c, b.stack[b.top])
	}
}

// drop takes a failed trie apart. Nodes that are hashed already or will be, run on, unseen by the
// Sink; open branches go once nothing is written into them any more.
func (b *Builder) drop() {
	if n := b.last.node; n != nil && (b.last.kind == leafItem || b.last.kind == branchItem) {
		b.nodes.release(n)
	}
	b.last.kind = noItem
	for b.top > 0 {
		n := b.pop()
		n.class = deadClass
		n.pending -= openBias
		if n.pending == 0 {
			b.nodes.release(n)
		}
	}
}

func (b *Builder) push(depth int) *node {
	n := b.alloc()
	n.open(depth)
	b.top++
	b.stack[b.top] = n
	b.depth |= 1 << depth
	return n
}

func (b *Builder) pop() *node {
	n := b.stack[b.top]
	b.top--
	b.depth &^= 1 << n.depth
	return n
}

// rowNode makes a node of an untouched branch's row.
func (b *Builder) rowNode(depth int, br *Branch) *node {
	n := b.alloc()
	n.open(depth)
	n.addRefs(br.Mask, br.Sub, br.Refs)
	n.clean = true
	return n
}

// addRef adds the reference of an untouched child, as Ref does.
func (b *Builder) addRef(key *common.Hash, n int, ref []byte, sub bool) error {
	first := b.last.kind == noItem
	if !b.advance(key, n) {
		return b.cur.err
	}
	b.last.pathLen = n
	if top := b.stack[b.top]; !first && int(top.depth) == n-1 {
		// Its parent exists already, whatever comes next.
		top.addRef(nibble(key, n-1), ref, sub)
		b.last.kind = placedItem
		return b.cur.err
	}
	b.last.kind, b.last.sub = refItem, sub
	b.last.refLen = uint8(copy(b.last.ref[:], ref))
	return b.cur.err
}

// place attaches the last item below par.
func (b *Builder) place(par *node) {
	it := &b.last
	if it.kind == refItem {
		if int(par.depth)+1 == it.pathLen {
			par.addRef(nibble(&b.key, it.pathLen-1), it.ref[:it.refLen], it.sub)
			it.kind = placedItem
			return
		}
		if err := b.resolve(); err != nil {
			b.failBuild(b.cur, err)
			return
		}
	}
	if it.kind == leafItem {
		b.placeLeaf(par)
	} else {
		b.close(it.node, par)
	}
	it.kind = placedItem
}

// resolve turns a reference whose siblings are all gone into what it stands for.
func (b *Builder) resolve() error {
	p := Path{Key: b.key, Len: b.last.pathLen}
	if b.reader == nil {
		return fmt.Errorf("%w: %v", ErrLoneRef, p)
	}
	if !b.last.sub {
		key, value, err := firstLeaf(b.reader, p)
		if err != nil {
			return err
		}
		if n := len(value); isEmptyValue(value) || n > MaxValueLen {
			return fmt.Errorf("%w: leaf %v has a value of %d bytes", ErrMissingNode, key, n)
		}
		b.key = key
		b.holdLeaf(value)
		return nil
	}
	bp, br, err := firstBranch(b.reader, p)
	if err != nil {
		return err
	}
	b.key = bp.Key
	b.last = item{kind: branchItem, pathLen: bp.Len, node: b.rowNode(bp.Len, &br)}
	return nil
}

// hang makes n, which is to be hashed, the child of par that b.key leads to, or the root.
func (b *Builder) hang(n, par *node) {
	n.parent = par
	if par.depth < 0 {
		n.out = (*[common.HashLength]byte)(&b.cur.root)
		return
	}
	n.out = par.slot(nibble(&b.key, int(par.depth)))
	par.pending++
}

// close ends branch c and attaches it below par, with an extension between them where par lies
// further up.
func (b *Builder) close(c, par *node) {
	c.seal()
	c.trie = b.cur
	start := int(par.depth) + 1
	extended := start < int(c.depth)
	if start > 0 {
		par.sub |= 1 << nibble(&b.key, start-1)
	}
	if b.sink != nil && !c.clean {
		c.row = true
		copyHash(&c.path, &b.key)
	}
	if c.size() < minHashed && (extended || start > 0) {
		if c.row {
			b.put(c)
		}
		if extended {
			b.extend(c, par, true)
		} else {
			par.addRef(nibble(&b.key, start-1), c.rlp(), true)
		}
		b.nodes.release(c)
		return
	}
	if extended {
		b.extend(c, par, false)
	} else {
		b.hang(c, par)
	}
	c.pending -= openBias
	if c.pending == 0 {
		b.enqueue(c)
	}
}

// extend puts an extension between par and branch c, which is embedded in it or hashed into it.
func (b *Builder) extend(c, par *node, embedded bool) {
	e := b.alloc()
	start, depth := int(par.depth)+1, int(c.depth)
	keyLen := compactLen(depth - start)
	payload := keyLen + hashRefLen
	if keyLen > 1 {
		payload++
	}
	if embedded {
		payload += c.size() - hashRefLen
	}
	buf := appendListHeader(e.buf[:0], payload)
	if keyLen > 1 {
		buf = append(buf, 0x80+byte(keyLen))
	}
	buf = appendCompact(buf, &b.key, start, depth, false)
	e.at, e.end = 0, uint16(headerLen(payload)+payload)
	e.pending, e.row = 0, false
	e.complete()
	if embedded {
		copy(e.buf[len(buf):], c.rlp())
		if e.size() < minHashed && start > 0 {
			par.addRef(nibble(&b.key, start-1), e.rlp(), true)
			b.nodes.release(e)
			return
		}
	} else {
		at := len(buf)
		e.buf[at] = hashRefPrefix
		c.out = (*[common.HashLength]byte)(e.buf[at+1 : at+hashRefLen])
		c.parent = e
		e.pending = 1
	}
	b.hang(e, par)
	if e.pending == 0 {
		b.enqueue(e)
	}
}
