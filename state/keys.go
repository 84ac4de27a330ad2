package state

import (
	"encoding/binary"
	"fmt"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// The key spaces; see the package comment.
const (
	spaceAccount       = 'a'
	spaceSlot          = 's'
	spaceAccountBranch = 'A'
	spaceStorageBranch = 'S'
	spaceCode          = 'c'
	spaceHeader        = 'h'
	spaceNumber        = 'n'
	spaceBAL           = 'b'
	spaceReverseDiff   = 'r'
	spaceLog           = 'l'
	spaceMeta          = 'm'
)

const (
	accountKeyLen = 1 + common.HashLength
	slotKeyLen    = 1 + 2*common.HashLength
	maxPathLen    = 2 * common.HashLength // nibbles
	// maxRowKeyLen is the length of the longest key, that of a storage trie's deepest branch.
	maxRowKeyLen = accountKeyLen + maxPathLen
)

// keyBuf holds any key without going to the heap.
type keyBuf [maxRowKeyLen]byte

func appendHashKey(dst []byte, space byte, h *common.Hash) []byte {
	return append(append(dst, space), h[:]...)
}

func appendSlotKey(dst []byte, account, slot *common.Hash) []byte {
	return append(appendHashKey(dst, spaceSlot, account), slot[:]...)
}

func appendNumberHashKey(dst []byte, space byte, number uint64, h *common.Hash) []byte {
	return append(binary.BigEndian.AppendUint64(append(dst, space), number), h[:]...)
}

// appendBranchKey appends the key of a branch row; a nil account stands for the account trie.
func appendBranchKey(dst []byte, account *common.Hash, p *trie.Path) []byte {
	if account == nil {
		dst = append(dst, spaceAccountBranch)
	} else {
		dst = appendHashKey(dst, spaceStorageBranch, account)
	}
	return appendNibbles(dst, p)
}

func appendNibbles(dst []byte, p *trie.Path) []byte {
	for i := range p.Len / 2 {
		dst = append(dst, p.Key[i]>>4, p.Key[i]&15)
	}
	if p.Len&1 != 0 {
		dst = append(dst, p.Key[p.Len/2]>>4)
	}
	return dst
}

// parsePath is the inverse of appendNibbles.
func parsePath(b []byte) (trie.Path, error) {
	if len(b) > maxPathLen {
		return trie.Path{}, fmt.Errorf("%w: path of %d nibbles", ErrBadRow, len(b))
	}
	p := trie.Path{Len: len(b)}
	for i, x := range b {
		if x > 15 {
			return trie.Path{}, fmt.Errorf("%w: nibble %d", ErrBadRow, x)
		}
		p.Key[i/2] |= x << (4 * (^i & 1))
	}
	return p, nil
}
