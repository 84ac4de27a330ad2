package storageactor

import (
	"encoding/binary"
	"math/bits"

	"github.com/ethereum/go-ethereum/common"
)

// successor is the hash behind h; that of the last one is the first again, see isLast.
func successor(h common.Hash) common.Hash {
	for i := len(h) - 1; i >= 0; i-- {
		h[i]++
		if h[i] != 0 {
			break
		}
	}
	return h
}

// predecessor is the hash before h, which is not the first.
func predecessor(h common.Hash) common.Hash {
	for i := len(h) - 1; i >= 0; i-- {
		h[i]--
		if h[i] != 0xff {
			break
		}
	}
	return h
}

// commonNibbles is the number of leading nibbles that a and b share.
func commonNibbles(a, b *common.Hash) int {
	for i := 0; i < common.HashLength; i += 8 {
		if x := binary.BigEndian.Uint64(a[i:]) ^ binary.BigEndian.Uint64(b[i:]); x != 0 {
			return 2*i + bits.LeadingZeros64(x)/4
		}
	}
	return 2 * common.HashLength
}
