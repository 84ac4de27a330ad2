package state

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func TestAcknowledgedBlockSurvivesACrash(t *testing.T) {
	fsys := NewCrashFS()
	s, c := builtStore(t, fsys, 5)
	for range 30 {
		before := fsys.Crash() // I1: not there before the commit
		old := c.cursor
		rows := allRows(t, s)
		commitNext(t, s, c, 8)

		crashed := c.openCrashed(t, fsys.Crash())
		c.check(t, crashed)
		mustClose(t, crashed)

		crashed = c.openCrashed(t, before)
		if at, _ := crashed.Cursor(); at != old {
			t.Fatalf("before the commit: %v, want %v", at, old)
		}
		sameRows(t, allRows(t, crashed), rows)
		mustClose(t, crashed)
	}
	mustClose(t, s)
}

func TestWithoutSyncACrashLosesWholeBlocks(t *testing.T) {
	fsys := NewCrashFS()
	s, c := builtStore(t, fsys, 6)
	mustClose(t, s)
	o := testOptions(fsys)
	o.NoSync = true
	s = mustOpen(t, o)
	rows := map[Cursor]map[string]string{c.cursor: allRows(t, s)}
	for range 40 {
		commitNext(t, s, c, 8)
		rows[c.cursor] = allRows(t, s)
		crashed := c.openCrashed(t, fsys.Crash())
		at, _ := crashed.Cursor()
		want, ok := rows[at]
		if !ok {
			t.Fatalf("at %v, which the store never was", at)
		}
		sameRows(t, allRows(t, crashed), want)
		mustClose(t, crashed)
	}
	mustClose(t, s)
}

func TestCreationSurvivesACrash(t *testing.T) {
	fsys := NewCrashFS()
	o := testOptions(fsys)
	o.Dir = "a/b/db"
	s := mustOpen(t, o)
	o.FS, o.MustExist = fsys.Crash(), true
	crashed := mustOpen(t, o)
	mustClose(t, crashed)
	mustClose(t, s)
}

// failAt injects an error into the n-th write, and every write after it, to what it is told.
type failAt struct {
	n     atomic.Int64 // writes until the error; negative: none
	count atomic.Int64
	only  func(path string) bool
	once  bool
	stop  atomic.Bool
}

func (f *failAt) String() string { return "failAt" }

func (f *failAt) MaybeError(op errorfs.Op) error {
	if f.stop.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if f.only != nil && !f.only(op.Path) {
		return nil
	}
	i := f.count.Add(1)
	if n := f.n.Load(); n < 0 || i < n || f.once && i > n {
		return nil
	}
	return errorfs.ErrInjected
}

// TestAFailedWriteIsReportedAndLeavesAWholeBlock fails the n-th write to the file system, for
// every n, once or from there on, in a run of blocks that moves rows to tables: every error is
// reported, and the store opened again from what was synced is at a block that was acknowledged,
// or at the one whose commit failed, as a whole.
func TestAFailedWriteIsReportedAndLeavesAWholeBlock(t *testing.T) {
	for _, once := range []bool{true, false} {
		for n := int64(1); failedWrite(t, n, once); n += slowdown {
		}
	}
}

// failedWrite reports whether the n-th write was reached: the run may make fewer.
func failedWrite(t *testing.T, n int64, once bool) bool {
	t.Helper()
	fsys := NewCrashFS()
	inject := &failAt{once: once}
	inject.n.Store(-1)
	fatal := make(chan error, 1)
	s, c := builtStore(t, fsys, 7)
	mustClose(t, s)
	o := testOptions(wrapFS(fsys, inject))
	o.OnFatal = func(err error) { fatal <- err }
	s = mustOpen(t, o)
	inject.count.Store(0)
	inject.n.Store(n)

	rows := map[Cursor]map[string]string{c.cursor: allRows(t, s)}
	acked := c.cursor
	var failed error
	for range 12 {
		l := c.layer(12)
		expect := c.cursor
		b, u := c.next(l)
		rows[c.cursor] = expected(rows[expect], b, l, c)
		if failed = s.Commit(expect, b, l); failed != nil {
			if at, _ := s.Cursor(); at != u.to {
				t.Fatalf("write %d: cursor at %v after a failed commit on %v", n, at, expect)
			}
			sameRows(t, allRows(t, s), rows[u.to]) // what was acknowledged stays readable
			break
		}
		acked = c.cursor
	}
	reached := inject.count.Load() >= n
	if failed != nil {
		afterFailure(t, s, fatal, failed)
	} else if err := s.Close(); err != nil && !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("write %d: close: %v", n, err)
	}
	inject.stop.Store(true)

	again := c.openCrashed(t, fsys.Crash())
	at, ok := again.Cursor()
	if !ok || at.Number < acked.Number {
		t.Fatalf("write %d: at %v, acknowledged was %v", n, at, acked)
	}
	sameRows(t, allRows(t, again), rows[at])
	mustClose(t, again)
	return reached
}

