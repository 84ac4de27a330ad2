package state

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// failOp injects an error into the n-th operation of a kind, and all of the kind after it where
// once is not set.
type failOp struct {
	kind  func(op errorfs.Op) bool
	n     int64
	once  bool
	count atomic.Int64
	stop  atomic.Bool
}

func (f *failOp) String() string { return "failOp" }

func (f *failOp) MaybeError(op errorfs.Op) error {
	if f.stop.Load() || !f.kind(op) {
		return nil
	}
	if i := f.count.Add(1); i < f.n || f.once && i > f.n {
		return nil
	}
	return errorfs.ErrInjected
}

func opKinds(kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		for _, k := range kinds {
			if op.Kind == k {
				return true
			}
		}
		return false
	}
}

// faultKinds are the operations that fail in TestAFaultInOpen.
var faultKinds = map[string]func(errorfs.Op) bool{
	"any":    func(errorfs.Op) bool { return true },
	"writes": func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite },
	"syncs":  opKinds(errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo),
	"lists":  opKinds(errorfs.OpList),
	"reads":  opKinds(errorfs.OpOpen, errorfs.OpFileRead, errorfs.OpFileReadAt, errorfs.OpFileStat),
	"files":  opKinds(errorfs.OpCreate, errorfs.OpRename, errorfs.OpRemove, errorfs.OpFileClose),
	"logs":   func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") },
	"tables": func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".sst") },
	"manifest": func(op errorfs.Op) bool {
		return strings.Contains(op.Path, "MANIFEST") || strings.Contains(op.Path, "marker.")
	},
}

// openScene makes a file system, the options to open it with, and what must be in it afterwards;
// nil: a store without a state, or none at all.
type openScene func(t *testing.T) (CrashFS, Options, *chain)

var openScenes = map[string]openScene{
	"fresh": func(*testing.T) (CrashFS, Options, *chain) {
		fsys := NewCrashFS()
		return fsys, testOptions(fsys), nil
	},
	"existing": func(t *testing.T) (CrashFS, Options, *chain) {
		fsys := NewCrashFS()
		s, c := builtStore(t, fsys, 11)
		for range 20 {
			commitNext(t, s, c, 12)
		}
		mustClose(t, s)
		return fsys, testOptions(fsys), c
	},
	"read-only": func(t *testing.T) (CrashFS, Options, *chain) {
		fsys, o, c := logToReplay(t)
		o.ReadOnly = true
		return fsys, o, c
	},
	"log to replay": logToReplay,
}

// logToReplay is a store whose log fills many memtables: opening it flushes and compacts.
func logToReplay(t *testing.T) (CrashFS, Options, *chain) {
	fsys := NewCrashFS()
	o := testOptions(fsys)
	o.MemTableBytes, o.CheckpointBlocks = 8<<20, 25
	s := mustOpen(t, o)
	c := newChain(newRand(12), 60)
	c.next(c.layer(30))
	c.build(t, s)
	for range 30 {
		l := c.layer(30)
		expect := c.cursor
		b, _ := c.next(l)
		b.BAL = make([]byte, 200<<10)
		c.r.Read(b.BAL)
		if err := s.Commit(expect, b, l); err != nil {
			t.Fatal(err)
		}
	}
	left := fsys.Crash()
	mustClose(t, s)
	return left, testOptions(left), c
}

// TestAFaultInOpen fails the n-th operation of opening a store, for every small n and some large
// ones: Open returns the error or a store with all that was there, soon, and the process lives on.
// What is on the disk afterwards opens as the same store.
func TestAFaultInOpen(t *testing.T) {
	for scene, build := range openScenes {
		t.Run(scene, func(t *testing.T) {
			fsys, o, c := build(t)
			for kind, is := range faultKinds {
				for _, once := range []bool{true, false} {
					n := int64(1)
					for faultInOpen(t, fsys.Crash(), o, c, &failOp{kind: is, n: n, once: once}) {
						n += 1 + n/4*slowdown
					}
					if t.Failed() {
						t.Fatalf("%s, operation %d, once %v", kind, n, once)
					}
				}
			}
		})
	}
}

// faultInOpen reports whether the n-th operation was reached.
func faultInOpen(t *testing.T, fsys CrashFS, o Options, c *chain, inject *failOp) (again bool) {
	t.Helper()
	o.FS = errorfs.Wrap(fsys, inject)
	o.OnFatal = func(error) {}
	done := make(chan struct{})
	var s *Store
	var err error
	go func() {
		defer close(done)
		s, err = Open(o)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("Open hangs")
		return false
	}
	if err != nil && !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("open: %v", err)
	}
	if err == nil {
		holds(t, s, c)
		again = inject.count.Load() >= inject.n
		if err := s.Close(); err != nil && !errors.Is(err, errorfs.ErrInjected) {
			t.Errorf("close: %v", err)
		}
	} else {
		again = true
	}
	inject.stop.Store(true)
	o.FS, o.MustExist, o.ReadOnly, o.MemTableBytes = fsys.Crash(), c != nil, false, 1<<20
	clean := mustOpen(t, o)
	holds(t, clean, c)
	mustClose(t, clean)
	return again && !t.Failed()
}

// holds checks that the store has all blocks of the chain, the last ones perhaps in its log.
func holds(t *testing.T, s *Store, c *chain) {
	t.Helper()
	if c == nil {
		return
	}
	at, ok := s.Cursor()
	logged := s.Logged()
	if n := len(logged); n > 0 {
		at.Hash = logged[n-1].Hash
	}
	if !ok || at.Hash != c.cursor.Hash {
		t.Errorf("opened at %v with %d logged blocks, want %v", at, len(logged), c.cursor)
	}
}

// TestADirectoryLeftLockedSaysWhy: an Open that failed halfway cannot take the directory from
// Pebble again, and neither can a store that failed.
func TestADirectoryLeftLockedSaysWhy(t *testing.T) {
	fsys := NewCrashFS()
	inject := &failOp{kind: faultKinds["logs"], n: 1}
	o := testOptions(errorfs.Wrap(fsys, inject))
	_, err := Open(o)
	if !errors.Is(err, ErrStoreFailed) || !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("open: %v", err)
	}
	inject.stop.Store(true)
	_, err = Open(o)
	if !errors.Is(err, ErrLocked) || !errors.Is(err, ErrStoreFailed) ||
		!strings.Contains(err.Error(), fmt.Sprint(errorfs.ErrInjected)) {
		t.Errorf("open again: %v", err)
	}
	other := testOptions(NewCrashFS()) // of the same name, in another file system
	mustClose(t, mustOpen(t, other))
}
