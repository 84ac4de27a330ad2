package state

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// maxSlotLen bounds a slot row: the RLP of 32 bytes.
const maxSlotLen = hashItemLen

// EncodeSlot returns the row of a slot: the RLP of the value without its leading zeros, which is
// also the leaf's value in the storage trie. The value zero has no row: nil.
func EncodeSlot(v common.Hash) []byte { return AppendSlot(nil, &v) }

// AppendSlot appends the row of a slot to dst; nothing for the value zero.
func AppendSlot(dst []byte, v *common.Hash) []byte {
	z := 0
	for z < len(v) && v[z] == 0 {
		z++
	}
	t := v[z:]
	if len(t) == 0 || len(t) == 1 && t[0] < 0x80 {
		return append(dst, t...)
	}
	return append(append(dst, 0x80+byte(len(t))), t...)
}

// DecodeSlot decodes what EncodeSlot writes for values other than zero, and nothing else.
func DecodeSlot(b []byte) (common.Hash, error) {
	v, err := splitSlot(b)
	if err != nil {
		return common.Hash{}, err
	}
	var h common.Hash
	copy(h[len(h)-len(v):], v)
	return h, nil
}

// splitSlot returns the value's bytes, or says why b is no slot row.
func splitSlot(b []byte) ([]byte, error) {
	v, rest, ok := splitInt(b, common.HashLength)
	if !ok || len(v) == 0 || len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrBadSlot, len(b))
	}
	return v, nil
}
