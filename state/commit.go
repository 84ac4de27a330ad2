package state

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/rlp"
)

// Commit makes the block's layer the state, in one atomic step, and acknowledges it durably unless
// Options.NoSync is set. expect must be the cursor (ErrCursorMoved), and the block its child
// (ErrNotChild); the layer must be well-formed (ErrBadLayer). On these errors, ErrNotBuilt,
// ErrReadOnly and ErrClosed nothing was written. On ErrStoreFailed the store still shows the state
// before; whether the block is in it will be seen when it is opened again.
func (s *Store) Commit(expect Cursor, b Block, l *Layer) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.commit(expect, b, l); err != nil {
		return fmt.Errorf("commit block %x on %v: %w", b.Hash, expect, err)
	}
	return nil
}

func (s *Store) commit(expect Cursor, b Block, l *Layer) error {
	if err := s.mayCommit(expect); err != nil {
		return err
	}
	if err := checkChild(expect, b); err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	if len(b.BAL) > maxLayerBytes {
		return fmt.Errorf("%w: block access list of %d bytes", ErrBadLayer, len(b.BAL))
	}
	codes, err := s.newCodes(l.Codes)
	if err != nil {
		return err
	}
	header, err := rlp.EncodeToBytes(b.Header)
	if err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	rows := *l
	rows.Codes = codes
	to := Cursor{Number: b.Header.Number.Uint64(), Hash: b.Hash, Root: b.Header.Root}
	return s.apply(to, func(batch *pebble.Batch) (bool, error) {
		if err := logBlock(batch, to, header, b.BAL); err != nil {
			return false, err
		}
		return s.checkpoint(batch, to, &rows)
	})
}

// mayCommit says why no block can be written on top of expect, if so. The caller holds s.writing.
func (s *Store) mayCommit(expect Cursor) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	if s.bulk != nil {
		return ErrBuilding
	}
	cursor, built := s.Cursor()
	switch {
	case !built:
		return ErrNotBuilt
	case cursor != expect:
		return fmt.Errorf("%w: it is at %v", ErrCursorMoved, cursor)
	}
	return nil
}

func checkChild(parent Cursor, b Block) error {
	h := b.Header
	switch {
	case h == nil || h.Number == nil || !h.Number.IsUint64():
		return fmt.Errorf("%w: no header, or no number in it", ErrNotChild)
	case h.Number.Uint64() != parent.Number+1:
		return fmt.Errorf("%w: its number is %v", ErrNotChild, h.Number)
	case h.ParentHash != parent.Hash:
		return fmt.Errorf("%w: its parent is %x", ErrNotChild, h.ParentHash)
	}
	if hash := h.Hash(); hash != b.Hash {
		return fmt.Errorf("%w: its header's hash is %x", ErrNotChild, hash)
	}
	return nil
}

// newCodes leaves out the codes that the store has: undoing the block must not take them away.
func (s *Store) newCodes(codes []CodeWrite) ([]CodeWrite, error) {
	var kept []CodeWrite
	var key [accountKeyLen]byte
	for i := range codes {
		_, closer, err := s.db.Get(appendHashKey(key[:0], spaceCode, &codes[i].Hash))
		switch {
		case err == nil:
			if err := closer.Close(); err != nil {
				return nil, err
			}
		case isNotFound(err):
			kept = append(kept, codes[i])
		default:
			return nil, fmt.Errorf("code %x: %w", codes[i].Hash, readError(err))
		}
	}
	return kept, nil
}

// apply writes what fill puts into a batch, and moves the cursor. fill reports false where rows
// were left out of the overlay. Nothing but the batch and the overlay's invisible part changes
// before Pebble has taken the batch.
func (s *Store) apply(to Cursor, fill func(*pebble.Batch) (bool, error)) error {
	s.mu.Lock()
	_, err := s.currentLocked()
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("view of the parent: %w", err)
	}
	batch := s.blockBatch()
	complete, err := fill(batch)
	if err != nil {
		// The overlay may have rows of this commit already, and they must never be seen.
		s.fail.set(fmt.Errorf("fill a block's batch: %w", err))
		return s.fail.err()
	}
	sync := s.syncOption()
	if err := s.fail.run(func() error { return s.db.Apply(batch, sync) }); err != nil {
		s.fail.set(err)
		return s.fail.err()
	}
	return s.moveCursor(to, complete)
}

// moveCursor shows the block that was just written. Where the overlay does not have all of its
// rows, or has grown too large, they move to tables first.
func (s *Store) moveCursor(to Cursor, complete bool) error {
	at := maybeCursor{to, true}
	full := !s.plainReads() && (!complete || s.recent.bytes() > s.overlayBytes())
	if full {
		if err := s.flush(at); err != nil {
			s.fail.set(err)
			return s.fail.err()
		}
	}
	var gens []*generation
	var written *generation
	if !full && !s.plainReads() {
		gens, written = s.recent.retire()
	}
	s.mu.Lock()
	old := s.view
	s.view, s.cursor = nil, to
	switch {
	case full:
		s.recent.start(at, s.keepBytes())
	case !s.plainReads():
		s.recent.gens, s.recent.written = gens, written
		s.recent.commit(to, s.generationBytes())
	}
	s.mu.Unlock()
	s.drop(old)
	return nil
}

// drop gives back the store's reference to a view that is no longer current. What was written
// stands, whatever that view's end is.
func (s *Store) drop(old *view) {
	if err := old.unref(); err != nil {
		s.log.Warn("closing a view failed", "err", err)
	}
}

// logBlock is the first step of a commit: the block itself, enough to apply it again.
func logBlock(b *pebble.Batch, c Cursor, header, bal []byte) error {
	if err := b.Set(appendHashKey(nil, spaceBAL, &c.Hash), bal, nil); err != nil {
		return err
	}
	return logHeader(b, c, header)
}

// logHeader writes a header and its number.
func logHeader(b *pebble.Batch, c Cursor, header []byte) error {
	key := appendNumberHashKey(nil, spaceHeader, c.Number, &c.Hash)
	if err := b.Set(key, header, nil); err != nil {
		return err
	}
	number := binary.BigEndian.AppendUint64(nil, c.Number)
	return b.Set(appendHashKey(nil, spaceNumber, &c.Hash), number, nil)
}

// checkpoint writes the rows of the layers since the last one, which with a checkpoint at every
// block is one layer, their reverse diffs, and the cursor. Each row goes to the overlay on the way;
// false where the overlay could not take them all.
func (s *Store) checkpoint(b *pebble.Batch, c Cursor, l *Layer) (complete bool, err error) {
	complete, err = s.writeRows(b, l)
	if err != nil {
		return false, err
	}
	for i := range l.Codes {
		key := appendHashKey(nil, spaceCode, &l.Codes[i].Hash)
		if err := b.Set(key, l.Codes[i].Code, nil); err != nil {
			return false, err
		}
	}
	diff := l.appendReverseDiff(nil)
	key := appendNumberHashKey(nil, spaceReverseDiff, c.Number, &c.Hash)
	if err := b.Set(key, diff, nil); err != nil {
		return false, err
	}
	return complete, b.Set([]byte(metaCursor), appendCursor(nil, &c), nil)
}
