package state

import "fmt"

// maxKeepBytes leaves room in a generation's arena for what comes on top.
const maxKeepBytes = maxArenaChunks * arenaChunkBytes / 4

// keepBytes is how much is kept at least of the branch rows that tables hold already. Up to twice
// as much collects before the older half goes.
func (s *Store) keepBytes() int { return int(min(s.opts.CacheBytes/4, maxKeepBytes)) }

// startOverlay begins the recent rows with none, which needs all rows in tables: a store of an
// older release may have some in its log.
func (s *Store) startOverlay() error {
	if err := s.clearCheckpoint(); err != nil {
		return err
	}
	if err := s.inTables(maybeCursor{s.cursor, s.built}); err != nil {
		return err
	}
	s.mu.Lock()
	s.recent.start(s.keepBytes())
	s.mu.Unlock()
	return nil
}

// flush moves all rows of Pebble's to tables, the cursor's, which is the given one, among them.
func (s *Store) flush(at maybeCursor) error {
	return s.fail.run(func() error {
		if err := s.db.Flush(); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
		return s.inTables(at)
	})
}
