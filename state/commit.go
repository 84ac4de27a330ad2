package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa/internal/mutants"
)

// Commit makes the block's layer the state and acknowledges the block: it is in the log, durably
// unless Options.NoSync is set, and its rows are in memory until a checkpoint writes them. expect
// must be the cursor (ErrCursorMoved), and the block its child (ErrNotChild); the layer must be
// well-formed (ErrBadLayer). On these errors, ErrNotBuilt, ErrLogged, ErrReadOnly and ErrClosed
// nothing was written. On ErrStoreFailed the store still shows the state before; whether the block
// is in it will be seen when it is opened again.
//
// Blocks of Logged are not logged again: they are in the log.
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
	e := logEntry{
		kind: logApplied, number: b.Header.Number.Uint64(), hash: b.Hash, bal: b.BAL,
	}
	if err := s.mayLog(&e); err != nil {
		return err
	}
	codes, err := s.newCodes(l.Codes)
	if err != nil {
		return err
	}
	if e.header, err = rlp.EncodeToBytes(b.Header); err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	rows := *l
	rows.Codes = codes
	old, err := s.prune(e.number)
	if err != nil {
		return fmt.Errorf("begin of the history: %w", err)
	}
	to := Cursor{Number: e.number, Hash: b.Hash, Root: b.Header.Root}
	err = s.apply(to, &e, &rows, func(w *rowWriter) {
		w.newBlock(&e, &rows)
		for _, key := range old.keys {
			w.block(key, nil)
		}
	})
	if err == nil {
		s.oldest = old.oldest
	}
	return err
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
	if len(codes) == 0 {
		return nil, nil
	}
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	var kept []CodeWrite
	var key keyBuf
	for i := range codes {
		found, e := v.get(appendHashKey(key[:0], spaceCode, &codes[i].Hash), ignoreRow)
		if e != nil {
			err = fmt.Errorf("code %x: %w", codes[i].Hash, e)
			break
		}
		if !found {
			kept = append(kept, codes[i])
		}
	}
	return kept, errors.Join(err, s.release(v))
}

func ignoreRow([]byte) error { return nil }

// apply logs a commit, adds its rows to the overlay and moves the cursor. block adds the rows that
// are not the layer's. Until the cursor moves nobody sees any of it.
func (s *Store) apply(to Cursor, e *logEntry, l *Layer, block func(w *rowWriter)) error {
	if err := s.makeRoom(l.records()); err != nil {
		return err
	}
	logged, err := s.writeLog(e)
	if err != nil {
		return err
	}
	runtime.Gosched() // lets the log's write start before the rows are added beside it
	w := s.newRowWriter()
	s.order = l.sortedBranches(s.order)
	w.layer(l, s.order)
	block(w)
	w.block([]byte(metaCursor), appendCursor(nil, &to))
	if err = <-logged; err == nil && w.full {
		err = fmt.Errorf("the overlay does not take a layer of %d bytes", l.bytes())
	}
	if err != nil {
		// The overlay has rows of this commit already, and they must never be seen.
		s.fail.set(err)
		return s.fail.err()
	}
	return s.moveCursor(to, e)
}

// moveCursor shows the block that was just written, and starts a checkpoint where one is due. What
// becomes of that does not matter to the block, which is logged.
func (s *Store) moveCursor(to Cursor, e *logEntry) error {
	s.mu.Lock()
	old := s.view
	s.view, s.cursor = nil, to
	s.loggedLocked(e)
	s.recent.commit()
	s.commits.Add(1)
	s.mu.Unlock()
	if old != nil {
		s.drop(old)
	}
	if s.due() {
		if c := s.beginCheckpoint(); s.opts.CheckpointBlocks == 1 {
			_ = s.ended(c)
		}
	}
	return nil
}

// drop gives back the store's reference to a view that is no longer current. What was written
// stands, whatever that view's end is.
func (s *Store) drop(old *view) {
	if err := old.unref(); err != nil {
		s.log.Warn("closing a view failed", "err", err)
	}
}

// newBlock adds the rows of a block that is applied: header, number, access list, reverse diff, and
// the codes that it brings.
func (w *rowWriter) newBlock(e *logEntry, l *Layer) {
	number := binary.BigEndian.AppendUint64(nil, e.number)
	w.block(appendNumberHashKey(nil, spaceHeader, e.number, &e.hash), e.header)
	w.block(appendHashKey(nil, spaceNumber, &e.hash), number)
	w.block(appendHashKey(nil, spaceBAL, &e.hash), append([]byte{}, e.bal...))
	w.block(appendNumberHashKey(nil, spaceReverseDiff, e.number, &e.hash),
		l.appendReverseDiff(nil))
	for i := range l.Codes {
		key := appendHashKey(nil, spaceCode, &l.Codes[i].Hash)
		w.block(key, append([]byte{}, l.Codes[i].Code...))
	}
}

// undoBlock removes the rows of a block that is undone.
func (w *rowWriter) undoBlock(e *logEntry, diff *ReverseDiff) {
	w.block(appendNumberHashKey(nil, spaceHeader, e.number, &e.hash), nil)
	if mutants.Active != mutants.KeepUndoneHeaders {
		w.block(appendHashKey(nil, spaceNumber, &e.hash), nil)
	}
	w.block(appendHashKey(nil, spaceBAL, &e.hash), nil)
	w.block(appendNumberHashKey(nil, spaceReverseDiff, e.number, &e.hash), nil)
	for i := range diff.Codes {
		w.block(appendHashKey(nil, spaceCode, &diff.Codes[i]), nil)
	}
}
