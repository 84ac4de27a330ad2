package state

import (
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// BlockIter walks the rows of one key space that are filed under blocks.
type BlockIter struct {
	walk
	what     string
	numbered bool // the key has the block's number before its hash
	number   uint64
	hash     common.Hash
}

func (sn *Snapshot) blocks(space byte, what string, numbered bool) *BlockIter {
	w := sn.walk([]byte{space}, []byte{space + 1})
	return &BlockIter{walk: w, what: what, numbered: numbered}
}

// Headers walks the headers of all blocks, by their numbers.
func (sn *Snapshot) Headers() *BlockIter { return sn.blocks(spaceHeader, "header", true) }

// ReverseDiffs walks the reverse diffs of all blocks, by the blocks' numbers.
func (sn *Snapshot) ReverseDiffs() *BlockIter {
	return sn.blocks(spaceReverseDiff, "reverse diff", true)
}

// Numbers walks the numbers of all blocks, by the blocks' hashes.
func (sn *Snapshot) Numbers() *BlockIter { return sn.blocks(spaceNumber, "number", false) }

// BALs walks the block access lists of all blocks, by the blocks' hashes.
func (sn *Snapshot) BALs() *BlockIter { return sn.blocks(spaceBAL, "block access list", false) }

// Next moves to the next row.
func (i *BlockIter) Next() bool {
	for i.walk.Next() {
		k := i.it.Key()[1:]
		if i.numbered && len(k) == 8+common.HashLength {
			i.number, k = binary.BigEndian.Uint64(k), k[8:]
		}
		if len(k) == common.HashLength {
			copy(i.hash[:], k)
			return true
		}
		if !i.bad(i.what) {
			return false
		}
	}
	return false
}

// Number returns the block's number as the key has it, zero where it has none.
func (i *BlockIter) Number() uint64 { return i.number }

// Hash returns the block's hash as the key has it.
func (i *BlockIter) Hash() common.Hash { return i.hash }

// Header decodes a row of Headers.
func (i *BlockIter) Header() (*types.Header, error) {
	h := new(types.Header)
	if err := rlp.DecodeBytes(i.Value(), h); err != nil {
		return nil, fmt.Errorf("header of block %d (%x): %w", i.number, i.hash, corrupt(err))
	}
	return h, nil
}

// ReverseDiff decodes a row of ReverseDiffs.
func (i *BlockIter) ReverseDiff() (*ReverseDiff, error) {
	d, err := DecodeReverseDiff(i.Value())
	if err != nil {
		return nil, fmt.Errorf("reverse diff of block %d (%x): %w", i.number, i.hash, corrupt(err))
	}
	return d, nil
}

// HasReverseDiff reports whether ReverseDiff would find a row.
func (sn *Snapshot) HasReverseDiff(number uint64, hash common.Hash) (bool, error) {
	key := appendNumberHashKey(nil, spaceReverseDiff, number, &hash)
	return sn.get(key, func([]byte) error { return nil })
}

// HasHeader reports whether Header would find a row.
func (sn *Snapshot) HasHeader(number uint64, hash common.Hash) (bool, error) {
	key := appendNumberHashKey(nil, spaceHeader, number, &hash)
	return sn.get(key, func([]byte) error { return nil })
}

// CodesMayBeMissing reports whether the state was built without all of its accounts' codes.
func (sn *Snapshot) CodesMayBeMissing() (bool, error) {
	return sn.get([]byte(metaNoCodes), func([]byte) error { return nil })
}

// spaces are all key spaces, ascending.
const spaces = "ASabchlmnrs"

// EachUnknown calls f with the key of every row that is in no key space, valid during the call.
func (sn *Snapshot) EachUnknown(f func(key []byte) error) error {
	lower := []byte(nil)
	for i := 0; i <= len(spaces); i++ {
		var upper []byte // nil: no bound
		if i < len(spaces) {
			upper = []byte{spaces[i]}
		}
		if err := sn.eachKey(lower, upper, f); err != nil {
			return err
		}
		if i < len(spaces) {
			lower = []byte{spaces[i] + 1}
		}
	}
	return nil
}

func (sn *Snapshot) eachKey(lower, upper []byte, f func(key []byte) error) error {
	if len(lower) > 0 && len(upper) > 0 && lower[0] == upper[0] {
		return nil // two spaces side by side
	}
	w := sn.walk(lower, upper)
	defer w.Close()
	for w.Next() {
		if err := f(w.it.Key()); err != nil {
			return err
		}
	}
	return w.Error()
}
