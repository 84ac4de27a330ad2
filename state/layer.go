package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Layer is everything that one block writes. Accounts, Slots and Codes ascend by their keys, and
// no list has a key twice. Branches may come in any order; ascending (the account trie first, then
// by account, then depth first) saves sorting them. Commit reads the layer during the call only.
type Layer struct {
	Accounts []AccountWrite
	Slots    []SlotWrite
	Branches []BranchWrite
	Codes    []CodeWrite
}

// AccountWrite is an account before and after: slim RLP, or nothing where it is absent. A write
// whose two sides are equal changes nothing and is left out.
type AccountWrite struct {
	Hash      common.Hash
	Pre, Post []byte
}

// SlotWrite is a slot before and after: RLP of the trimmed value, or nothing where it is zero. A
// write whose two sides are equal changes nothing and is left out.
type SlotWrite struct {
	Account, Slot common.Hash
	Pre, Post     []byte
}

// BranchWrite is a branch row of the account trie, or of the account's storage trie. Without a row
// it deletes.
type BranchWrite struct {
	Account common.Hash
	Storage bool
	Path    trie.Path
	Row     []byte
}

// CodeWrite is a code that the store may not have yet; one that it has is left out.
type CodeWrite struct {
	Hash common.Hash
	Code []byte
}

// Block is what is logged of a block.
type Block struct {
	Header *types.Header
	Hash   common.Hash // the header's
	BAL    []byte      // the raw block access list
}

// maxLayerBytes bounds a layer's rows: those of a batch of Pebble's must stay below 4 GB, with keys
// and reverse diff.
const maxLayerBytes = 1 << 30

// check refuses a layer that cannot be written, so that writing one cannot fail half-way.
func (l *Layer) check() error {
	if n := l.bytes(); n > maxLayerBytes {
		return fmt.Errorf("%w: %d bytes", ErrBadLayer, n)
	}
	for i := range l.Accounts {
		a := &l.Accounts[i]
		if i > 0 && bytes.Compare(l.Accounts[i-1].Hash[:], a.Hash[:]) >= 0 {
			return fmt.Errorf("%w: account %x does not ascend", ErrBadLayer, a.Hash)
		}
		for _, v := range [2][]byte{a.Pre, a.Post} {
			if len(v) == 0 {
				continue
			}
			if _, err := DecodeSlim(v); err != nil {
				return fmt.Errorf("%w: account %x: %w", ErrBadLayer, a.Hash, err)
			}
		}
	}
	for i := range l.Slots {
		w := &l.Slots[i]
		if i > 0 && compareSlots(&l.Slots[i-1], w) >= 0 {
			return fmt.Errorf("%w: slot %x of %x does not ascend", ErrBadLayer, w.Slot, w.Account)
		}
		for _, v := range [2][]byte{w.Pre, w.Post} {
			if len(v) == 0 {
				continue
			}
			if _, err := splitSlot(v); err != nil {
				return fmt.Errorf("%w: slot %x of %x: %w", ErrBadLayer, w.Slot, w.Account, err)
			}
		}
	}
	for i := range l.Branches {
		w := &l.Branches[i]
		if w.Path.Len < 0 || w.Path.Len >= maxPathLen || len(w.Row) > maxGenerationVal {
			return fmt.Errorf("%w: branch %v of %x", ErrBadLayer, w.Path, w.Account)
		}
	}
	for i := range l.Codes {
		c := &l.Codes[i]
		if i > 0 && bytes.Compare(l.Codes[i-1].Hash[:], c.Hash[:]) >= 0 {
			return fmt.Errorf("%w: code %x does not ascend", ErrBadLayer, c.Hash)
		}
		if len(c.Code) == 0 {
			return fmt.Errorf("%w: code %x is empty", ErrBadLayer, c.Hash)
		}
	}
	return nil
}

// bytes is about the size of the layer in a batch.
func (l *Layer) bytes() int {
	n := len(l.Accounts)*accountKeyLen + len(l.Slots)*slotKeyLen +
		len(l.Branches)*maxRowKeyLen + len(l.Codes)*accountKeyLen
	for i := range l.Accounts {
		n += len(l.Accounts[i].Post)
	}
	for i := range l.Slots {
		n += len(l.Slots[i].Post)
	}
	for i := range l.Branches {
		n += len(l.Branches[i].Row)
	}
	for i := range l.Codes {
		n += len(l.Codes[i].Code)
	}
	return n
}

// records is what the layer takes of a generation's arena, at most.
func (l *Layer) records() int {
	rows := len(l.Accounts) + len(l.Slots) + len(l.Branches)
	marks := (recordHead + accountKeyLen + 2*recordAlign) * (len(l.Slots) + len(l.Branches))
	n := l.bytes() + rows*(recordHead+recordAlign) + marks
	return n + n/2 + arenaChunkBytes // no record straddles chunks: up to a quarter of each is left
}

func compareSlots(a, b *SlotWrite) int {
	if c := bytes.Compare(a.Account[:], b.Account[:]); c != 0 {
		return c
	}
	return bytes.Compare(a.Slot[:], b.Slot[:])
}

// rowOrder sorts branch writes by their keys, mostly without looking at them.
type rowOrder struct {
	rank  uint64 // of the key: its first bytes, packed
	index int32  // in Layer.Branches
}

// branchRank is the start of the branch's key, packed so that it sorts alike. Equal ranks need the
// whole keys.
func branchRank(w *BranchWrite) uint64 {
	if w.Storage {
		return 1<<63 | binary.BigEndian.Uint64(w.Account[:])>>1
	}
	return binary.BigEndian.Uint64(w.Path.Key[:]) >> 1
}

func compareBranches(a, b *BranchWrite) int {
	if a.Storage != b.Storage {
		if a.Storage {
			return 1
		}
		return -1
	}
	if a.Storage {
		if c := bytes.Compare(a.Account[:], b.Account[:]); c != 0 {
			return c
		}
	}
	return a.Path.Compare(b.Path)
}

// sortedBranches fills dst with the order of keys.
func (l *Layer) sortedBranches(dst []rowOrder) []rowOrder {
	dst = dst[:0]
	sorted := true
	for i := range l.Branches {
		w := &l.Branches[i]
		if sorted && i > 0 && compareBranches(&l.Branches[i-1], w) > 0 {
			sorted = false
		}
		dst = append(dst, rowOrder{branchRank(w), int32(i)})
	}
	if !sorted {
		slices.SortFunc(dst, func(a, b rowOrder) int {
			if a.rank != b.rank {
				return cmp.Compare(a.rank, b.rank)
			}
			return compareBranches(&l.Branches[a.index], &l.Branches[b.index])
		})
	}
	return dst
}
