package state

import (
	"bytes"
	"errors"
	"fmt"
)

// Revert undoes the block at the cursor: it makes the layer, which goes back to the state of the
// block's parent, the state, and removes the block's header, access list and reverse diff and the
// codes that it brought. Afterwards every row is as in a store that never saw the block.
//
// expect must be the cursor, and to its parent (ErrCursorMoved, ErrNotChild). The layer's Post
// values must be the reverse diff's Pre values (ErrBadLayer). On errors, and on what is
// acknowledged, see Commit.
func (s *Store) Revert(expect, to Cursor, l *Layer) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.revert(expect, to, l); err != nil {
		return fmt.Errorf("revert %v to %v: %w", expect, to, err)
	}
	return nil
}

func (s *Store) revert(expect, to Cursor, l *Layer) error {
	if err := s.mayCommit(expect); err != nil {
		return err
	}
	e := logEntry{kind: logUndone, number: expect.Number, hash: expect.Hash}
	if err := s.mayLog(&e); err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	sn := s.NewSnapshot()
	diff, err := sn.checkRevert(expect, to, l)
	if err = errors.Join(err, sn.Close()); err != nil {
		return err
	}
	return s.apply(to, &e, l, func(w *rowWriter) { w.undoBlock(&e, diff) })
}

// checkRevert compares what is asked with what the store knows of the block and its parent, and
// returns the block's reverse diff.
func (sn *Snapshot) checkRevert(expect, to Cursor, l *Layer) (*ReverseDiff, error) {
	h, err := sn.Header(expect.Number, expect.Hash)
	if err != nil {
		return nil, err
	}
	if h.ParentHash != to.Hash || expect.Number != to.Number+1 {
		return nil, fmt.Errorf("%w: the parent of %v is %x", ErrNotChild, expect, h.ParentHash)
	}
	parent, err := sn.Header(to.Number, to.Hash)
	if err != nil {
		return nil, err
	}
	if parent.Root != to.Root {
		return nil, fmt.Errorf("%w: the parent's root is %x", ErrNotChild, parent.Root)
	}
	diff, err := sn.ReverseDiff(expect.Number, expect.Hash)
	if err != nil {
		return nil, err
	}
	if err := matchAccounts(diff.Accounts, l.Accounts); err != nil {
		return nil, err
	}
	return diff, matchSlots(diff.Slots, l.Slots)
}

// matchAccounts checks that the layer restores what the reverse diff has, and nothing else.
func matchAccounts(diff, layer []AccountWrite) error {
	for i, j := 0, 0; i < len(diff) || j < len(layer); {
		switch {
		case j < len(layer) && bytes.Equal(layer[j].Pre, layer[j].Post):
			j++ // changes nothing
			continue
		case i == len(diff), j < len(layer) && bytes.Compare(layer[j].Hash[:], diff[i].Hash[:]) < 0:
			return fmt.Errorf("%w: account %x is not in the reverse diff", ErrBadLayer, layer[j].Hash)
		case j == len(layer) || layer[j].Hash != diff[i].Hash:
			return fmt.Errorf("%w: account %x is missing", ErrBadLayer, diff[i].Hash)
		case !bytes.Equal(layer[j].Post, diff[i].Pre):
			return fmt.Errorf("%w: account %x is not as in the reverse diff", ErrBadLayer, diff[i].Hash)
		}
		i, j = i+1, j+1
	}
	return nil
}

// matchSlots is matchAccounts for slots.
func matchSlots(diff, layer []SlotWrite) error {
	for i, j := 0, 0; i < len(diff) || j < len(layer); {
		switch {
		case j < len(layer) && bytes.Equal(layer[j].Pre, layer[j].Post):
			j++ // changes nothing
			continue
		case i == len(diff), j < len(layer) && compareSlots(&layer[j], &diff[i]) < 0:
			return fmt.Errorf("%w: slot %x of %x is not in the reverse diff", ErrBadLayer,
				layer[j].Slot, layer[j].Account)
		case j == len(layer) || compareSlots(&layer[j], &diff[i]) != 0:
			return fmt.Errorf("%w: slot %x of %x is missing", ErrBadLayer, diff[i].Slot,
				diff[i].Account)
		case !bytes.Equal(layer[j].Post, diff[i].Pre):
			return fmt.Errorf("%w: slot %x of %x is not as in the reverse diff", ErrBadLayer,
				diff[i].Slot, diff[i].Account)
		}
		i, j = i+1, j+1
	}
	return nil
}
