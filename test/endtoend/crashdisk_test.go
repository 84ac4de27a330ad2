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
	// every is how many operations lie between two photos. 0 is 1.
	every int

	mu     sync.Mutex
	during span
	photos []photo
	ops    int
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

// change takes the photos that belong before an operation, then does it. Operations wait for each
// other: a copy of the disk in the middle of one could wait for it for ever.
func (p *photographed) change(op, name string, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shoot(op + " " + name)
	return do()
}

// shoot takes a photo of what was synced, where that changed, and one in which half of the rest
// was written too, block by block and name by name.
func (p *photographed) shoot(before string) {
	if p.ops++; p.every > 0 && p.ops%p.every != 0 {
		return
	}
	if p.synced {
		p.photos = append(p.photos, photo{p.disk.Crash(), false, before, p.during})
		p.synced = false
	}
	torn := p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: p.rng})
	for file := range p.files {
		p.keep(torn, file)
	}
	p.photos = append(p.photos, photo{torn, true, before, p.during})
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

// forget says that a name leads to nothing any more, or to something else.
func (p *photographed) forget(name string) {
	for file := range p.files {
		if file == name || strings.HasPrefix(file, name+"/") {
			delete(p.files, file)
		}
	}
}

// open does what gives a file, and has it watched.
func (p *photographed) open(op, name string, do func() (vfs.File, error)) (f vfs.File, err error) {
	err = p.change(op, name, func() error {
		f, err = do()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &photographedFile{File: f, fs: p, name: name}, nil
}

func (p *photographed) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.open("create", name, func() (vfs.File, error) { return p.FS.Create(name, c) })
}

func (p *photographed) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return p.open("open", name, func() (vfs.File, error) {
		return p.FS.OpenReadWrite(name, c, opts...)
	})
}

func (p *photographed) ReuseForWrite(
	oldname, newname string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	return p.open("reuse "+oldname+" as", newname, func() (vfs.File, error) {
		p.forget(oldname)
		return p.FS.ReuseForWrite(oldname, newname, c)
	})
}

func (p *photographed) OpenDir(name string) (vfs.File, error) {
	f, err := p.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &photographedFile{File: f, fs: p, name: name, dir: true}, nil
}

func (p *photographed) Link(oldname, newname string) error {
	return p.change("link "+oldname+" to", newname, func() error {
		return p.FS.Link(oldname, newname)
	})
}

func (p *photographed) Rename(oldname, newname string) error {
	return p.change("rename "+oldname+" to", newname, func() error {
		p.forget(oldname)
		return p.FS.Rename(oldname, newname)
	})
}

func (p *photographed) Remove(name string) error {
	return p.change("remove", name, func() error {
		p.forget(name)
		return p.FS.Remove(name)
	})
}

func (p *photographed) RemoveAll(name string) error {
	return p.change("remove", name, func() error {
		p.forget(name)
		return p.FS.RemoveAll(name)
	})
}

func (p *photographed) MkdirAll(dir string, perm os.FileMode) error {
	return p.change("make", dir, func() error { return p.FS.MkdirAll(dir, perm) })
}

// Unwrap implements vfs.FS.
func (p *photographed) Unwrap() vfs.FS { return p.FS }

// photographedFile is a file opened for writing, or a directory opened for syncing.
type photographedFile struct {
	vfs.File
	fs   *photographed
	name string
	dir  bool
}

func (f *photographedFile) Write(b []byte) (n int, err error) {
	err = f.fs.change("write", f.name, func() error {
		n, err = f.File.Write(b)
		return err
	})
	return n, err
}

func (f *photographedFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.fs.change("write", f.name, func() error {
		n, err = f.File.WriteAt(b, off)
		return err
	})
	return n, err
}

// sync takes photos before something is synced, and notes that it was.
func (f *photographedFile) sync(do func() error) error {
	return f.fs.change("sync", f.name, func() error {
		f.fs.synced = true
		if !f.dir {
			f.fs.files[f.name] = true
		}
		return do()
	})
}

func (f *photographedFile) Sync() error { return f.sync(f.File.Sync) }

func (f *photographedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *photographedFile) SyncTo(length int64) (full bool, err error) {
	err = f.sync(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