// expected is what rows become by the block.
func expected(rows map[string]string, b Block, l *Layer, c *chain) map[string]string {
	want := map[string]string{}
	for k, v := range rows {
		want[k] = v
	}
	set := func(key, value []byte) {
		if delete(want, string(key)); len(value) > 0 {
			want[string(key)] = string(value)
		}
	}
	for i := range l.Accounts {
		set(appendHashKey(nil, spaceAccount, &l.Accounts[i].Hash), l.Accounts[i].Post)
	}
	for i := range l.Slots {
		set(appendSlotKey(nil, &l.Slots[i].Account, &l.Slots[i].Slot), l.Slots[i].Post)
	}
	for i := range l.Branches {
		set(l.Branches[i].key(), l.Branches[i].Row)
	}
	news := *l
	news.Codes = nil
	for _, w := range l.Codes {
		key := appendHashKey(nil, spaceCode, &w.Hash)
		if _, ok := rows[string(key)]; !ok {
			news.Codes = append(news.Codes, w)
			set(key, w.Code)
		}
	}
	n := b.Header.Number.Uint64()
	set(appendHashKey(nil, spaceBAL, &b.Hash), b.BAL)
	set(appendNumberHashKey(nil, spaceHeader, n, &b.Hash), mustRLPHeader(b))
	set(appendHashKey(nil, spaceNumber, &b.Hash), appendNumberHashKey(nil, 0, n, &b.Hash)[1:9])
	set(appendNumberHashKey(nil, spaceReverseDiff, n, &b.Hash), news.appendReverseDiff(nil))
	set([]byte(metaCursor), appendCursor(nil, &c.cursor))
	return want
}

// afterFailure checks that the failed store refuses all further writes and says so once.
func afterFailure(t *testing.T, s *Store, fatal chan error, failed error) {
	t.Helper()
	if !errors.Is(failed, ErrStoreFailed) || !errors.Is(failed, errorfs.ErrInjected) {
		t.Fatalf("commit: %v", failed)
	}
	select {
	case err := <-fatal:
		if !errors.Is(err, ErrStoreFailed) {
			t.Fatalf("OnFatal got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("OnFatal was not called")
	}
	cursor, _ := s.Cursor()
	h, to := childOf(cursor, cursor.Root)
	if err := s.Commit(cursor, Block{Header: h, Hash: to.Hash}, new(Layer)); !errors.Is(
		err, ErrStoreFailed) {
		t.Fatalf("commit after the failure: %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrStoreFailed) {
		t.Fatalf("close after the failure: %v", err)
	}
	select {
	case err := <-fatal:
		t.Fatalf("OnFatal again: %v", err)
	default:
	}
}

func TestAFullDiskForTablesFailsTheStoreInTheEnd(t *testing.T) {
	inject := &failAt{only: func(path string) bool { return strings.HasSuffix(path, ".sst") }}
	inject.n.Store(-1)
	var once sync.Once
	failed := make(chan error)
	s, c := builtStore(t, MemFS(), 8)
	base := s.opts.FS
	mustClose(t, s)
	o := testOptions(wrapFS(base, inject))
	o.OnFatal = func(err error) { once.Do(func() { failed <- err }) }
	s = mustOpen(t, o)
	inject.n.Store(inject.count.Load() + 1)
	go func() { // until memtables are full and wait for a flush that never comes
		for {
			l := c.layer(12)
			expect := c.cursor
			b, _ := c.next(l)
			if s.Commit(expect, b, l) != nil {
				return
			}
		}
	}()
	select {
	case err := <-failed:
		if !errors.Is(err, errorfs.ErrInjected) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the store goes on without a disk")
	}
	sn := s.NewSnapshot()
	if _, ok := sn.Cursor(); !ok {
		t.Error("no reads after the failure")
	}
	mustClose(t, sn)
}

func TestFatalfFailsTheStoreAndEndsItsGoroutineOnly(t *testing.T) {
	called := make(chan error, 2)
	o := testOptions(MemFS())
	o.OnFatal = func(err error) { called <- err }
	s := mustOpen(t, o)
	err := s.fail.run(func() error {
		pebbleLogger{s.log, s.fail}.Fatalf("disk %d", 1)
		return fmt.Errorf("Fatalf returned")
	})
	if !errors.Is(err, ErrStoreFailed) || !strings.Contains(err.Error(), "disk 1") {
		t.Error(err)
	}
	if err := s.fail.run(func() error { panic("late") }); !errors.Is(err, ErrStoreFailed) {
		t.Error(err)
	}
	if err := <-called; !strings.Contains(err.Error(), "disk 1") {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, ErrStoreFailed) {
		t.Error(err)
	}
}

func TestAPanicOfPebbleFailsTheStore(t *testing.T) {
	s := mustOpen(t, testOptions(MemFS()))
	err := s.fail.run(func() error { panic("boom") })
	if !errors.Is(err, ErrStoreFailed) || !strings.Contains(err.Error(), "boom") {
		t.Error(err)
	}
}

func wrapFS(fs FS, inject errorfs.Injector) FS { return errorfs.Wrap(fs, inject) }
