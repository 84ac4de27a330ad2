package endtoend

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/balsa-sync/balsa/state"
)

// photographed is a disk in memory that is photographed before every operation that changes it:
// each photo is what a loss of power at that moment would leave.
type photographed struct {
	vfs.FS
	disk state.CrashFS
	rng  *rand.Rand

	mu     sync.Mutex
	during span
	photos []photo
	synced bool            // something was synced since the last photo of what is
	files  map[string]bool // files that were synced, and that their names lead to
}

// span are the steps of the test's story that may be on the disk: all up to from are, and none
// after to is.
type span struct{ from, to int }

// photo is a disk as a crash would leave it.
type photo struct {
	disk   state.FS
	torn   bool // of what was not synced a half is there
	before string
	during span
}

func newPhotographed(seed uint64) *photographed {
	disk := state.NewCrashFS()
	return &photographed{
		FS: disk, disk: disk, rng: rand.New(rand.NewPCG(seed, 1)), synced: true,
		files: map[string]bool{},
	}
}

// enter says which steps may be on the disk from now on.
func (p *photographed) enter(s span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.during = s
}

// shoot takes a photo of what was synced, where that changed, and one in which half of the rest
// was written too, block by block and name by name.
func (p *photographed) shoot(op, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := op + " " + name
	if p.synced {
		p.photos = append(p.photos, photo{p.disk.Crash(), false, what, p.during})
		p.synced = false
	}
	torn := p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: p.rng})
	for file := range p.files {
		p.keep(torn, file)
	}
	p.photos = append(p.photos, photo{torn, true, what, p.during})
}

// keep gives a file that was synced its name back. Linux's file systems write a new file's name
// with the file, and Pebble relies on it: it syncs a manifest, not the directory, before the marker
// that points to it.
func (p *photographed) keep(torn *vfs.MemFS, file string) {
	if _, err := torn.Stat(file); err == nil {
		return
	}
	if err := torn.MkdirAll(torn.PathDir(file), 0o755); err != nil {
		panic(err)
	}
	if err := vfs.CopyAcrossFS(p.disk, file, torn, file); err != nil {
		panic(err)
	}
}

// note says that a file or a directory was synced.
func (p *photographed) note(name string, dir bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = true
	if !dir {
		p.files[name] = true
	}
}

// forget says that a name leads to nothing any more, or to something else.
func (p *photographed) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for file := range p.files {
		if file == name || strings.HasPrefix(file, name+"/") {
			delete(p.files, file)
		}
	}
}

func (p *photographed) wrap(f vfs.File, err error, name string, dir bool) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &photographedFile{File: f, fs: p, name: name, dir: dir}, nil
}

func (p *photographed) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	p.shoot("create", name)
	f, err := p.FS.Create(name, c)
	return p.wrap(f, err, name, false)
}

func (p *photographed) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	p.shoot("open", name)
	f, err := p.FS.OpenReadWrite(name, c, opts...)
	return p.wrap(f, err, name, false)
}

func (p *photographed) ReuseForWrite(
	oldname, newname string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	p.shoot("reuse", oldname+" as "+newname)
	p.forget(oldname)
	f, err := p.FS.ReuseForWrite(oldname, newname, c)
	return p.wrap(f, err, newname, false)
}

func (p *photographed) OpenDir(name string) (vfs.File, error) {
	f, err := p.FS.OpenDir(name)
	return p.wrap(f, err, name, true)
}

func (p *photographed) Link(oldname, newname string) error {
	p.shoot("link", oldname+" to "+newname)
	return p.FS.Link(oldname, newname)
}

func (p *photographed) Rename(oldname, newname string) error {
	p.shoot("rename", oldname+" to "+newname)
	p.forget(oldname)
	return p.FS.Rename(oldname, newname)
}

func (p *photographed) Remove(name string) error {
	p.shoot("remove", name)
	p.forget(name)
	return p.FS.Remove(name)
}

func (p *photographed) RemoveAll(name string) error {
	p.shoot("remove", name)
	p.forget(name)
	return p.FS.RemoveAll(name)
}

func (p *photographed) MkdirAll(dir string, perm os.FileMode) error {
	p.shoot("make", dir)
	return p.FS.MkdirAll(dir, perm)
}

// Unwrap implements vfs.FS.
func (p *photographed) Unwrap() vfs.FS { return p.FS }

type photographedFile struct {
	vfs.File
	fs   *photographed
	name string
	dir  bool
}

func (f *photographedFile) Write(b []byte) (int, error) {
	f.fs.shoot("write", f.name)
	return f.File.Write(b)
}

func (f *photographedFile) WriteAt(b []byte, off int64) (int, error) {
	f.fs.shoot("write", f.name)
	return f.File.WriteAt(b, off)
}

func (f *photographedFile) Sync() error {
	f.fs.shoot("sync", f.name)
	defer f.fs.note(f.name, f.dir)
	return f.File.Sync()
}

func (f *photographedFile) SyncData() error {
	f.fs.shoot("sync", f.name)
	defer f.fs.note(f.name, f.dir)
	return f.File.SyncData()
}

func (f *photographedFile) SyncTo(length int64) (bool, error) {
	f.fs.shoot("sync", f.name)
	defer f.fs.note(f.name, f.dir)
	return f.File.SyncTo(length)
}
