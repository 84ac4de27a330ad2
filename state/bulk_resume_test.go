package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/common"
)

func hashes(from, to int) KeyRange {
	return KeyRange{common.Hash{byte(from)}, common.Hash{byte(to)}}
}

func TestRangesThatTouchAreOne(t *testing.T) {
	next := func(h common.Hash) common.Hash {
		n, ok := increment(h)
		if !ok {
			t.Fatal("no hash behind", h)
		}
		return n
	}
	end := common.Hash{3}
	for name, c := range map[string]struct{ in, want []KeyRange }{
		"none":     {nil, nil},
		"apart":    {[]KeyRange{hashes(5, 6), hashes(1, 2)}, []KeyRange{hashes(1, 2), hashes(5, 6)}},
		"touching": {[]KeyRange{{next(end), common.Hash{9}}, hashes(1, 3)}, []KeyRange{hashes(1, 9)}},
		"within":   {[]KeyRange{hashes(1, 9), hashes(2, 3)}, []KeyRange{hashes(1, 9)}},
		"to the end": {[]KeyRange{{common.Hash{1}, common.MaxHash}, {common.MaxHash, common.MaxHash}},
			[]KeyRange{{common.Hash{1}, common.MaxHash}}},
	} {
		if got := mergeRanges(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %x", name, got)
		}
	}
	ranges := []KeyRange{hashes(1, 2), hashes(5, 6)}
	for h, want := range map[byte]int{0: -1, 1: 0, 2: 0, 3: -1, 5: 1, 6: 1, 7: -1} {
		if got := findRange(ranges, common.Hash{h}.Bytes()); got != want {
			t.Errorf("account %d: range %d", h, got)
		}
	}
}

// TestALostTableTakesItsRangesAlong has a table over two ranges, one of which has another table
// that is lost.
func TestALostTableTakesItsRangesAlong(t *testing.T) {
	table := func(id uint64, from, to byte) tableMeta {
		a, b := common.Hash{from}, common.Hash{to}
		return tableMeta{id: id, first: appendHashKey(nil, spaceStorageBranch, &a),
			last: appendHashKey(nil, spaceStorageBranch, &b)}
	}
	mid, _ := increment(common.Hash{4})
	ranges := []KeyRange{hashes(1, 2), hashes(3, 4), {mid, common.Hash{6}}, hashes(8, 9)}
	tables := []tableMeta{table(1, 1, 2), table(2, 3, 3), table(3, 4, 6), table(4, 8, 8),
		table(5, 7, 7)}
	void := map[uint64]bool{2: true}
	kept, gone := consistent(tables, ranges, void)
	if !slices.Equal(kept, []KeyRange{hashes(1, 2), hashes(8, 9)}) || len(gone) != 2 {
		t.Errorf("kept %x, gone %x", kept, gone)
	}
	if fmt.Sprint(void) != "map[2:true 3:true 5:true]" {
		t.Errorf("void %v", void)
	}
}

