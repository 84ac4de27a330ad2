package balactor

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/state"
)

// undoOf finds the next block to undo on the way to the block with hash to. nil: to is the cursor.
// With whole set it makes sure that the way there is in the store before the first step is taken.
//
// The store holds the headers of the cursor's branch alone (Revert removes those of undone
// blocks), so a known block is an ancestor.
func undoOf(w *wanted, sn *state.Snapshot, cursor state.Cursor, to common.Hash, whole bool) (
	*undoStep, error) {
	if to == cursor.Hash {
		return nil, nil
	}
	target, known, err := sn.HeaderNumber(to)
	if err != nil {
		return nil, err
	}
	if !known || target >= cursor.Number {
		return nil, fmt.Errorf("%w, or older than the history that the store keeps: the cursor is "+
			"block %d (%s)", ErrNotAncestor, cursor.Number, cursor.Hash)
	}
	last := cursor.Number
	if whole {
		last = target + 1
	}
	var step *undoStep
	number, hash := cursor.Number, cursor.Hash
	for ; number >= last; number-- {
		if err := w.err(); err != nil {
			return nil, err
		}
		u, err := undoOne(sn, number, hash)
		if err != nil {
			return nil, err
		}
		if step == nil {
			step = u
		}
		hash = u.to.Hash
	}
	return step, nil
}

// missingRow marks the error of a header or a reverse diff that is not there: the store has those
// of every block from the one that it was built at to the cursor.
func missingRow(err error) error {
	if errors.Is(err, state.ErrUnknownBlock) {
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	return err
}

// undoOne finds what undoing one block needs.
func undoOne(sn *state.Snapshot, number uint64, hash common.Hash) (*undoStep, error) {
	h, err := sn.Header(number, hash)
	if err != nil {
		return nil, missingRow(err)
	}
	ph, err := sn.Header(number-1, h.ParentHash)
	if err != nil {
		return nil, missingRow(err)
	}
	if _, err := sn.ReverseDiff(number, hash); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHistory, missingRow(err))
	}
	return &undoStep{header: h, to: state.Cursor{
		Number: number - 1, Hash: h.ParentHash, Root: ph.Root,
	}}, nil
}

// header is the header of the block that the pass applies or undoes, nil where it is not known.
func (b *block) header() *types.Header {
	switch {
	case b.request.apply != nil && checkHeader(b.request.apply.Header) == nil:
		return b.request.apply.Header
	case b.request.rewind != nil && b.parent != nil && b.parent.undo != nil:
		return b.parent.undo.header
	}
	return nil
}
