package state

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/balsa-sync/balsa/internal/mutants"
)

// Store is an open store. One goroutine at a time writes (Commit, Revert, a Bulk build): writers
// wait for each other. Any number of goroutines read, through snapshots.
type Store struct {
	opts Options
	fs   vfs.FS
	fail *failure
	log  *slog.Logger
	lock *pebble.Lock
	db   *pebble.DB

	stalls    stalls
	observing sync.RWMutex // held by who reads Metrics: the database is not closed meanwhile

	// writing is held by whoever writes; it guards the fields below.
	writing sync.Mutex
	commits atomic.Uint64 // since the store was opened
	batch   *pebble.Batch // reused from block to block
	order   []rowOrder    // reused: the order of a layer's branch rows
	bulk    *Bulk         // the open build, or nil
	logSeq  uint64        // the log entry that leads to the cursor
	logEnd  uint64        // the last log entry
	trimmed uint64        // log entries up to this one are removed
	oldest  oldestBlock   // once it was looked for

	// mu guards the fields below. It may be taken while writing is held, not the other way round.
	mu      sync.Mutex
	closed  bool
	built   bool
	cursor  Cursor
	chainID uint64
	recent  recent
	view    *view // of the cursor; nil until someone asks for it
	users   int   // snapshots, readers and iterators that are not closed

	running      *checkpoint // nil: none
	checkpointed uint64      // the last log entry that the tables include
	pending      []Logged    // to be done again before anything else
}

// Cursor returns the block whose state the store holds; false if nothing is built yet.
func (s *Store) Cursor() (Cursor, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursor, s.built
}

// ChainID returns the chain id that the store was built for, zero before it is built.
func (s *Store) ChainID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chainID
}

// Close closes the store. It waits for a write under way and pauses an open bulk build. With
// snapshots, readers or iterators still open it does nothing and returns ErrSnapshotsOpen: it may
// be called again once they are closed. What is not in tables yet goes there. Everything
// acknowledged is durable already where NoSync is not set. After a failure of the store it returns
// ErrStoreFailed and leaves the directory locked.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("close store: %w", ErrClosed)
	}
	if s.users > 0 {
		n := s.users
		s.mu.Unlock()
		return fmt.Errorf("close store: %w (%d)", ErrSnapshotsOpen, n)
	}
	s.closed = true
	v := s.view
	s.view = nil
	s.mu.Unlock()

	var errs []error
	if v != nil {
		errs = append(errs, v.unref())
	}
	if !s.opts.ReadOnly {
		errs = append(errs, s.lastCheckpoint())
	}
	if s.bulk != nil {
		errs = append(errs, s.bulk.pause())
	}
	errs = append(errs, s.closePebble())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// lastCheckpoint leaves nothing to do again for the next Open. Without it, after an error, the log
// does as well.
func (s *Store) lastCheckpoint() error {
	if s.fail.err() != nil {
		return nil // closePebble tells
	}
	if err := s.checkpointNow(); err != nil {
		return err
	}
	b := s.db.NewBatch()
	if err := s.trimLog(b, s.checkpointed); err != nil || b.Empty() {
		return errors.Join(err, b.Close())
	}
	if err := s.fail.run(func() error { return s.db.Apply(b, pebble.NoSync) }); err != nil {
		return err
	}
	return b.Close()
}

// closePebble closes the database and gives up the lock.
func (s *Store) closePebble() error {
	s.observing.Lock()
	defer s.observing.Unlock()
	var err error
	if s.batch != nil && s.fail.err() == nil {
		err = s.batch.Close()
		s.batch = nil
	}
	if g, ok := s.fs.(*guardFS); ok {
		if s.fail.err() == nil {
			g.mode.Store(guardOff) // an error of closing may reach Pebble, and us
		}
	}
	if e := s.fail.run(s.db.Close); e != nil {
		err = errors.Join(err, e)
	}
	return errors.Join(err, s.unlock())
}

// unlock gives up the directory, unless Pebble's goroutines may still hold its files.
func (s *Store) unlock() error {
	if err := s.fail.err(); err != nil {
		abandoned.add(&s.opts, err)
		return nil
	}
	return s.lock.Close()
}

// mayWrite says why the store takes no writes, if so. The caller holds s.writing.
func (s *Store) mayWrite() error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case s.opts.ReadOnly:
		return ErrReadOnly
	}
	return s.fail.err()
}

// syncOption is how blocks are acknowledged.
func (s *Store) syncOption() *pebble.WriteOptions {
	if s.opts.NoSync || mutants.Active == mutants.AckBeforeSync {
		return pebble.NoSync
	}
	return pebble.Sync
}

// write applies a small synced batch that fill fills.
func (s *Store) write(fill func(b *pebble.Batch) error) error {
	b := s.db.NewBatch()
	if err := fill(b); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := s.fail.run(func() error { return s.db.Apply(b, pebble.Sync) }); err != nil {
		return err
	}
	return b.Close()
}

// blockBatch returns the batch that blocks are written with, empty.
func (s *Store) blockBatch() *pebble.Batch {
	if s.batch == nil {
		s.batch = s.db.NewBatch(
			pebble.WithInitialSizeBytes(1<<20), pebble.WithMaxRetainedSizeBytes(64<<20))
	}
	s.batch.Reset()
	return s.batch
}

// Rows calls f with every row of the state and its blocks, in order of key; the log is not in it.
// Key and value are valid during the call only. Two stores with the same rows are the same,
// whatever their files look like.
func (s *Store) Rows(f func(key, value []byte) error) error {
	sn := s.NewSnapshot()
	w := sn.walk(nil, nil)
	err := w.err
	for err == nil && w.Next() {
		err = f(w.it.Key(), w.Value())
	}
	return errors.Join(err, w.Close(), sn.Close())
}
