package trie

import (
	"encoding/binary"
	"math/bits"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// Flags of the compact (hex-prefix) encoding of nibbles, Yellow Paper appendix C.
const (
	compactOdd  = 0x10
	compactLeaf = 0x20
)

// appendCompact appends the compact encoding of nibbles from to to (excluded) of key, without an
// RLP header.
func appendCompact(dst []byte, key *common.Hash, from, to int, leaf bool) []byte {
	var flag byte
	if leaf {
		flag = compactLeaf
	}
	if (to-from)&1 != 0 {
		flag |= compactOdd | nibble(key, from)
		from++
	}
	dst = append(dst, flag)
	if from&1 == 0 {
		return append(dst, key[from/2:to/2]...)
	}
	for ; from < to; from += 2 {
		dst = append(dst, nibble(key, from)<<4|nibble(key, from+1))
	}
	return dst
}

// compactLen is the length of the compact encoding of n nibbles.
func compactLen(n int) int { return 1 + n>>1 }

// headerLen is the length of the RLP header of a list or of a string of n bytes that is not a
// single byte below 0x80.
func headerLen(n int) int {
	switch {
	case n < 56:
		return 1
	case n < 1<<8:
		return 2
	case n < 1<<16:
		return 3
	}
	return 4
}

// stringLen is the length of the RLP of s.
func stringLen(s []byte) int {
	if len(s) == 1 && s[0] < 0x80 {
		return 1
	}
	return headerLen(len(s)) + len(s)
}

// appendListHeader appends the RLP header of a list whose items have n bytes, below 1<<24.
func appendListHeader(dst []byte, n int) []byte { return appendHeader(dst, 0xc0, n) }

// appendString appends the RLP of s, which is shorter than 1<<24 bytes.
func appendString(dst, s []byte) []byte {
	if len(s) != 1 || s[0] >= 0x80 {
		dst = appendHeader(dst, 0x80, len(s))
	}
	return append(dst, s...)
}

func appendHeader(dst []byte, base byte, n int) []byte {
	switch headerLen(n) {
	case 1:
		return append(dst, base+byte(n))
	case 2:
		return append(dst, base+55+1, byte(n))
	case 3:
		return append(dst, base+55+2, byte(n>>8), byte(n))
	}
	return append(dst, base+55+3, byte(n>>16), byte(n>>8), byte(n))
}

const (
	minHashed = 32 // nodes with a shorter RLP are embedded in their parent

	// A branch is laid out from its first child forwards; its header takes at most 3 bytes.
	childrenAt = 8

	maxBlocks = 4 // of a branch: it has at most 532 bytes
	// maxInline is the longest value whose leaf has a place in a node. It surely has at most three
	// blocks: before the value go at most 40 bytes.
	maxInline = 3*keccak.Rate - 1 - 40
	// bufLen holds every node with its padding: branches begin before childrenAt, leaves before
	// valueAt.
	bufLen = 560

	// openBias keeps a branch's count of pending children above zero while it can get more.
	openBias = 64
)

// node is a node under construction or waiting to be hashed: its RLP is buf[at:end].
type node struct {
	out    *[common.HashLength]byte // where the hash goes: into the parent's buf, or a root
	parent *node                    // waits for the hash; of a root, the bottom of the stack
	trie   *build                   // of a branch

	path common.Hash // of a branch that has a row to be written: a key below it

	at, end   uint16
	pos       uint16 // of a branch: where its next child goes
	mask, sub uint16
	depth     int16 // of a branch: the length of its path
	next      uint8 // of a branch: the least nibble that the next child can have
	pending   uint8 // children whose hashes are not there yet, plus openBias while open
	class     uint8 // where it goes when nothing is pending
	clean     bool  // a branch whose row stays as it is
	row       bool  // a branch whose row is written as soon as its children's hashes are there

	buf [bufLen]byte
}

// rlp returns the encoding, with the capacity that hashing in place asks for.
func (n *node) rlp() []byte { return n.buf[n.at:n.end:bufLen] }

// size is the length of the encoding.
func (n *node) size() int { return int(n.end - n.at) }

// open makes n an empty branch.
func (n *node) open(depth int) {
	n.pos = childrenAt
	n.mask, n.sub = 0, 0
	n.depth = int16(depth)
	n.next = 0
	n.pending = openBias
	n.class = openClass
	n.clean, n.row = false, false
}

// complete puts n, whose size is final, into its class.
func (n *node) complete() { n.class = uint8(n.size()/keccak.Rate + 1) }

const emptyItems = 0x8080808080808080 // eight absent children

// child makes room for child x, which lies behind all others, and returns where it goes.
func (n *node) child(x byte) *[hashRefLen]byte {
	p := (*[16 + hashRefLen]byte)(n.buf[n.pos:])
	binary.LittleEndian.PutUint64(p[:], emptyItems)
	binary.LittleEndian.PutUint64(p[8:], emptyItems)
	gap := (x - n.next) & 15
	n.next = x + 1
	n.pos += uint16(gap)
	n.mask |= 1 << (x & 15)
	return (*[hashRefLen]byte)(p[gap:])
}

// slot adds child x by hash and returns the place of the hash.
func (n *node) slot(x byte) *[common.HashLength]byte {
	p := n.child(x)
	p[0] = hashRefPrefix
	n.pos += hashRefLen
	return (*[common.HashLength]byte)(p[1:])
}

// addRef adds child x by its reference.
func (n *node) addRef(x byte, ref []byte, sub bool) {
	n.pos += uint16(copy(n.child(x)[:], ref))
	if sub {
		n.sub |= 1 << x
	}
}

// addRefs adds the children in mask, which lie behind all others, by their references.
func (n *node) addRefs(mask, sub uint16, refs []byte) {
	n.sub |= sub & mask
	if len(refs) != hashRefLen*bits.OnesCount16(mask) { // some are embedded
		for ; mask != 0; mask &= mask - 1 {
			l := refLen(refs)
			n.pos += uint16(copy(n.child(byte(bits.TrailingZeros16(mask)))[:], refs[:l]))
			refs = refs[l:]
		}
		return
	}
	for mask != 0 {
		x := bits.TrailingZeros16(mask)
		c := bits.TrailingZeros16(^(mask >> x)) // children side by side
		n.child(byte(x))
		n.pos += uint16(copy(n.buf[n.pos:], refs[:hashRefLen*c]))
		n.next = byte(x + c)
		run := uint16(1<<c-1) << x
		n.mask |= run
		mask &^= run
		refs = refs[hashRefLen*c:]
	}
}

// seal ends a branch: the absent children behind its last, the empty value, the list's header.
func (n *node) seal() {
	p := (*[17]byte)(n.buf[n.pos:])
	binary.LittleEndian.PutUint64(p[:], emptyItems)
	binary.LittleEndian.PutUint64(p[8:], emptyItems)
	p[16] = 0x80
	n.end = n.pos + 17 - uint16(n.next)
	payload := int(n.end) - childrenAt
	switch {
	case payload < 56:
		n.at = childrenAt - 1
		n.buf[childrenAt-1] = 0xc0 + byte(payload)
	case payload < 1<<8:
		n.at = childrenAt - 2
		n.buf[childrenAt-2], n.buf[childrenAt-1] = 0xc0+55+1, byte(payload)
	default:
		n.at = childrenAt - 3
		n.buf[childrenAt-3] = 0xc0 + 55 + 2
		n.buf[childrenAt-2], n.buf[childrenAt-1] = byte(payload>>8), byte(payload)
	}
	n.complete()
}

// branch returns the row of n, its references in scratch where absent children lie between them.
func (n *node) branch(scratch *[maxRefsLen]byte) Branch {
	return Branch{Mask: n.mask, Sub: n.sub, Refs: n.refs(scratch)}
}

// refs returns the references of a branch's children side by side, in scratch where there are gaps.
func (n *node) refs(scratch *[maxRefsLen]byte) []byte {
	first := bits.TrailingZeros16(n.mask)
	if m := n.mask >> first; m&(m+1) == 0 {
		return n.buf[childrenAt+first : n.pos]
	}
	count := bits.OnesCount16(n.mask)
	if int(n.pos)-childrenAt-(int(n.next)-count) != count*hashRefLen {
		return n.mixedRefs(scratch[:0])
	}
	at := childrenAt // of a child if all nibbles before it were children
	for i, m := 0, n.mask; m != 0; m &= m - 1 {
		p := at + bits.TrailingZeros16(m)
		from, to := (*[hashRefLen]byte)(n.buf[p:]), (*[hashRefLen]byte)(scratch[i:])
		to[0] = hashRefPrefix
		copyHash((*common.Hash)(to[1:]), (*common.Hash)(from[1:]))
		at += hashRefLen - 1
		i += hashRefLen
	}
	return scratch[:count*hashRefLen]
}

// mixedRefs is refs where some children are embedded.
func (n *node) mixedRefs(scratch []byte) []byte {
	p := n.buf[childrenAt:n.pos]
	for m := n.mask; m != 0; {
		x := bits.TrailingZeros16(m)
		m >>= x
		run := bits.TrailingZeros16(^m) // children side by side
		m >>= run
		l := refsLen(p[x:], run)
		scratch = append(scratch, p[x:x+l]...)
		p = p[x+l:]
	}
	return scratch
}
