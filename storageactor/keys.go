package storageactor

import "github.com/ethereum/go-ethereum/common"

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
