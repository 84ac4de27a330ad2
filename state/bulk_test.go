package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

func TestBulkBuildsTheRowsThatItWasGiven(t *testing.T) {
	for seed := range int64(5) {
		s, c := builtStore(t, MemFS(), 20+seed)
		c.check(t, s)
		s = reopen(t, s)
		c.check(t, s)
		for range 5 {
			commitNext(t, s, c, 10)
		}
		c.check(t, s)
		mustClose(t, s)
	}
}

func TestBulkOfNothingIsAnEmptyState(t *testing.T) {
	s := mustOpen(t, testOptions(MemFS()))
	c := newChain(newRand(1), 3)
	c.build(t, s)
	c.check(t, s)
	sn := s.NewSnapshot()
	if h, err := sn.Header(0, c.cursor.Hash); err != nil || h.Hash() != c.cursor.Hash {
		t.Errorf("header %v, %v", h, err)
	}
	mustClose(t, sn)
	mustClose(t, s)
}

// TestBulkCutsTables builds with tables of a few rows each.
func TestBulkCutsTables(t *testing.T) {
	fsys := MemFS()
	s := mustOpen(t, testOptions(fsys))
	c := newChain(newRand(2), 40)
	c.next(c.layer(30))
	h, cursor := childOf(genesisParent, common.Hash{1})
	b, err := s.NewBulk(BulkOptions{ChainID: 1, Target: cursor})
	if err != nil {
		t.Fatal(err)
	}
	b.load.accounts.w.cut, b.load.slots.w.cut = 100, 100
	rows := b.NewRows()
	rows.max = 2000
	keys := slices.Sorted(maps.Keys(c.rows))
	for i, k := range keys {
		if err := c.addTo(b, rows, []byte(k)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 { // a table of codes each
			if err := errors.Join(b.Code([]byte(fmt.Sprint("code ", i))), b.Sync()); err != nil {
				t.Fatal(err)
			}
		}
	}
	stats, err := rows.Flush(KeyRange{To: common.MaxHash})
	if err != nil || stats.Runs < 3 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if err := b.Commit(h, cursor); err != nil {
		t.Fatal(err)
	}
	got := allRows(t, s)
	for _, k := range keys {
		if got[k] != c.rows[k] {
			t.Fatalf("row %q: %x, want %x", k, got[k], c.rows[k])
		}
	}
	counts := countsOf(t, s)
	if want := uint64((len(keys) + 99) / 100); counts.Codes != want {
		t.Errorf("%d codes, want %d", counts.Codes, want)
	}
	if _, err := fsys.Stat(s.bulkDir()); err == nil {
		t.Error("the build's directory is still there")
	}
	mustClose(t, s)
}

func TestBulkRefusesUnsortedInputAndGoesOn(t *testing.T) {
	s := mustOpen(t, testOptions(MemFS()))
	h := func(x byte) common.Hash { return common.Hash{x} }
	header, cursor := childOf(genesisParent, h(1))
	b, err := s.NewBulk(BulkOptions{ChainID: 1, Target: cursor})
	if err != nil {
		t.Fatal(err)
	}
	a, a2 := NewAccount(), h(2)
	if err := errors.Join(b.Account(h(2), &a), b.Slot(h(2), h(2), h(1)), b.Code([]byte{1}),
		b.Code([]byte{1}), b.Code(nil)); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]struct{ err, want error }{
		"account below":   {b.Account(h(1), &a), ErrKeyOrder},
		"account twice":   {b.Account(h(2), &a), ErrDuplicateKey},
		"slot below":      {b.Slot(h(2), h(1), h(1)), ErrKeyOrder},
		"slot twice":      {b.Slot(h(2), h(2), h(1)), ErrDuplicateKey},
		"account of slot": {b.Slot(h(1), h(9), h(1)), ErrKeyOrder},
		"slot of zero":    {b.Slot(h(3), h(1), common.Hash{}), ErrZeroSlot},
		"slot of nothing": {b.SlotRLP(&a2, &a2, nil), ErrBadSlot},
		"slot not RLP":    {b.SlotRLP(&a2, &a2, []byte{0x81, 1}), ErrBadSlot},
		"branch twice":    {flushTwice(b), ErrDuplicateKey},
		"range backwards": {flushRange(b, h(2), h(1)), ErrKeyOrder},
	} {
		if !errors.Is(do.err, do.want) {
			t.Errorf("%s: %v, want %v", name, do.err, do.want)
		}
	}
	if err := errors.Join(b.Account(h(3), &a), b.Slot(h(2), h(3), h(1))); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(header, cursor); err != nil {
		t.Fatal(err)
	}
	want := Counts{Accounts: 2, Slots: 2, Codes: 1, Headers: 1}
	if got := countsOf(t, s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	mustClose(t, s)
}

var someBranch = trie.Branch{Mask: 3,
	Refs: bytes.Repeat(append([]byte{0xa0}, make([]byte, 32)...), 2)}

func flushTwice(b *Bulk) error {
	w := b.NewRows()
	a := common.Hash{2}
	if err := errors.Join(w.PutStorageBranch(&a, trie.Path{}, someBranch),
		w.PutStorageBranch(&a, trie.Path{}, someBranch)); err != nil {
		return err
	}
	_, err := w.Flush()
	return err
}

func flushRange(b *Bulk, from, to common.Hash) error {
	_, err := b.NewRows().Flush(KeyRange{from, to})
	return err
}

func countsOf(t *testing.T, s *Store) Counts {
	t.Helper()
	sn := s.NewSnapshot()
	defer mustClose(t, sn)
	c, err := sn.Counts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBulkShowsNothingBeforeCommit(t *testing.T) {
	s := mustOpen(t, testOptions(MemFS()))
	before := s.NewSnapshot()
	h := common.Hash{1}
	header, cursor := childOf(genesisParent, h)
	b, err := s.NewBulk(BulkOptions{ChainID: 1, Target: cursor})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAccount()
	err = errors.Join(b.Account(h, &a), b.Slot(h, h, h), b.Code([]byte("code")), b.Sync())
	if err != nil {
		t.Fatal(err)
	}
	if got := countsOf(t, s); got != (Counts{}) {
		t.Errorf("%+v during the build", got)
	}
	if _, ok := s.Cursor(); ok {
		t.Error("a cursor during the build")
	}
	if err := s.Commit(Cursor{}, Block{}, new(Layer)); !errors.Is(err, ErrBuilding) {
		t.Errorf("commit during the build: %v", err)
	}
	if _, err := s.NewBulk(BulkOptions{ChainID: 1}); !errors.Is(err, ErrBuilding) {
		t.Errorf("another build: %v", err)
	}
	if err := b.Commit(header, cursor); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := before.Account(h); ok || err != nil {
		t.Errorf("a snapshot from before the build: %v %v", ok, err)
	}
	mustClose(t, before)
	if _, err := s.NewBulk(BulkOptions{ChainID: 1}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a build on a state: %v", err)
	}
	if err := b.Account(common.Hash{2}, &a); !errors.Is(err, ErrClosed) {
		t.Errorf("account after commit: %v", err)
	}
	if err := errors.Join(b.Abort()); !errors.Is(err, ErrClosed) {
		t.Errorf("abort after commit: %v", err)
	}
	mustClose(t, s)
}

func TestBulkCommitChecksTheHeader(t *testing.T) {
	header, cursor := childOf(genesisParent, common.Hash{1})
	for name, c := range map[string]Cursor{
		"number": {1, cursor.Hash, cursor.Root}, "hash": {0, common.Hash{}, cursor.Root},
		"root": {0, cursor.Hash, common.Hash{}},
	} {
		o := testOptions(MemFS())
		s := mustOpen(t, o)
		b, err := s.NewBulk(BulkOptions{ChainID: 1, Target: c})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(header, c); !errors.Is(err, ErrNotChild) {
			t.Errorf("%s: %v", name, err)
		}
		mustClose(t, s)
		wantOpenError(t, o, ErrUnfinished)
	}
}

// startOldBuild begins a build that is not to be committed.
func startOldBuild(t *testing.T, s *Store) *Bulk {
	t.Helper()
	b, err := s.NewBulk(BulkOptions{ChainID: 1, Source: "old"})
	if err != nil {
		t.Fatal(err)
	}
	b.load.accounts.w.cut = 10
	a, h := NewAccount(), common.Hash{1}
	if err := errors.Join(b.Account(h, &a), b.Slot(h, h, h), b.Code([]byte("old"))); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestABuildCutOffIsToldAndStartsOver cuts a build off by a crash after each of its steps, by
// Close and by Abort, and builds another state in its place.
func TestABuildCutOffIsToldAndStartsOver(t *testing.T) {
	old := startOldBuild
	for name, cut := range map[string]func(t *testing.T, fs CrashFS, s *Store) CrashFS{
		"begun": func(t *testing.T, fs CrashFS, s *Store) CrashFS {
			old(t, s)
			mid := fs.Crash()
			mustClose(t, s)
			return mid
		},
		"taken in, not marked": func(t *testing.T, fs CrashFS, s *Store) CrashFS {
			if err := old(t, s).Sync(); err != nil {
				t.Fatal(err)
			}
			mid := fs.Crash()
			mustClose(t, s)
			return mid
		},
		"closed": func(t *testing.T, fs CrashFS, s *Store) CrashFS {
			old(t, s)
			mustClose(t, s)
			return fs
		},
		"aborted": func(t *testing.T, fs CrashFS, s *Store) CrashFS {
			if err := old(t, s).Abort(); err != nil {
				t.Fatal(err)
			}
			mustClose(t, s)
			return fs
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := NewCrashFS()
			o := testOptions(cut(t, fs, mustOpen(t, testOptions(fs))))
			if name == "aborted" || name == "closed" {
				o.FS = fs
			}
			wantOpenError(t, o, ErrUnfinished)
			o.MustExist = true
			wantOpenError(t, o, ErrUnfinished)
			o.AllowUnfinished = true
			s := mustOpen(t, o)
			if _, ok := s.Cursor(); ok {
				t.Error("a cursor")
			}
			c := newChain(newRand(1), 30)
			c.next(c.layer(10))
			c.build(t, s)
			c.check(t, s)
			mustClose(t, s)
			o.AllowUnfinished = false
			s = mustOpen(t, o)
			c.check(t, s)
			mustClose(t, s)
		})
	}
}

func TestABuildSurvivesACrashOnceCommitted(t *testing.T) {
	fs := NewCrashFS()
	s, c := builtStore(t, fs, 9)
	crashed := mustOpen(t, testOptions(fs.Crash()))
	c.check(t, crashed)
	mustClose(t, crashed)
	mustClose(t, s)
}

// TestAFailedWriteInABuildIsReported fails the n-th write to the file system of a build, for every
// n: either the build says so and the store can be built again, or all of it is there.
func TestAFailedWriteInABuildIsReported(t *testing.T) {
	c := newChain(newRand(4), 20)
	c.next(c.layer(8))
	for n := int64(1); ; n++ {
		fs := NewCrashFS()
		mustClose(t, mustOpen(t, testOptions(fs)))
		inject := &failAt{}
		inject.n.Store(-1)
		s := mustOpen(t, testOptions(wrapFS(fs, inject)))
		inject.count.Store(0)
		inject.n.Store(n)
		err := buildOnce(c, s)
		closeErr := s.Close()
		reached := inject.count.Load() >= n
		if closeErr != nil && !reached {
			t.Fatalf("write %d: close: %v", n, closeErr)
		}
		inject.stop.Store(true)
		o := testOptions(fs.Crash())
		again, openErr := Open(o)
		switch {
		case err == nil && openErr != nil:
			t.Fatalf("write %d: built, then %v", n, openErr)
		case openErr == nil:
			if _, ok := again.Cursor(); ok {
				c.check(t, again)
			} else if err == nil {
				t.Fatalf("write %d: built, then no state", n)
			}
			mustClose(t, again)
		case !errors.Is(openErr, ErrUnfinished):
			t.Fatalf("write %d: %v, then %v", n, err, openErr)
		}
		if !reached {
			return
		}
		if err != nil && !strings.Contains(err.Error(), "injected") {
			t.Fatalf("write %d: %v", n, err)
		}
	}
}

// buildOnce is chain.build with errors.
func buildOnce(c *chain, s *Store) error {
	h, cursor := childOf(genesisParent, common.Hash{5})
	b, err := s.NewBulk(BulkOptions{ChainID: 7, Target: cursor})
	if err != nil {
		return err
	}
	if err := c.addAll(b); err != nil {
		return err
	}
	c.cursor = cursor
	return b.Commit(h, cursor)
}
