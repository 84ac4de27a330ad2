package state

import (
	"context"
	"errors"
	"fmt"
)

// Counts are numbers of rows by key space.
type Counts struct {
	Accounts        uint64
	Slots           uint64
	AccountBranches uint64
	StorageBranches uint64
	Codes           uint64
	Headers         uint64
	BALs            uint64
	ReverseDiffs    uint64
}

// Counts counts the snapshot's rows by walking all of them, which takes time in proportion to the
// store. It stops with the context's error once that is done.
func (sn *Snapshot) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	for space, n := range map[byte]*uint64{
		spaceAccount: &c.Accounts, spaceSlot: &c.Slots, spaceAccountBranch: &c.AccountBranches,
		spaceStorageBranch: &c.StorageBranches, spaceCode: &c.Codes, spaceHeader: &c.Headers,
		spaceBAL: &c.BALs, spaceReverseDiff: &c.ReverseDiffs,
	} {
		if err := sn.count(ctx, space, n); err != nil {
			return Counts{}, fmt.Errorf("count rows: %w", err)
		}
	}
	return c, nil
}

func (sn *Snapshot) count(ctx context.Context, space byte, n *uint64) error {
	const between = 1 << 14 // rows between two looks at the context
	w := sn.walk([]byte{space}, []byte{space + 1})
	for w.Next() {
		if *n++; *n%between == 0 && ctx.Err() != nil {
			break
		}
	}
	return errors.Join(w.Error(), w.Close(), ctx.Err())
}

// Sizes are bytes on disk and in memory.
type Sizes struct {
	Disk     uint64 // all of Pebble's files
	Log      uint64 // write-ahead logs among them
	Flat     uint64 // accounts and slots in tables, estimated
	Branches uint64 // branch rows in tables, estimated
	Codes    uint64 // codes in tables, estimated
	Blocks   uint64 // headers, access lists and reverse diffs in tables, estimated
	MemTable uint64 // Pebble's memtables
	Overlay  uint64 // recent rows kept in memory for reads
	Cache    uint64 // blocks of tables kept in memory
}

// Sizes returns the store's sizes; ErrClosed once it is closed, ErrStoreFailed after a failure.
func (s *Store) Sizes() (Sizes, error) {
	if err := s.fail.err(); err != nil { // Pebble's locks may be held for good
		return Sizes{}, fmt.Errorf("store sizes: %w", err)
	}
	v, err := s.acquire() // keeps the database open
	if err != nil {
		return Sizes{}, fmt.Errorf("store sizes: %w", err)
	}
	m := s.db.Metrics()
	z := Sizes{
		Disk:     m.DiskSpaceUsage(),
		Log:      m.WAL.Size,
		MemTable: m.MemTable.Size,
		Cache:    uint64(m.BlockCache.Size),
	}
	s.mu.Lock()
	z.Overlay = uint64(s.recent.size + s.recent.writtenSize)
	s.mu.Unlock()
	for space, n := range map[byte]*uint64{
		spaceAccount: &z.Flat, spaceSlot: &z.Flat, spaceAccountBranch: &z.Branches,
		spaceStorageBranch: &z.Branches, spaceCode: &z.Codes, spaceHeader: &z.Blocks,
		spaceBAL: &z.Blocks, spaceReverseDiff: &z.Blocks,
	} {
		bytes, e := s.db.EstimateDiskUsage([]byte{space}, []byte{space + 1})
		*n += bytes
		err = errors.Join(err, readError(e))
	}
	if err = errors.Join(err, s.release(v)); err != nil {
		return Sizes{}, fmt.Errorf("store sizes: %w", err)
	}
	return z, nil
}
