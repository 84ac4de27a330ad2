package trie

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	hashRefLen    = 33              // 0xa0 and the hash
	maxRefsLen    = 16 * hashRefLen // all children by hash
	branchHead    = 4               // mask and sub
	hashRefPrefix = 0xa0
)

// Branch is a branch node as a branch row holds it. Every branch has a row, also one that is
// embedded in its parent because its RLP is shorter than 32 bytes.
type Branch struct {
	// Mask has bit x set where child x exists; at least two are.
	Mask uint16
	// Sub has bit x set where a branch, so a row, exists at or below child x; a subset of Mask.
	Sub uint16
	// Refs holds the references of the children in ascending order of nibble, each as the RLP of
	// the branch has it: 0xa0 and the hash, or the child itself where its RLP is shorter than 32
	// bytes.
	Refs []byte
}

// DecodeBranch decodes a branch row: mask and sub as 16-bit little-endian numbers, then the
// references. It refuses whatever AppendTo would not write; the result aliases b.
func DecodeBranch(b []byte) (Branch, error) {
	if len(b) < branchHead || len(b) > branchHead+maxRefsLen {
		return Branch{}, fmt.Errorf("%w: %d bytes", ErrBadBranch, len(b))
	}
	r := Branch{
		Mask: binary.LittleEndian.Uint16(b),
		Sub:  binary.LittleEndian.Uint16(b[2:]),
		Refs: b[branchHead:],
	}
	if err := r.check(); err != nil {
		return Branch{}, err
	}
	return r, nil
}

// AppendTo appends the row to dst: mask and sub as 16-bit little-endian numbers, references.
func (b Branch) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, b.Mask)
	dst = binary.LittleEndian.AppendUint16(dst, b.Sub)
	return append(dst, b.Refs...)
}

// Len is the length of the row in bytes.
func (b Branch) Len() int { return branchHead + len(b.Refs) }

// Ref returns the reference of child x, nil where there is none.
func (b Branch) Ref(x byte) []byte {
	if x > 15 || b.Mask>>x&1 == 0 {
		return nil
	}
	refs := b.Refs
	for i := bits.OnesCount16(b.Mask & (1<<x - 1)); i > 0; i-- {
		n := refLen(refs)
		if n == 0 {
			return nil
		}
		refs = refs[n:]
	}
	if n := refLen(refs); n > 0 {
		return refs[:n]
	}
	return nil
}

// check says why b cannot be a branch, if so.
func (b Branch) check() error {
	if bits.OnesCount16(b.Mask) < 2 {
		return fmt.Errorf("%w: mask %016b", ErrBadBranch, b.Mask)
	}
	if b.Sub&^b.Mask != 0 {
		return fmt.Errorf("%w: sub %016b beyond mask %016b", ErrBadBranch, b.Sub, b.Mask)
	}
	refs := b.Refs
	if hashedRefs(refs, bits.OnesCount16(b.Mask)) {
		return nil
	}
	for m := b.Mask; m != 0; m &= m - 1 {
		n := refLen(refs)
		x := bits.TrailingZeros16(m)
		if n == 0 {
			return fmt.Errorf("%w: reference of child %x", ErrBadBranch, x)
		}
		if n != hashRefLen {
			branch, ok := embeddedKind(refs[:n])
			if !ok || branch != (b.Sub>>x&1 != 0) {
				return fmt.Errorf("%w: embedded child %x", ErrBadBranch, x)
			}
		}
		refs = refs[n:]
	}
	if len(refs) != 0 {
		return fmt.Errorf("%w: %d bytes behind the references", ErrBadBranch, len(refs))
	}
	return nil
}

// hashedRefs reports whether refs are n references by hash, and nothing else.
func hashedRefs(refs []byte, n int) bool {
	if len(refs) != n*hashRefLen {
		return false
	}
	var other byte
	for i := 0; i < len(refs); i += hashRefLen {
		other |= refs[i] ^ hashRefPrefix
	}
	return other == 0
}

// refLen is the length of the reference that b begins with, 0 if b begins with none.
func refLen(b []byte) int {
	if len(b) >= hashRefLen && b[0] == hashRefPrefix {
		return hashRefLen
	}
	if len(b) == 0 || b[0] <= 0xc0 || b[0] > 0xc0+30 {
		return 0
	}
	if n := 1 + int(b[0]-0xc0); n <= len(b) {
		return n
	}
	return 0
}

// refsLen is the length of the first n references in refs.
func refsLen(refs []byte, n int) int {
	l := 0
	for ; n > 0; n-- {
		l += refLen(refs[l:])
	}
	return l
}

// embeddedKind tells whether the embedded node b (a list as refLen admits it) is a branch or an
// extension above one, or else a leaf; ok is false where it is none of these.
func embeddedKind(b []byte) (branch, ok bool) {
	items := 0
	for rest := b[1:]; len(rest) > 0; items++ {
		n := shortItemLen(rest)
		if n == 0 {
			return false, false
		}
		rest = rest[n:]
	}
	switch {
	case items == 17:
		return true, true
	case items != 2 || b[1] == 0x80 || b[1] >= 0xc0:
		return false, false
	}
	flag := b[1]
	if flag > 0x80 {
		flag = b[2]
	}
	return flag&compactLeaf == 0, flag < 0x40
}

// shortItemLen is the length of the RLP item that b begins with, 0 where b begins with none or
// with one of more than 55 bytes.
func shortItemLen(b []byte) int {
	n := 1
	switch c := b[0]; {
	case c < 0x80:
	case c < 0x80+56:
		n += int(c - 0x80)
	case c >= 0xc0 && c < 0xc0+56:
		n += int(c - 0xc0)
	default:
		return 0
	}
	if n > len(b) || n == 2 && b[0] == 0x81 && b[1] < 0x80 {
		return 0
	}
	return n
}
