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
	for i := 0; i < common.HashLength; i += 8 {
		// A shift by 64 bits and more leaves nothing.
		mask := ^(^uint64(0) >> (4 * max(n-2*i, 0)))
		binary.BigEndian.PutUint64(key[i:], binary.BigEndian.Uint64(key[i:])&mask)
	}
	return Path{Key: key, Len: n}
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
	for i := 0; i < common.HashLength; i += 8 {
		x := binary.BigEndian.Uint64(a[i:]) ^ binary.BigEndian.Uint64(b[i:])
		if x != 0 {
			return 2*i + bits.LeadingZeros64(x)/4
		}
	}
	return keyNibbles
}
