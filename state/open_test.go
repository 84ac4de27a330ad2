package state

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/common"
)

// wantOpenError opens and expects the error, with a sentence on what to do.
func wantOpenError(t *testing.T, o Options, want error) {
	t.Helper()
	s, err := Open(o)
	if err == nil {
		mustClose(t, s)
	}
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
	if !strings.Contains(err.Error(), o.Dir) || !strings.Contains(err.Error(), ": ") {
		t.Errorf("message %q", err)
	}
}

// files lists a directory's files with their contents.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		m[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOpenMakesAStoreOnDiskAndFindsItAgain(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "a", "b"), MemTableBytes: 1 << 20}
	s := mustOpen(t, o)
	if _, ok := s.Cursor(); ok {
		t.Error("a new store has a cursor")
	}
	c := newChain(newRand(1), 30)
	c.next(c.layer(10))
	c.build(t, s)
	commitNext(t, s, c, 10)
	mustClose(t, s)
	o.MustExist = true
	s = mustOpen(t, o)
	c.check(t, s)
	if s.ChainID() != 7 {
		t.Errorf("chain id %d", s.ChainID())
	}
	mustClose(t, s)
}

func TestOpenWithMustExistMakesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{filepath.Join(dir, "none"), dir} {
		for _, o := range []Options{{Dir: d, MustExist: true}, {Dir: d, ReadOnly: true}} {
			wantOpenError(t, o, ErrNotFound)
		}
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made the directory: %v", err)
	}
}

func TestOpenRefusesAForeignDirectoryUntouched(t *testing.T) {
	for name, fill := range map[string]func(dir string) error{
		"some file": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o644)
		},
		"some directory": func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "chaindata"), 0o755)
		},
		"another Pebble database": func(dir string) error {
			db, err := pebble.Open(dir, &pebble.Options{Logger: quietLogger{}})
			if err != nil {
				return err
			}
			return errors.Join(db.Set([]byte("k"), []byte("v"), pebble.Sync), db.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := fill(dir); err != nil {
				t.Fatal(err)
			}
			before := files(t, dir)
			for _, o := range []Options{{Dir: dir}, {Dir: dir, MustExist: true},
				{Dir: dir, ReadOnly: true}} {
				wantOpenError(t, o, ErrForeign)
			}
			after := files(t, dir)
			if len(before) != len(after) {
				t.Errorf("files %v became %v", before, after)
			}
			for path, b := range before {
				if after[path] != b {
					t.Errorf("%s changed", path)
				}
			}
		})
	}
}

func TestOpenRefusesAFileInPlaceOfTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, Options{Dir: path}, ErrForeign)
}

type quietLogger struct{}

func (quietLogger) Infof(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}
func (quietLogger) Fatalf(string, ...any) {}

func TestOpenRefusesADatabaseWithoutSchema(t *testing.T) {
	fsys := vfs.NewMem()
	db, err := pebble.Open("db", &pebble.Options{FS: fsys, Logger: quietLogger{}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Set([]byte("k"), []byte("v"), pebble.Sync), db.Close())
	if err = errors.Join(err, writeMarker(fsys, "db")); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, testOptions(fsys), ErrForeign)
}

func TestOpenRefusesAnotherSchema(t *testing.T) {
	fsys := MemFS()
	s := mustOpen(t, testOptions(fsys))
	err := s.write(func(b *pebble.Batch) error {
		v := binary.BigEndian.AppendUint32(nil, schemaVersion+1)
		return b.Set([]byte(metaSchema), v, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	wantOpenError(t, testOptions(fsys), ErrSchema)
}

func TestOpenRefusesALockedStore(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]Options{"disk": {Dir: dir}, "memory": testOptions(MemFS())} {
		s := mustOpen(t, o)
		wantOpenError(t, o, ErrLocked)
		o.ReadOnly = true
		wantOpenError(t, o, ErrLocked)
		mustClose(t, s)
		if s, err := Open(o); err != nil {
			t.Errorf("%s: after Close: %v", name, err)
		} else {
			mustClose(t, s)
		}
	}
	// The same directory by another name is still the same.
	s := mustOpen(t, Options{Dir: dir})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: link}); !errors.Is(err, ErrLocked) {
		t.Errorf("through a link: %v", err)
	}
	mustClose(t, s)
}

// damagedStore makes a store on disk whose rows are in tables, and in the log.
func damagedStore(t *testing.T) (o Options, c *chain) {
	t.Helper()
	o = Options{Dir: t.TempDir(), MemTableBytes: 1 << 20}
	s := mustOpen(t, o)
	c = newChain(newRand(3), 30)
	c.next(c.layer(20))
	c.build(t, s)
	commitNext(t, s, c, 10)
	mustClose(t, s)
	return o, c
}

func TestOpenTellsDamage(t *testing.T) {
	glob := func(t *testing.T, dir, pattern string) []string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		return names
	}
	each := func(pattern string, do func(path string) error) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, name := range glob(t, dir, pattern) {
				if err := do(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	garble := func(path string) error { return os.WriteFile(path, []byte("garbage garbage"), 0o644) }
	for name, damage := range map[string]func(t *testing.T, dir string){
		"manifest garbled":      each("MANIFEST-*", garble),
		"manifest removed":      each("MANIFEST-*", os.Remove),
		"markers removed":       each("marker.*", os.Remove),
		"format marker removed": each("marker.format*", os.Remove),
		"manifest marker gone":  each("marker.manifest*", os.Remove),
		"options garbled":       each("OPTIONS-*", garble),
		"tables removed":        each("*.sst", os.Remove),
		"tables cut":            each("*.sst", func(p string) error { return os.Truncate(p, 100) }),
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := damagedStore(t)
			damage(t, o.Dir)
			wantOpenError(t, o, ErrCorrupt)
			o.MustExist = true
			wantOpenError(t, o, ErrCorrupt)
		})
	}
}

