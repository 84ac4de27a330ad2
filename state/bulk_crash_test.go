package state

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// crashEvery keeps copies of a file system as it would be after a crash before each k-th write.
type crashEvery struct {
	fs   CrashFS
	k    int64
	keep func(i int64) vfs.CrashCloneCfg

	mu   sync.Mutex
	n    int64
	on   bool
	left []CrashFS
}

func (c *crashEvery) String() string { return "crashEvery" }

func (c *crashEvery) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return nil
	}
	if c.n++; c.n%c.k == 0 {
		c.left = append(c.left, c.fs.crash(c.keep(c.n)))
	}
	return nil
}

func (c *crashEvery) set(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = on
}

// crashKinds say what of unsynced writes a crash leaves: nothing, all (the process alone was
// killed), or some.
var crashKinds = map[string]func(i int64) vfs.CrashCloneCfg{
	"power": func(int64) vfs.CrashCloneCfg { return vfs.CrashCloneCfg{} },
	"kill":  func(i int64) vfs.CrashCloneCfg { return keepSome(100, i) },
	"some":  func(i int64) vfs.CrashCloneCfg { return keepSome(50, i) },
}

func keepSome(percent int, i int64) vfs.CrashCloneCfg {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	return vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: r}
}

// crashes runs do on a store and returns what a crash before each k-th write would have left.
func crashes(t *testing.T, fs CrashFS, k int64, keep func(int64) vfs.CrashCloneCfg,
	do func(s *Store) error) []CrashFS {
	t.Helper()
	inject := &crashEvery{fs: fs, k: k, keep: keep}
	o := testOptions(wrapFS(fs, inject))
	o.AllowUnfinished = true
	s := mustOpen(t, o)
	inject.set(true)
	err := do(s)
	inject.set(false)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	return inject.left
}

// TestABuildCutOffAtAnyWriteGoesOnToTheSameRows crashes a build before each of its writes, and the
// builds that go on with it before some of theirs.
func TestABuildCutOffAtAnyWriteGoesOnToTheSameRows(t *testing.T) {
	p := newBuildPlan(11, 14)
	want := p.complete(t)
	run := func(s *Store) error {
		if _, ok := s.Cursor(); ok {
			return nil // the crash came behind the commit
		}
		return p.run(s, false)
	}
	for name, keep := range crashKinds {
		t.Run(name, func(t *testing.T) {
			left := crashes(t, NewCrashFS(), 1, keep, run)
			if len(left) < 100 {
				t.Fatalf("%d writes", len(left))
			}
			step := slowdown * slowdown
			if name != "power" {
				step *= 5
			}
			for i := 0; i < len(left); i += step {
				again := crashes(t, left[i], 23, keep, run)
				checkBuilt(t, left[i], want)
				if n := len(again); n > 0 {
					crashes(t, again[i%n], 1<<40, keep, run)
					checkBuilt(t, again[i%n], want)
				}
			}
		})
	}
}

func checkBuilt(t *testing.T, fs FS, want map[string]string) {
	t.Helper()
	s := mustOpen(t, testOptions(fs))
	if _, ok := s.Cursor(); !ok {
		t.Fatal("no state")
	}
	sameRows(t, allRows(t, s), want)
	if _, ok, err := s.Build(); ok || err != nil {
		t.Fatalf("a build is left: %v %v", ok, err)
	}
	if _, err := s.opts.FS.Stat(s.bulkDir()); err == nil {
		t.Fatal("the build's folder is left")
	}
	mustClose(t, s)
}

// TestAFailedWriteInABuildIsNamedAndTheNextRunGoesOn fails the n-th write, once or from there on.
func TestAFailedWriteInABuildIsNamedAndTheNextRunGoesOn(t *testing.T) {
	p := newBuildPlan(12, 14)
	want := p.complete(t)
	for _, once := range []bool{true, false} {
		for n := int64(1); failedBuild(t, p, want, n, once); n += 3 * slowdown * slowdown {
		}
	}
}

func failedBuild(t *testing.T, p *buildPlan, want map[string]string, n int64, once bool) bool {
	t.Helper()
	fs := NewCrashFS()
	inject := &failAt{once: once}
	inject.n.Store(-1)
	s := mustOpen(t, testOptions(wrapFS(fs, inject)))
	inject.count.Store(0)
	inject.n.Store(n)
	err := p.run(s, false)
	closeErr := s.Close()
	reached := inject.count.Load() >= n
	inject.stop.Store(true)
	switch {
	case err == nil && reached:
		// A write that may fail without harm, of Pebble's or of tidying up.
	case err != nil && !strings.Contains(err.Error(), "injected"):
		t.Fatalf("write %d: %v, close: %v", n, err, closeErr)
	}
	o := testOptions(fs.Crash())
	o.AllowUnfinished = true
	s = mustOpen(t, o)
	if _, ok := s.Cursor(); !ok {
		if err == nil {
			t.Fatalf("write %d: built, then no state", n)
		}
		if err := p.run(s, false); err != nil {
			t.Fatalf("write %d: the next run: %v", n, err)
		}
	}
	mustClose(t, s)
	checkBuilt(t, o.FS, want)
	return reached
}

// TestARebuildCutOffLeavesOldRowsOrNewOnes damages branch rows of a store and crashes a rebuild
// before each of its writes: the store opens, with the damaged rows or with the right ones, and
// another rebuild mends it.
func TestARebuildCutOffLeavesOldRowsOrNewOnes(t *testing.T) {
	p := newBuildPlan(13, 14)
	want := p.complete(t)
	fs := NewCrashFS()
	s := mustOpen(t, testOptions(fs))
	if err := p.run(s, false); err != nil {
		t.Fatal(err)
	}
	damage(t, s)
	s = reopen(t, s) // the view from before is gone
	old := allRows(t, s)
	mustClose(t, s)
	p.before = old
	run := func(s *Store) error { return p.run(s, true) }
	left := crashes(t, fs, 1, crashKinds["power"], run)
	checkBuilt(t, fs, want)
	for i := 0; i < len(left); i += slowdown * slowdown {
		s := mustOpen(t, testOptions(left[i]))
		got := allRows(t, s)
		for k := range got {
			if strings.HasPrefix(k, metaBuildSpace) {
				delete(got, k)
			}
		}
		if got[string(spaceAccountBranch)] == old[string(spaceAccountBranch)] {
			sameRows(t, got, old)
		} else {
			sameRows(t, got, want)
		}
		if err := p.run(s, true); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		mustClose(t, s)
		checkBuilt(t, left[i], want)
	}
}

// damage changes, adds and removes branch rows.
func damage(t *testing.T, s *Store) {
	t.Helper()
	n := 0
	batch := s.db.NewBatch()
	err := errors.Join(batch.Set([]byte{spaceAccountBranch}, []byte("wrong"), nil),
		batch.Set([]byte{spaceAccountBranch, 1, 2, 3, 4}, []byte("surplus"), nil))
	for _, k := range slices.Sorted(maps.Keys(allRows(t, s))) {
		if k[0] != spaceStorageBranch {
			continue
		}
		if n++; n%3 == 0 {
			err = errors.Join(err, batch.Delete([]byte(k), nil))
		}
	}
	if err = errors.Join(err, s.db.Apply(batch, nil), batch.Close()); err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Fatal("few rows")
	}
}
