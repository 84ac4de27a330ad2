package trie

import (
	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

const (
	// A leaf is laid out from its value backwards, so that the value can be stored before it is
	// known how much of the key the leaf holds. In front of it go at most 4 bytes of the list's
	// header, 34 of the compact key, and 4 of the value's header.
	valueAt = 48

	// leafLen holds every leaf of one block with its padding.
	leafLen = valueAt + keccak.Rate
	// maxSmall is the longest value whose leaf surely has one block: before it go at most 2 bytes
	// of the list's header, 34 of the compact key and 2 of the value's header.
	maxSmall = keccak.Rate - 1 - 38
)

// leaf is the encoding of a leaf of one block, with a value of at most maxSmall bytes. Most nodes
// are; they have no need of all that a node has, and stay in the cache.
type leaf [leafLen]byte

// leafRing holds the leaves that wait for being hashed, and behind them room for the next.
type leafRing struct {
	head, tail uint32
	msgs       [leafSlots]keccak.Message
	parents    [leafSlots]*node
	slots      [leafSlots]leaf
}

// leafSlots is the length of a leafRing: a multiple of the usual groups, which so lie side by side.
const leafSlots = 2 * maxGroup

func (r *leafRing) len() int { return int(r.tail - r.head) }

func (r *leafRing) clear() { r.head, r.tail = 0, 0 }

// next is the place of the next leaf.
func (r *leafRing) next() *leaf { return &r.slots[r.tail%leafSlots] }

// holdLeaf makes the leaf at b.key the last item. Its value goes where the encoding will have it.
func (b *Builder) holdLeaf(value []byte) {
	it := &b.last
	it.kind, it.pathLen, it.valueLen = leafItem, keyNibbles, len(value)
	it.node = nil
	switch q := &b.queue; {
	case len(value) <= maxSmall:
		if q.leaves.len() >= q.group {
			b.runLeaves()
			b.drain()
		}
		copy(q.leaves.next()[valueAt:], value)
	case len(value) <= maxInline:
		it.node = b.alloc()
		copy(it.node.buf[valueAt:], value)
	default:
		if need := valueAt + len(value) + keccak.Rate; cap(b.large) < need {
			b.large = make([]byte, need)
		}
		copy(b.large[valueAt:cap(b.large)], value)
	}
}

// heldValue is the value of the last item, a leaf that is not placed.
func (b *Builder) heldValue() []byte {
	buf := b.large
	switch it := &b.last; {
	case it.node != nil:
		buf = it.node.buf[:]
	case it.valueLen <= maxSmall:
		buf = b.queue.leaves.next()[:]
	}
	return buf[valueAt : valueAt+b.last.valueLen]
}

// placeLeaf encodes the last item, a leaf, and attaches it below par.
func (b *Builder) placeLeaf(par *node) {
	it := &b.last
	if it.node != nil || it.valueLen > maxSmall {
		b.placeLong(par)
		return
	}
	r := &b.queue.leaves
	i := r.tail % leafSlots
	l := &r.slots[i]
	start := int(par.depth) + 1
	end := valueAt + it.valueLen
	at := l.seal(&b.key, start, it.valueLen)
	out := (*[common.HashLength]byte)(&b.cur.root)
	if start > 0 {
		x := nibble(&b.key, start-1)
		mutant := mutants.Active == mutants.EmbedShort && end-at == minHashed-1
		if end-at < minHashed && !mutant {
			par.addRef(x, l[at:end], false)
			return
		}
		out = par.slot(x)
		par.pending++
	}
	r.msgs[i] = keccak.Message{Data: l[at:end:leafLen], Out: out}
	r.parents[i] = par
	r.tail++
}

// placeLong is placeLeaf for a leaf that may have more than one block.
func (b *Builder) placeLong(par *node) {
	it := &b.last
	start := int(par.depth) + 1
	end := valueAt + it.valueLen
	if n := it.node; n != nil {
		n.at, n.end = uint16(sealLeaf(n.buf[:], &b.key, start, it.valueLen)), uint16(end)
		n.row = false
		n.complete()
		b.hang(n, par)
		b.enqueue(n)
		return
	}
	buf := b.large[:cap(b.large)]
	at := sealLeaf(buf, &b.key, start, it.valueLen)
	out := (*[common.HashLength]byte)(&b.cur.root)
	if start > 0 {
		out = par.slot(nibble(&b.key, start-1))
	}
	b.queue.msgs[0] = keccak.Message{Data: buf[at:end], Out: out}
	b.hasher.Hash(b.queue.msgs[:1])
}

// leafFlag is the first byte of the compact encoding of the nibbles of key from start on, those of
// a leaf. Whether their number is odd is as good as random: there is no branch.
func leafFlag(key *common.Hash, start int) byte {
	odd := byte(start & 1)
	return compactLeaf | odd*compactOdd | key[start>>1&31]&15&-odd
}

// seal is sealLeaf of a leaf, quick for the values of storage slots.
func (l *leaf) seal(key *common.Hash, start, valueLen int) (begin int) {
	if valueLen < 2 || valueLen >= 56 || start >= keyNibbles-1 {
		return sealLeaf(l[:], key, start, valueLen)
	}
	l[valueAt-1] = 0x80 + byte(valueLen)
	copyHash((*common.Hash)(l[valueAt-1-common.HashLength:]), key)
	n := uint(compactLen(keyNibbles - start))
	p := (valueAt - 1 - n) & 63 // it is below 64 anyway, and so within bounds
	l[p] = leafFlag(key, start)
	l[p-1&63] = 0x80 + byte(n)
	payload := 1 + int(n) + 1 + valueLen
	if payload < 56 {
		l[p-2&63] = 0xc0 + byte(payload)
		return int(p - 2)
	}
	l[p-2&63], l[p-3&63] = byte(payload), 0xc0+55+1
	return int(p - 3)
}

// sealLeaf lays a leaf out around its value, buf[valueAt:valueAt+valueLen], with the nibbles of
// key from start on, and returns where the leaf begins.
func sealLeaf(buf []byte, key *common.Hash, start, valueLen int) int {
	p := valueAt
	if valueLen != 1 || buf[valueAt] >= 0x80 {
		p -= headerLen(valueLen)
		appendHeader(buf[p:p], 0x80, valueLen)
	}
	*(*common.Hash)(buf[p-common.HashLength : p]) = *key
	n := compactLen(keyNibbles - start)
	p -= n
	buf[p] = leafFlag(key, start)
	if n > 1 {
		p--
		buf[p] = 0x80 + byte(n)
	}
	payload := valueAt + valueLen - p
	p -= headerLen(payload)
	appendListHeader(buf[p:p], payload)
	return p
}
