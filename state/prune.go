package state

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// pruneSteps is by how many blocks one commit moves the history's begin at most. One a block keeps
// up; a store that kept everything before gets there over its next blocks.
const pruneSteps = 64

// oldestBlock is the first block that a store knows: that which it was built at, or at which its
// history begins. It has a header and nothing else.
type oldestBlock struct {
	number uint64
	hash   common.Hash
	known  bool
}

// pruned is what a commit takes away.
type pruned struct {
	keys   [][]byte
	oldest oldestBlock
}

// prune says what the commit of the block with the given number takes away, so that the store is
// as one that was built History blocks before it. Nobody needs it any more: blocks are undone, and
// older states are read, through the reverse diffs that are left, and a crash is recovered from by
// the log, which has its own copy of what no checkpoint has. Nothing has happened yet when it
// returns. The caller holds s.writing.
func (s *Store) prune(number uint64) (p pruned, err error) {
	p.oldest = s.oldest
	if s.opts.History == 0 || number <= s.opts.History {
		return p, nil
	}
	begin := number - s.opts.History
	if p.oldest.known && p.oldest.number >= begin {
		return p, nil
	}
	sn := s.NewSnapshot()
	defer func() { err = errors.Join(err, sn.Close()) }()
	if err := sn.Err(); err != nil {
		return p, err
	}
	if !p.oldest.known {
		it := sn.Headers()
		if it.Next() {
			p.oldest = oldestBlock{it.Number(), it.Hash(), true}
		}
		if err := errors.Join(it.Error(), it.Close()); err != nil || !p.oldest.known {
			return p, err
		}
	}
	for range pruneSteps {
		if p.oldest.number >= begin {
			break
		}
		next := oldestBlock{number: p.oldest.number + 1, known: true}
		var ok bool
		if next.hash, ok, err = sn.BlockHash(next.number); err != nil {
			return p, err
		} else if !ok {
			return p, fmt.Errorf("%w: there is no header of block %d", ErrCorrupt, next.number)
		}
		p.keys = append(p.keys,
			appendNumberHashKey(nil, spaceHeader, p.oldest.number, &p.oldest.hash),
			appendHashKey(nil, spaceNumber, &p.oldest.hash),
			appendHashKey(nil, spaceBAL, &next.hash),
			appendNumberHashKey(nil, spaceReverseDiff, next.number, &next.hash))
		p.oldest = next
	}
	return p, nil
}
