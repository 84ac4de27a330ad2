package state

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// checkpointTries is how often the tables of a checkpoint are written before the store fails.
	checkpointTries = 3
	// maxSublevels is how many layers of tables on level 0 may wait for a compaction when a
	// checkpoint adds one. A read looks into each one's filter.
	maxSublevels = 24
	// debtPause is between two looks at whether compactions have caught up.
	debtPause = 20 * time.Millisecond
)

// checkpoint is one that runs: a generation on its way to tables.
type checkpoint struct {
	gen    *generation
	cursor Cursor        // the state that it leads to
	logged uint64        // the last log entry in it
	run    func()        // does it, once
	done   chan struct{} // closed when it has ended
	err    error         // set before; the store has failed then

	begun uint64 // Store.commits then
	steps int    // rows looked at
	rows  int    // about as many there will be
}

const (
	// paceRows is after how many rows a checkpoint looks whether it lets others go first.
	paceRows = 64
	// passes is how often a checkpoint looks at a row: to put them in order, to write them, and to
	// keep some.
	passes = 3
)

// pace spreads a checkpoint over three quarters of the blocks that there are until the next one is
// due: where processors are few, it lets blocks go first as long as it is ahead of that.
func (s *Store) pace(c *checkpoint) {
	if c.steps++; c.steps%paceRows != 0 {
		return
	}
	blocks := float64(s.commits.Load() - c.begun)
	if float64(c.steps)*float64(s.opts.CheckpointBlocks)*3/4 >= float64(c.rows)*blocks {
		runtime.Gosched()
	}
}

// Checkpoint moves all that was committed to tables and waits for it: a store that is opened
// afterwards, even after a crash, has nothing to do again. It waits for a write under way.
func (s *Store) Checkpoint() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.mayWrite()
	if err == nil {
		err = s.checkpointNow()
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// checkpointNow ends the checkpoint that runs, and makes one of the rest. The caller holds
// s.writing.
func (s *Store) checkpointNow() error {
	for {
		s.mu.Lock()
		running, rest := s.running, len(s.recent.gens) > 0 && s.recent.newest().commits > 0
		s.mu.Unlock()
		switch {
		case running != nil:
		case rest:
			running = s.beginCheckpoint()
		default:
			return s.fail.err()
		}
		if err := s.ended(running); err != nil {
			return err
		}
	}
}

// ended waits for a checkpoint, and says why it failed, if it did.
func (s *Store) ended(c *checkpoint) error {
	if s.opts.Background != nil {
		c.run() // unless that was done, or is being done
	}
	<-c.done
	return c.err
}

// due reports whether the newest generation is to go to tables. The caller holds s.writing.
func (s *Store) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.recent.newest()
	return s.running == nil && (g.commits >= s.opts.CheckpointBlocks ||
		int64(s.recent.size) >= s.opts.CheckpointBytes)
}

// beginCheckpoint starts one of all that was committed. None runs. The caller holds s.writing.
func (s *Store) beginCheckpoint() *checkpoint {
	s.mu.Lock()
	c := &checkpoint{
		cursor: s.cursor, logged: s.logSeq, done: make(chan struct{}), begun: s.commits.Load(),
	}
	c.run = sync.OnceFunc(func() { s.runCheckpoint(c) })
	c.gen = s.recent.freeze()
	c.rows = passes * c.gen.keys
	s.running = c
	s.mu.Unlock()
	if s.opts.Background != nil {
		s.opts.Background(c.run)
	} else {
		go c.run()
	}
	return c
}

// makeRoom sees to it that the newest generation has room for as many bytes of records, and that
// the overlay does not grow without end: where checkpoints do not keep up, it waits for the one
// that runs. The caller holds s.writing.
func (s *Store) makeRoom(records int) error {
	for {
		s.mu.Lock()
		g, running := s.recent.newest(), s.running
		s.mu.Unlock()
		switch {
		case running == nil && g.room() < records && g.commits > 0:
			s.beginCheckpoint() // of a generation that could not take the block
			continue
		case running == nil:
			return nil
		}
		if int64(g.bytes()) < 2*s.opts.CheckpointBytes &&
			g.commits < 2*s.opts.CheckpointBlocks && g.room() >= records {
			return nil
		}
		if err := s.ended(running); err != nil {
			return err
		}
	}
}

func (s *Store) runCheckpoint(c *checkpoint) {
	var written *generation
	err := s.fail.run(func() error {
		err := s.writeCheckpoint(c)
		if err == nil {
			// Nobody else adds rows to the cache while a checkpoint runs.
			written = absorbed(s.recent.written, c.gen, s.recent.keep, func() { s.pace(c) })
		}
		return err
	})
	if err != nil {
		s.fail.set(fmt.Errorf("checkpoint at %v: %w", c.cursor, err))
		err = s.fail.err()
	}
	s.mu.Lock()
	var old *view
	if c.err = err; err == nil {
		s.recent.retire(c.gen, written)
		s.checkpointed = c.logged
		old, s.view = s.view, nil // the next one does without the generation
	}
	s.mu.Unlock()
	if old != nil {
		s.drop(old)
	}
	s.mu.Lock()
	s.running = nil // nothing of it is left that Close would have to wait for
	s.mu.Unlock()
	close(c.done)
}

// writeCheckpoint brings the generation's rows and the cursor into the database, in one step.
func (s *Store) writeCheckpoint(c *checkpoint) error {
	var err error
	var paths []string
	for try := range checkpointTries {
		if paths, err = s.checkpointTables(c); err == nil {
			break
		}
		s.log.Error("writing a checkpoint's tables failed", "try", try+1, "err", err)
		if e := s.fail.err(); e != nil {
			return e
		}
	}
	if err != nil {
		return err
	}
	s.waitForCompactions()
	if err := s.db.Ingest(background, paths); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return s.inTables(maybeCursor{c.cursor, true})
}

// inTables makes sure that the tables hold the cursor. Where a memtable had rows between those of
// the tables, they wait behind it.
func (s *Store) inTables(at maybeCursor) error {
	inFiles, err := s.cursorInFiles()
	if err != nil || inFiles == at {
		return err
	}
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if inFiles, err = s.cursorInFiles(); err == nil && inFiles != at {
		err = fmt.Errorf("tables are at %v, not at %v", inFiles, at)
	}
	return err
}

// waitForCompactions bounds how far compactions lie behind. A simulation has none.
func (s *Store) waitForCompactions() {
	if s.opts.Background != nil {
		return
	}
	for s.db.Metrics().Levels[0].Sublevels >= maxSublevels {
		select {
		case <-s.fail.done:
			return
		case <-time.After(debtPause):
		}
	}
}

// cursorInFiles returns the cursor that the tables hold.
func (s *Store) cursorInFiles() (maybeCursor, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{OnlyReadGuaranteedDurable: true})
	if err != nil {
		return maybeCursor{}, err
	}
	c, err := filesCursor(it)
	return c, errors.Join(err, it.Close())
}