// pausedPlan builds a part of the plan's tries and pauses.
func pausedPlan(t *testing.T, fs FS, p *buildPlan, tries int) *Store {
	t.Helper()
	s := mustOpen(t, testOptions(fs))
	b, err := p.begin(s, false)
	if err == nil {
		err = p.loadRows(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	some := *p
	some.tries = p.tries[:tries]
	if err := errors.Join(some.buildTries(b), b.Pause()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestATableOfAPausedBuildThatIsDamagedIsBuiltAgain harms each of the tables in several ways.
func TestATableOfAPausedBuildThatIsDamagedIsBuiltAgain(t *testing.T) {
	p := newBuildPlan(21, 20)
	want := p.complete(t)
	harms := map[string]func(fs FS, path string) error{
		"removed": func(fs FS, path string) error { return fs.Remove(path) },
		"emptied": func(fs FS, path string) error { return overwrite(fs, path, nil) },
		"cut": func(fs FS, path string) error {
			return change(fs, path, func(b []byte) []byte { return b[:len(b)/2] })
		},
		"a bit": func(fs FS, path string) error {
			return change(fs, path, func(b []byte) []byte { b[len(b)/3] ^= 4; return b })
		},
		"another's": func(fs FS, path string) error {
			return overwrite(fs, path, []byte(strings.Repeat("x", 1000)))
		},
	}
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			for i := 0; ; i++ {
				fs := MemFS()
				s := pausedPlan(t, fs, p, 9)
				dir := s.bulkDir()
				mustClose(t, s)
				names, err := fs.List(dir)
				if err != nil || len(names) < 3 {
					t.Fatal(names, err)
				}
				slices.Sort(names)
				if i == len(names) {
					return
				}
				err = errors.Join(harm(fs, fs.PathJoin(dir, names[i])),
					overwrite(fs, fs.PathJoin(dir, "stray.sst"), []byte("stray")))
				if err != nil {
					t.Fatal(err)
				}
				goOn(t, fs, p, names[i])
				checkBuilt(t, fs, want)
			}
		})
	}
}

// goOn resumes a build of 9 tries in 3 ranges, of which one is lost, and finishes it.
func goOn(t *testing.T, fs FS, p *buildPlan, lost string) {
	t.Helper()
	o := testOptions(fs)
	o.AllowUnfinished = true
	s := mustOpen(t, o)
	b, err := p.begin(s, false)
	if err != nil {
		t.Fatal(err)
	}
	if built := b.Built(); len(built) > 2 {
		t.Fatalf("table %s is lost, built are %x", lost, built)
	}
	if _, err := fs.Stat(fs.PathJoin(s.bulkDir(), "stray.sst")); err == nil {
		t.Error("a stray file is left")
	}
	if err := errors.Join(b.Pause(), p.run(s, false)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
}

func change(fs FS, path string, f func([]byte) []byte) error {
	file, err := fs.Open(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	b := make([]byte, info.Size())
	_, err = file.ReadAt(b, 0)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return overwrite(fs, path, f(b))
}

func overwrite(fs FS, path string, b []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func TestAPausedBuildSaysHowFarItIs(t *testing.T) {
	p := newBuildPlan(22, 20)
	s := pausedPlan(t, MemFS(), p, 9)
	got, ok, err := s.Build()
	if err != nil || !ok || got.Rebuild || got.Target != p.target || got.Source != "plan" ||
		got.ChainID != 7 || got.Ranges != 3 || got.Tables < 3 || got.Rows == 0 || got.Bytes == 0 {
		t.Errorf("%+v %v %v", got, ok, err)
	}
	fs := s.opts.FS
	mustClose(t, s)
	o := testOptions(fs)
	wantOpenError(t, o, ErrUnfinished)
	o.ReadOnly, o.AllowUnfinished = true, true
	s = mustOpen(t, o)
	again, ok, err := s.Build()
	if err != nil || !ok || again != got {
		t.Errorf("read-only: %+v %v %v", again, ok, err)
	}
	sn := s.NewSnapshot()
	if n := countsOf(t, s); n != (Counts{}) {
		t.Errorf("rows are shown: %+v", n)
	}
	mustClose(t, sn)
	mustClose(t, s)
}

// TestABuildOfSomethingElseBeginsAnew changes one option at a time.
func TestABuildOfSomethingElseBeginsAnew(t *testing.T) {
	p := newBuildPlan(23, 20)
	for name, o := range map[string]BulkOptions{
		"source": {7, p.target, "other"}, "chain": {8, p.target, "plan"}, "target": {7, Cursor{}, "plan"},
	} {
		s := pausedPlan(t, MemFS(), p, 9)
		b, err := s.NewBulk(o)
		if err != nil {
			t.Fatal(err)
		}
		if b.Begun() {
			t.Errorf("another %s goes on", name)
		}
		left, err := s.opts.FS.List(s.bulkDir())
		if err != nil || len(left) != 0 {
			t.Errorf("left %v, %v", left, err)
		}
		if err := b.Abort(); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.Build(); ok || err != nil {
			t.Errorf("a build after Abort: %v %v", ok, err)
		}
		mustClose(t, s)
	}
	s := mustOpen(t, testOptions(MemFS()))
	if _, err := s.NewBulk(BulkOptions{Source: strings.Repeat("x", maxSourceLen+1)}); err == nil {
		t.Error("a source without bound")
	}
	if _, err := s.NewRebuild(); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("rebuild of nothing: %v", err)
	}
	mustClose(t, s)
}

// TestARebuildHoldsBlocksUpAndLeavesTheOldRows pauses, aborts, and begins anew after a block.
func TestARebuildHoldsBlocksUpAndLeavesTheOldRows(t *testing.T) {
	s, c := builtStore(t, MemFS(), 5)
	a := common.Hash{1}
	begin := func(wantBuilt int) *Bulk {
		t.Helper()
		b, err := s.NewRebuild()
		if err != nil || len(b.Built()) != wantBuilt {
			t.Fatalf("%v, built %v", err, b.Built())
		}
		return b
	}
	flush := func(b *Bulk) {
		t.Helper()
		w := b.NewRows()
		err := w.PutStorageBranch(&a, trie.Path{}, someBranch)
		if _, e := w.Flush(KeyRange{a, a}); errors.Join(err, e) != nil {
			t.Fatal(err, e)
		}
	}
	b := begin(0)
	flush(b)
	h, to := childOf(c.cursor, common.Hash{})
	block := Block{Header: h, Hash: to.Hash}
	if err := s.Commit(c.cursor, block, new(Layer)); !errors.Is(err, ErrBuilding) {
		t.Errorf("a block beside a rebuild: %v", err)
	}
	if err := b.Account(a, &Account{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a rebuild that loads: %v", err)
	}
	c.check(t, s)
	mustClose(t, s) // pauses
	s = mustOpen(t, s.opts)
	c.check(t, s)
	b = begin(1)
	if err := b.Pause(); err != nil {
		t.Fatal(err)
	}
	commitNext(t, s, c, 10)
	b = begin(0) // of another state
	flush(b)
	if err := errors.Join(b.Abort(), b.Pause()); !errors.Is(err, ErrClosed) {
		t.Errorf("pause after abort: %v", err)
	}
	c.check(t, s)
	flush(begin(0))
	mustClose(t, s)
	s = mustOpen(t, s.opts)
	commitNext(t, s, c, 10) // what is paused is stale now
	mustClose(t, s)
	s = mustOpen(t, s.opts)
	if _, ok, err := s.Build(); ok || err != nil {
		t.Errorf("a stale rebuild is left: %v %v", ok, err)
	}
	if _, err := s.opts.FS.Stat(s.bulkDir()); err == nil {
		t.Error("its folder is left")
	}
	c.check(t, s)
	mustClose(t, s)
}

func TestARootForAnAccountThatIsNotThereFailsTheCommit(t *testing.T) {
	s, b, _ := emptyBuild(t)
	for i := range 2 * maxFixes { // more than are held in memory
		acct := NewAccount()
		h := common.Hash{0: byte(i >> 8), 1: byte(i)}
		if err := errors.Join(b.Account(h, &acct), b.SetStorageRoot(h, common.Hash{1})); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.fixes.len(); n >= maxFixes {
		t.Errorf("%d corrections in memory", n)
	}
	if err := b.SetStorageRoot(common.MaxHash, common.Hash{1}); err != nil {
		t.Fatal(err)
	}
	h, c := childOf(genesisParent, common.Hash{1})
	if err := b.Commit(h, c); !errors.Is(err, ErrNoAccount) {
		t.Errorf("%v", err)
	}
	if _, err := b.NewReader(); !errors.Is(err, ErrClosed) {
		t.Errorf("a reader of a build that ended: %v", err)
	}
	mustClose(t, s)
}
