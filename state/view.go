package state

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/balsa-sync/balsa/internal/mutants"
)

// view is one consistent state of the store, shared by those who read it. It is counted: the store
// holds one reference while it is current, each snapshot, reader and iterator another.
//
// It rests on iterators that are never moved, only cloned: an iterator holds on to tables and
// memtables as they were. Pebble's snapshots will not do: closing one waits for the manifest's
// lock, which a failed store may never give up.
type view struct {
	cursor Cursor
	built  bool
	refs   atomic.Int32

	// gens hold all rows written since the block that files shows, newest generation first, and last
	// a cache of rows from before. Empty where the store is read-only.
	gens []*generation
	seq  uint64 // rows of later commits in gens are not for this view

	mu sync.Mutex // guards cloning, and idle
	// all sees everything that Pebble holds: the state of a checkpoint not after the cursor, and the
	// log.
	all *pebble.Iterator
	// files sees the same in Pebble's tables alone, which hold all of it but the log. It is nil where
	// reads are plain.
	files *pebble.Iterator
	idle  []*pebble.Iterator // clones of all, for point reads
}

// acquire returns the view at the cursor with a reference for the caller, who gives it back with
// release.
func (s *Store) acquire() (*view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	v, err := s.currentLocked()
	if err != nil {
		return nil, err
	}
	v.refs.Add(1)
	s.users++
	return v, nil
}

// share adds a reference for another user of v.
func (s *Store) share(v *view) {
	v.refs.Add(1)
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

// release gives back what acquire or share gave.
func (s *Store) release(v *view) error {
	err := v.unref()
	s.mu.Lock()
	s.users--
	s.mu.Unlock()
	return err
}

// currentLocked returns the view at the cursor and makes it where there is none. The caller holds
// s.mu. A checkpoint may bring rows into the database meanwhile: the generation that they are of
// covers them until a view can do without. A build's commit has nothing of the kind, so it calls
// this before it starts, and all who come before it has ended find a view.
func (s *Store) currentLocked() (*view, error) {
	if s.view != nil {
		return s.view, nil
	}
	v := &view{cursor: s.cursor, built: s.built}
	v.refs.Store(1)
	if !s.opts.ReadOnly {
		v.gens, v.seq = s.recent.view(), s.recent.seq
	}
	if !s.plainReads() {
		files, err := s.db.NewIter(&pebble.IterOptions{
			LowerBound:                []byte{spaceMeta},
			UpperBound:                []byte{spaceMeta + 1},
			OnlyReadGuaranteedDurable: true,
		})
		if err != nil {
			return nil, err
		}
		v.files = files
	}
	all, err := s.db.NewIter(nil)
	if err != nil {
		if v.files != nil {
			err = errors.Join(err, v.files.Close())
		}
		return nil, err
	}
	v.all = all
	s.view = v
	return v, nil
}

// plainReads says that what is not in the overlay is read through iterators that see everything. It
// must be so where the store is read-only: what Pebble replays from its log then stays in memory.
func (s *Store) plainReads() bool { return s.opts.plain || s.opts.ReadOnly }

// filesCursor returns the cursor that the tables hold; ok is false before the first.
func filesCursor(files *pebble.Iterator) (inFiles maybeCursor, err error) {
	if files.SeekGE([]byte(metaCursor)) && string(files.Key()) == metaCursor {
		c, err := decodeCursor(files.Value())
		if err != nil {
			return maybeCursor{}, errors.Join(ErrCorrupt, err)
		}
		return maybeCursor{c, true}, nil
	}
	return maybeCursor{}, readError(files.Error())
}

// maybeCursor is a cursor, or none.
type maybeCursor struct {
	Cursor
	ok bool
}

// unref drops a reference; the last one closes the view.
func (v *view) unref() error {
	if v.refs.Add(-1) > 0 {
		return nil
	}
	var errs []error
	for _, it := range append(v.idle, v.all, v.files) {
		if it != nil {
			errs = append(errs, it.Close())
		}
	}
	return readError(errors.Join(errs...))
}

// iter returns an iterator over [lower, upper) of what Pebble holds; nil is no bound.
func (v *view) iter(lower, upper []byte) (*pebble.Iterator, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	o := &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
	if !v.built { // rows of a build that goes on are no state
		o.KeyTypes = pebble.IterKeyTypeRangesOnly // of which there are none
	}
	return v.all.Clone(pebble.CloneOptions{IterOptions: o})
}

// filesIter returns an iterator over one key space that sees the view's tables alone.
func (v *view) filesIter(space byte) (*pebble.Iterator, error) {
	if !v.built {
		return v.iter([]byte{space}, []byte{space + 1})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.files.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{
		LowerBound:                []byte{space},
		UpperBound:                []byte{space + 1},
		OnlyReadGuaranteedDurable: true,
	}})
}

// get calls f with the value of the row with the given key, valid during the call; found is false,
// and f is not called, where there is none. It is safe for concurrent use.
func (v *view) get(key []byte, f func(value []byte) error) (found bool, err error) {
	if !v.built {
		return false, nil
	}
	switch value, st := v.overlayRow(key); st {
	case rowPresent:
		return true, f(value)
	case rowDeleted:
		return false, nil
	}
	it, err := v.takeIdle()
	if err != nil {
		return false, readError(err)
	}
	defer v.putIdle(it)
	if !it.SeekPrefixGE(key) {
		return false, readError(it.Error())
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return false, readError(err)
	}
	return true, f(value)
}

func (v *view) takeIdle() (*pebble.Iterator, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.idle); n > 0 {
		it := v.idle[n-1]
		v.idle = v.idle[:n-1]
		return it, nil
	}
	return v.all.Clone(pebble.CloneOptions{})
}

func (v *view) putIdle(it *pebble.Iterator) {
	if it.Error() != nil {
		_ = it.Close() // returns the error that the read has returned
		return
	}
	v.mu.Lock()
	v.idle = append(v.idle, it)
	v.mu.Unlock()
}

// recentRow looks a row up among those written lately. A row that is not among them stands in the
// view's tables as it is.
func (v *view) recentRow(key []byte) (value []byte, st rowState) {
	if len(v.gens) == 0 {
		return nil, rowUnknown
	}
	ahead := uint64(0)
	if mutants.Active == mutants.SeeNextBlock {
		ahead = 1
	}
	h := hashKey(key)
	for _, g := range v.gens {
		if value, st = g.get(h, key, v.seq+ahead); st != rowUnknown {
			return value, st
		}
	}
	return nil, rowUnknown
}

// overlayRow looks a row of any key space up among those written lately.
func (v *view) overlayRow(key []byte) (value []byte, st rowState) {
	if _, ok := seekSpaceOf(key[0]); ok {
		return v.recentRow(key)
	}
	for _, g := range v.gens {
		if value, st = g.blocks.get(key, v.seq); st != rowUnknown {
			return value, st
		}
	}
	return nil, rowUnknown
}