// rotFS gives garbled bytes of tables once it is on.
type rotFS struct {
	vfs.FS
	on atomic.Bool
}

func (f *rotFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err == nil && strings.HasSuffix(name, ".sst") {
		file = &rotFile{file, f}
	}
	return file, err
}

type rotFile struct {
	vfs.File
	fs *rotFS
}

func (f *rotFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if f.fs.on.Load() {
		for i := range p[:n] {
			p[i] ^= 0x55
		}
	}
	return n, err
}

func TestReadsTellDamage(t *testing.T) {
	rot := &rotFS{FS: vfs.NewMem()}
	o := testOptions(rot)
	s := mustOpen(t, o)
	c := newChain(newRand(3), 300)
	c.next(c.layer(100)) // several blocks of tables: opening reads one of them
	c.build(t, s)
	mustClose(t, s)
	o.ReadOnly = true // no compactions, which would read tables before we do
	s = mustOpen(t, o)
	rot.on.Store(true)
	sn := s.NewSnapshot()
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	var errs [4]error
	note := func(i int, err error) {
		if err != nil {
			errs[i] = err
		}
	}
	for key := range c.rows {
		if key[0] == spaceSlot {
			account, slot := common.Hash([]byte(key[1:33])), common.Hash([]byte(key[33:]))
			_, e := sn.Slot(account, slot)
			note(0, e)
			_, e = r.Slot(&account, &slot)
			note(1, e)
			_, _, _, e = r.StorageTrie(account).FirstBranch(trie.Path{})
			note(3, e)
			if errs[0] != nil && errs[1] != nil && errs[3] != nil {
				break // Pebble takes its time over each damaged block
			}
		}
	}
	it := sn.AllSlots()
	for it.Next() {
	}
	errs[2] = it.Error()
	for i, err := range errs {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("read %d: %v", i, err)
		}
	}
	if err := it.Close(); err != nil && !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := r.Close(); err != nil && !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	mustClose(t, sn)
	mustClose(t, s)
}

func TestReadOnlyReadsAndRefusesWrites(t *testing.T) {
	fsys := MemFS()
	s, c := builtStore(t, fsys, 4)
	commitNext(t, s, c, 10) // in the log, not in tables
	mustClose(t, s)
	o := testOptions(fsys)
	o.ReadOnly = true
	s = mustOpen(t, o)
	c.check(t, s)
	sn := s.NewSnapshot()
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.keys {
		want := c.get(appendHashKey(nil, spaceAccount, &c.keys[i]))
		if row, err := r.SlimAccount(&c.keys[i]); err != nil || string(row) != string(want) {
			t.Fatalf("account %x: %x, %v", c.keys[i], row, err)
		}
	}
	mustClose(t, r)
	mustClose(t, sn)
	b, _ := c.next(new(Layer))
	for name, err := range map[string]error{
		"commit": s.Commit(c.cursor, b, new(Layer)),
		"revert": s.Revert(c.cursor, Cursor{}, new(Layer)),
		"bulk":   func() error { _, err := s.NewBulk(BulkOptions{ChainID: 1}); return err }(),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustClose(t, s)
}

func TestOpenGoesOnWithACreationCutOff(t *testing.T) {
	for name, make := range map[string]func(fsys vfs.FS) error{
		"empty directory": func(fsys vfs.FS) error { return nil },
		"lock alone": func(fsys vfs.FS) error {
			f, err := fsys.Create("db/LOCK", vfs.WriteCategoryUnspecified)
			return errors.Join(err, f.Close())
		},
		"marker alone": func(fsys vfs.FS) error { return writeMarker(fsys, "db") },
		"no schema row": func(fsys vfs.FS) error {
			db, err := pebble.Open("db", &pebble.Options{FS: fsys, Logger: quietLogger{},
				FormatMajorVersion: pebble.FormatNewest})
			return errors.Join(err, db.Close(), writeMarker(fsys, "db"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewMem()
			if err := errors.Join(fsys.MkdirAll("db", 0o755), make(fsys)); err != nil {
				t.Fatal(err)
			}
			o := testOptions(fsys)
			o.MustExist = true
			wantOpenError(t, o, ErrNotFound)
			s := mustOpen(t, testOptions(fsys))
			mustClose(t, s)
			s = mustOpen(t, o)
			mustClose(t, s)
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Options{
		"no directory":    {},
		"small cache":     {Dir: "x", CacheBytes: 1},
		"negative cache":  {Dir: "x", CacheBytes: -1},
		"small memtables": {Dir: "x", MemTableBytes: 1},
		"large memtables": {Dir: "x", MemTableBytes: 1 << 40},
	} {
		if err := o.Validate(); !errors.Is(err, ErrBadOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := Options{Dir: "x"}
	if err := o.Validate(); err != nil || o.CacheBytes != defaultCacheBytes ||
		o.MemTableBytes != defaultMemTableBytes || o.Logger == nil || !filepath.IsAbs(o.Dir) {
		t.Errorf("defaults %+v, %v", o, err)
	}
}
