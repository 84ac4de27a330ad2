package trie

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/ethereum/go-ethereum/common"
)

// keyNibbles is the length of every full path: keys are 32-byte hashes.
const keyNibbles = 2 * common.HashLength

// Path is a nibble path from the root: the first Len nibbles of Key, high nibble first. The rest
// of Key is zero. The zero Path is the root.
type Path struct {
	Key common.Hash
	Len int // nibbles, 0 to 64
}

// PathOf returns the first n nibbles of key as a path; n is 0 to 64.
func PathOf(key common.Hash, n int) Path {
	keepPrefix(&key, n)
	return Path{Key: key, Len: n}
}

// keepPrefix clears what is behind the first n nibbles of key.
func keepPrefix(key *common.Hash, n int) {
	mask := &prefixMasks[n]
	for i, m := range mask {
		p := key[8*i:]
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)&m)
	}
}

// prefixMasks are for each number of nibbles the mask of that prefix, as four words.
var prefixMasks = func() (masks [keyNibbles + 1][4]uint64) {
	for n := range masks {
		var key [common.HashLength]byte
		for i := range n {
			key[i/2] |= 0xf0 >> (4 * (i & 1))
		}
		for i := range masks[n] {
			masks[n][i] = binary.LittleEndian.Uint64(key[8*i:])
		}
	}
	return masks
}()

// copyHash is *dst = *src by words: an assignment of arrays that might overlap is a call.
func copyHash(dst, src *common.Hash) {
	a, b := binary.LittleEndian.Uint64(src[:]), binary.LittleEndian.Uint64(src[8:])
	c, d := binary.LittleEndian.Uint64(src[16:]), binary.LittleEndian.Uint64(src[24:])
	binary.LittleEndian.PutUint64(dst[:], a)
	binary.LittleEndian.PutUint64(dst[8:], b)
	binary.LittleEndian.PutUint64(dst[16:], c)
	binary.LittleEndian.PutUint64(dst[24:], d)
}

// Nibble returns nibble i of the path, 0 to 15; it is zero at and behind Len.
func (p Path) Nibble(i int) byte { return nibble(&p.Key, i) }

// Child returns the path of child x of the node at p.
func (p Path) Child(x byte) Path {
	p.Key[p.Len/2] |= x & 15 << (4 * (^p.Len & 1))
	p.Len++
	return p
}

// HasPrefix reports whether q lies on the way from the root to p; every path has itself as prefix.
func (p Path) HasPrefix(q Path) bool {
	return p.Len >= q.Len && commonPrefix(&p.Key, &q.Key) >= q.Len
}

// HasKey reports whether key lies below p.
func (p Path) HasKey(key *common.Hash) bool { return commonPrefix(key, &p.Key) >= p.Len }

// Compare orders paths depth first: a node before what lies below it, children by nibble.
func (p Path) Compare(q Path) int {
	if c := bytes.Compare(p.Key[:], q.Key[:]); c != 0 {
		return c
	}
	return p.Len - q.Len
}

// String gives the path as hex digits, one a nibble, or "root".
func (p Path) String() string {
	if p.Len == 0 {
		return "root"
	}
	const digits = "0123456789abcdef"
	s := make([]byte, p.Len)
	for i := range s {
		s[i] = digits[p.Nibble(i)]
	}
	return string(s)
}

// nibble returns nibble i of key.
func nibble(key *common.Hash, i int) byte { return key[i>>1&31] >> (4 * (^i & 1)) & 15 }

// commonPrefix is the number of leading nibbles that a and b share, 64 where they are equal.
func commonPrefix(a, b *common.Hash) int {
	n, _ := parting(a, b)
	return n
}

// parting is commonPrefix, and tells whether b lies behind a.
func parting(a, b *common.Hash) (n int, ascends bool) {
	x, y := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])
	if x != y {
		return bits.LeadingZeros64(x^y) / 4, x < y
	}
	return lateParting(a, b)
}

// lateParting is parting of keys that share their first word.
func lateParting(a, b *common.Hash) (n int, ascends bool) {
	for i := 8; i < common.HashLength; i += 8 {
		x, y := binary.BigEndian.Uint64(a[i:]), binary.BigEndian.Uint64(b[i:])
		if x != y {
			return 2*i + bits.LeadingZeros64(x^y)/4, x < y
		}
	}
	return keyNibbles, false
}
