package state

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// levels is how many levels Pebble's tree has.
const levels = 7

// Level is a level of Pebble's tree.
type Level struct {
	Tables    int64
	Bytes     int64
	Sublevels int     // on level 0: how many tables a read may have to look into
	Score     float64 // from 1 on the level wants compacting
	Read      uint64  // bytes read by compactions, since the store was opened
	Written   uint64  // bytes written by flushes, ingestions and compactions, since then
}

// Metrics is what Pebble tells of itself. What counts does so since the store was opened.
type Metrics struct {
	Levels [levels]Level

	Compactions       int64
	CompactionsFailed int64
	CompactionsNow    int64         // under way
	CompactionTime    time.Duration // summed
	CompactionDebt    uint64        // bytes that compactions are behind, estimated
	Flushes           int64
	Ingestions        uint64
	ReadAmplification int // tables that a read may have to look into

	CacheBytes, CacheHits, CacheMisses   int64
	FilterHits, FilterMisses             int64
	MemTableBytes, DiskBytes, LogBytes   uint64
	LogBytesIn, LogBytesWritten, Overlay uint64
	Snapshots, TableIterators, MemTables int64
	ObsoleteBytes, ZombieBytes           uint64

	Stalls    uint64        // times that writes had to wait for flushes or compactions
	StallTime time.Duration // that they waited, the wait under way included
	Stalled   bool          // they wait now
}

// Metrics returns a snapshot of Pebble's own figures; ErrClosed once the store is closed,
// ErrStoreFailed after a failure. It costs some microseconds and waits for no write.
func (s *Store) Metrics() (Metrics, error) {
	s.observing.RLock() // keeps the database open, without being one of its users
	defer s.observing.RUnlock()
	s.mu.Lock()
	closed, overlay := s.closed, s.recent.size
	s.mu.Unlock()
	if closed {
		return Metrics{}, fmt.Errorf("store metrics: %w", ErrClosed)
	}
	var p *pebble.Metrics
	if err := s.fail.run(func() error { p = s.db.Metrics(); return nil }); err != nil {
		return Metrics{}, fmt.Errorf("store metrics: %w", err)
	}
	m := Metrics{
		Compactions: p.Compact.Count, CompactionsFailed: p.Compact.FailedCount,
		CompactionsNow: p.Compact.NumInProgress, CompactionTime: p.Compact.Duration,
		CompactionDebt: p.Compact.EstimatedDebt, Flushes: p.Flush.Count,
		Ingestions: p.Ingest.Count, ReadAmplification: p.ReadAmp(),
		CacheBytes: p.BlockCache.Size, CacheHits: p.BlockCache.Hits,
		CacheMisses: p.BlockCache.Misses, FilterHits: p.Filter.Hits, FilterMisses: p.Filter.Misses,
		MemTableBytes: p.MemTable.Size, DiskBytes: p.DiskSpaceUsage(), LogBytes: p.WAL.Size,
		LogBytesIn: p.WAL.BytesIn, LogBytesWritten: p.WAL.BytesWritten,
		Snapshots: int64(p.Snapshots.Count), TableIterators: p.TableIters,
		MemTables: p.MemTable.Count, ObsoleteBytes: p.Table.ObsoleteSize,
		ZombieBytes: p.Table.ZombieSize, Overlay: uint64(overlay),
	}
	for i := range m.Levels {
		l := &p.Levels[i]
		m.Levels[i] = Level{
			Tables: l.TablesCount, Bytes: l.TablesSize, Sublevels: int(l.Sublevels), Score: l.Score,
			Read: l.TableBytesRead, Written: l.TableBytesFlushed + l.TableBytesCompacted +
				l.TableBytesIngested,
		}
	}
	m.Stalls, m.StallTime, m.Stalled = s.stalls.read(time.Now())
	return m, nil
}

// watch has the stalls counted, beside what the listener does already.
func (s *stalls) watch(l *pebble.EventListener) {
	begin := l.WriteStallBegin
	l.WriteStallBegin = func(i pebble.WriteStallBeginInfo) {
		s.begin(time.Now())
		begin(i)
	}
	l.WriteStallEnd = func() { s.end(time.Now()) }
}

// stalls counts the times that writes wait. Pebble begins and ends one at a time.
type stalls struct {
	count atomic.Uint64
	total atomic.Int64 // nanoseconds, of those that are over
	since atomic.Int64 // Unix nanoseconds; 0: none is under way
}

func (s *stalls) begin(now time.Time) {
	s.count.Add(1)
	s.since.Store(now.UnixNano())
}

func (s *stalls) end(now time.Time) {
	if since := s.since.Swap(0); since != 0 {
		s.total.Add(now.UnixNano() - since)
	}
}

func (s *stalls) read(now time.Time) (count uint64, total time.Duration, under bool) {
	count, total = s.count.Load(), time.Duration(s.total.Load())
	if since := s.since.Load(); since != 0 {
		return count, total + time.Duration(now.UnixNano()-since), true
	}
	return count, total, false
}
