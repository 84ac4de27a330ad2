package state

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// generationBytes is the size at which a generation of recent rows is followed by the next: small
// enough that little is kept that tables hold already, large enough that a read looks into few.
func (s *Store) generationBytes() int { return int(s.opts.MemTableBytes) }

// maxKeepBytes leaves room in a generation's arena for what comes on top.
const maxKeepBytes = maxArenaChunks * arenaChunkBytes / 4

// keepBytes is how much is kept at least of the branch rows that tables hold already. Up to twice
// as much collects before the older half goes.
func (s *Store) keepBytes() int { return int(min(s.opts.CacheBytes/4, maxKeepBytes)) }

// overlayBytes bounds the memory of recent rows: a few memtables' worth, because Pebble moves rows
// to tables a memtable at a time, and more than it lets queue before writes wait.
func (s *Store) overlayBytes() int { return 8*int(s.opts.MemTableBytes) + 64<<20 }

// startOverlay begins the recent rows with none, which needs all rows in tables.
func (s *Store) startOverlay() error {
	if s.plainReads() {
		return nil
	}
	at := maybeCursor{s.cursor, s.built}
	inFiles, err := s.cursorInFiles()
	if err != nil {
		return err
	}
	if inFiles != at {
		if err := s.flush(at); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.recent.start(at, s.keepBytes())
	s.mu.Unlock()
	return nil
}

// flush moves all rows to tables, the cursor's, which is the given one, among them.
func (s *Store) flush(at maybeCursor) error {
	if err := s.fail.run(s.db.Flush); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	inFiles, err := s.cursorInFiles()
	if err != nil {
		return err
	}
	if inFiles != at {
		return fmt.Errorf("flush: tables are at %v, the cursor at %v", inFiles, at)
	}
	return nil
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
