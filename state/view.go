package state

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// view is one consistent state of the store, shared by those who read it. It is counted: the store
// holds one reference while it is current, each snapshot, reader and iterator another.
type view struct {
	cursor Cursor
	built  bool
	refs   atomic.Int32

	// all sees everything that was written up to the cursor.
	all *pebble.Snapshot
	// files sees what Pebble's tables alone hold, at some block not after the cursor; gens hold
	// all rows written since that block, newest generation first. Both are nil where reads are
	// plain. mu guards cloning.
	mu    sync.Mutex
	files *pebble.Iterator
	gens  []*generation
	seq   uint64 // rows of later commits in gens are not for this view
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
// s.mu, and no write to Pebble is under way: a writer calls it before it starts, so that a view is
// there for all who come before it has ended.
func (s *Store) currentLocked() (*view, error) {
	if s.view != nil {
		return s.view, nil
	}
	v := &view{cursor: s.cursor, built: s.built}
	v.refs.Store(1)
	if !s.plainReads() {
		files, err := s.db.NewIter(&pebble.IterOptions{
			LowerBound:                []byte{spaceMeta},
			UpperBound:                []byte{spaceMeta + 1},
			OnlyReadGuaranteedDurable: true,
		})
		if err != nil {
			return nil, err
		}
		inFiles, err := filesCursor(files)
		if err != nil {
			return nil, errors.Join(err, files.Close())
		}
		s.recent.forget(inFiles)
		v.files, v.gens, v.seq = files, s.recent.view(), s.recent.seq
	}
	v.all = s.db.NewSnapshot()
	s.view = v
	return v, nil
}

// plainReads says that all reads go through iterators that see everything. It must be so where the
// store is read-only: what Pebble replays from its log then stays in memory.
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
	var err error
	if v.files != nil {
		err = v.files.Close()
	}
	return errors.Join(err, v.all.Close())
}

// iter returns an iterator over [lower, upper) that sees everything.
func (v *view) iter(lower, upper []byte) (*pebble.Iterator, error) {
	return v.all.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// filesIter returns an iterator over one key space that sees the view's tables alone.
func (v *view) filesIter(space byte) (*pebble.Iterator, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.files.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{
		LowerBound:                []byte{space},
		UpperBound:                []byte{space + 1},
		OnlyReadGuaranteedDurable: true,
	}})
}

// recentRow looks a row up among those written lately. A row that is not among them stands in the
// view's tables as it is.
func (v *view) recentRow(key []byte) (value []byte, st rowState) {
	if len(v.gens) == 0 {
		return nil, rowUnknown
	}
	h := hashKey(key)
	for _, g := range v.gens {
		if value, st = g.get(h, key, v.seq); st != rowUnknown {
			return value, st
		}
	}
	return nil, rowUnknown
}
