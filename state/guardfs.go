package state

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardFS is the file system that Pebble gets. Pebble cannot survive a failed write to its log or
// its manifest: it panics with locks held, or released twice. So while the store is open such an
// error fails the store and parks the goroutine instead of returning to Pebble. After the failure
// every write parks, which ends Pebble's endless retries of flushes.
//
// Errors on tables are returned: Pebble tries again. Only while Pebble opens and works in the
// background already is every error of a write kept from it: it would give up, and take away the
// memory and the files that its own background goroutines still use.
type guardFS struct {
	vfs.FS
	fail *failure
	mode atomic.Int32
	// working is set once Pebble, in opening, has begun to write a table or a log. Before that it has
	// no work in the background, and gives up in good order.
	working atomic.Bool
}

// The modes of a guardFS.
const (
	guardOff     = iota // errors go through
	guardOpening        // pebble.Open runs
	guardArmed          // the store is open
)

// critical says whether Pebble survives no failed write to the file: write-ahead logs, manifests
// and the markers that name them.
func (g *guardFS) critical(name string) bool {
	base := g.FS.PathBase(name)
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST-") ||
		strings.HasPrefix(base, "marker.")
}

// before parks the goroutine where a write must not start any more.
func (g *guardFS) before() {
	if g.mode.Load() != guardOff && g.fail.err() != nil {
		park()
	}
}

// after passes err on, unless it must not reach Pebble.
func (g *guardFS) after(err error, critical bool, op, name string) error {
	if err == nil {
		return nil
	}
	switch g.mode.Load() {
	case guardOpening:
		critical = g.working.Load()
	case guardOff:
		critical = false
	}
	if critical {
		g.fail.set(fmt.Errorf("%s %s: %w", op, name, err))
		park()
	}
	return err
}

// begins notes that Pebble is about to write a file.
func (g *guardFS) begins(name string) {
	g.before()
	if strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".sst") {
		g.working.Store(true)
	}
}

func (g *guardFS) wrap(f vfs.File, err error, op, name string) (vfs.File, error) {
	critical := g.critical(name)
	size := int64(0)
	isLog := strings.HasSuffix(name, ".log")
	if err == nil && isLog && op == "reuse" {
		size, err = sizeOf(f)
	}
	if g.after(err, critical, op, name) != nil {
		return nil, err
	}
	if isLog {
		f = newLogFile(f, size)
	}
	return &guardFile{File: f, fs: g, name: name, critical: critical}, nil
}

func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	g.begins(name)
	f, err := g.FS.Create(name, c)
	return g.wrap(f, err, "create", name)
}

func (g *guardFS) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	g.before()
	f, err := g.FS.OpenReadWrite(name, c, opts...)
	return g.wrap(f, err, "open", name)
}

func (g *guardFS) ReuseForWrite(
	oldname, newname string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	g.begins(newname)
	f, err := g.FS.ReuseForWrite(oldname, newname, c)
	return g.wrap(f, err, "reuse", newname)
}

// OpenDir gives a handle for syncing. The directory holds the logs' and manifests' names.
func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if g.after(err, false, "open", name) != nil {
		return nil, err
	}
	return &guardFile{File: f, fs: g, name: name, critical: true, dir: true}, nil
}

func (g *guardFS) Link(oldname, newname string) error {
	g.before()
	return g.after(g.FS.Link(oldname, newname), g.critical(newname), "link", newname)
}

func (g *guardFS) Rename(oldname, newname string) error {
	g.before()
	return g.after(g.FS.Rename(oldname, newname), g.critical(newname), "rename", newname)
}

// Remove and RemoveAll of what is no longer needed may fail without harm.
func (g *guardFS) Remove(name string) error {
	g.before()
	return g.after(g.FS.Remove(name), false, "remove", name)
}

func (g *guardFS) RemoveAll(name string) error {
	g.before()
	return g.after(g.FS.RemoveAll(name), false, "remove", name)
}

func (g *guardFS) MkdirAll(dir string, perm os.FileMode) error {
	g.before()
	return g.after(g.FS.MkdirAll(dir, perm), false, "make", dir)
}

// List is asked at the end of opening, when there is background work.
func (g *guardFS) List(dir string) ([]string, error) {
	names, err := g.FS.List(dir)
	return names, g.after(err, false, "list", dir)
}

func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// guardFile is a file opened for writing, or a directory opened for syncing.
type guardFile struct {
	vfs.File
	fs       *guardFS
	name     string
	critical bool
	dir      bool
}

func (f *guardFile) after(err error, op string) error {
	return f.fs.after(err, f.critical, op, f.name)
}

func (f *guardFile) Write(p []byte) (int, error) {
	f.fs.before()
	n, err := f.File.Write(p)
	return n, f.after(err, "write")
}

func (f *guardFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.before()
	n, err := f.File.WriteAt(p, off)
	return n, f.after(err, "write")
}

func (f *guardFile) Preallocate(off, length int64) error {
	f.fs.before()
	return f.after(f.File.Preallocate(off, length), "preallocate")
}

// Sync of a directory is critical while the store opens too, work in the background or not: Pebble
// panics where it fails, and a flush of ingested tables, which writes no file first, may be under
// way.
func (f *guardFile) Sync() error {
	f.fs.before()
	err := f.File.Sync()
	if err != nil && f.dir && f.fs.mode.Load() == guardOpening {
		f.fs.fail.set(fmt.Errorf("sync %s: %w", f.name, err))
		park()
	}
	return f.after(err, "sync")
}

func (f *guardFile) SyncData() error {
	f.fs.before()
	return f.after(f.File.SyncData(), "sync")
}

func (f *guardFile) SyncTo(length int64) (bool, error) {
	f.fs.before()
	full, err := f.File.SyncTo(length)
	return full, f.after(err, "sync")
}

func (f *guardFile) Close() error {
	return f.after(f.File.Close(), "close")
}
