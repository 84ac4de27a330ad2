package simulation

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system of one process: it knows what of it was synced, counts the operations,
// and fails where the plan says so. The process ends at a file operation in that the disk's image
// is taken there: what the process does on the disk after that is lost.
type disk struct {
	vfs.FS
	mem    *vfs.MemFS
	faults *faults
	rng    *rand.Rand

	mu     sync.Mutex // no image is taken beside a write
	image  *vfs.MemFS // of the last fault
	ended  atomic.Bool
	full   bool
	failed bool // some write did
	ops    *counts
}

// counts are file operations, over all processes of a run.
type counts struct{ reads, writes int }

func newDisk(mem *vfs.MemFS, f *faults, rng *rand.Rand, ops *counts) *disk {
	return &disk{FS: mem, mem: mem, faults: f, rng: rng, ops: ops}
}

// after gives the disk as the next process finds it: with all that was written, or with what was
// synced.
func (d *disk) after(lost bool) *vfs.MemFS {
	if lost {
		return d.mem.CrashClone(vfs.CrashCloneCfg{})
	}
	return d.mem.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1)),
	})
}

// writing runs an operation that changes the disk, or makes something durable.
func (d *disk) writing(op, name string, do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended.Load() {
		return do()
	}
	d.ops.writes++
	kind, now := d.faults.atFile(true, op, name)
	if !now && d.full && op != "sync" {
		return injected(diskFull)
	}
	if !now {
		return do()
	}
	switch kind {
	case powerLoss:
		d.image = d.after(true)
		d.ended.Store(true)
		return do()
	case processEnds:
		d.image = d.after(false)
		d.ended.Store(true)
		return do()
	}
	d.image = d.after(d.rng.IntN(2) == 0)
	d.full, d.failed = kind == diskFull, true
	return injected(kind)
}

// reading runs an operation that only looks.
func (d *disk) reading(op, name string, do func() error) error {
	if d.ended.Load() {
		return do()
	}
	d.mu.Lock()
	d.ops.reads++
	kind, now := d.faults.atFile(false, op, name)
	d.mu.Unlock()
	if now {
		return injected(kind)
	}
	return do()
}

func (d *disk) open(op, name string, do func() (vfs.File, error)) (f vfs.File, err error) {
	err = d.writing(op, name, func() (err error) {
		f, err = do()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, disk: d, name: name}, nil
}

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("create", name, func() (vfs.File, error) { return d.FS.Create(name, c) })
}

func (d *disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("create", name, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, c) })
}

func (d *disk) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return d.open("open", name, func() (vfs.File, error) {
		return d.FS.OpenReadWrite(name, c, opts...)
	})
}

func (d *disk) OpenDir(name string) (f vfs.File, err error) {
	if f, err = d.FS.OpenDir(name); err != nil {
		return nil, err
	}
	return &diskFile{File: f, disk: d, name: name}, nil
}

func (d *disk) Open(name string, opts ...vfs.OpenOption) (f vfs.File, err error) {
	err = d.reading("open", name, func() (err error) {
		f, err = d.FS.Open(name, opts...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, disk: d, name: name}, nil
}

func (d *disk) Link(oldname, newname string) error {
	return d.writing("link", newname, func() error { return d.FS.Link(oldname, newname) })
}

func (d *disk) Rename(oldname, newname string) error {
	return d.writing("rename", newname, func() error { return d.FS.Rename(oldname, newname) })
}

// Remove leaves Pebble's obsolete files where they are: it removes them in its own time.
func (d *disk) Remove(name string) error {
	if base := d.PathBase(name); d.PathDir(name) == storeDir {
		for _, kept := range []string{".sst", ".log", "MANIFEST", "OPTIONS"} {
			if strings.Contains(base, kept) {
				return nil
			}
		}
	}
	return d.writing("remove", name, func() error { return d.FS.Remove(name) })
}

func (d *disk) RemoveAll(name string) error {
	return d.writing("remove", name, func() error { return d.FS.RemoveAll(name) })
}

func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.writing("make", dir, func() error { return d.FS.MkdirAll(dir, perm) })
}

func (d *disk) List(dir string) (names []string, err error) {
	err = d.reading("list", dir, func() (err error) {
		names, err = d.FS.List(dir)
		return err
	})
	return names, err
}

func (d *disk) Stat(name string) (info vfs.FileInfo, err error) {
	err = d.reading("stat", name, func() (err error) {
		info, err = d.FS.Stat(name)
		return err
	})
	return info, err
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

// diskFile is a file of a disk.
type diskFile struct {
	vfs.File
	disk *disk
	name string
}

func (f *diskFile) Write(p []byte) (n int, err error) {
	err = f.disk.writing("write", f.name, func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *diskFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.disk.writing("write", f.name, func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *diskFile) Sync() error { return f.disk.writing("sync", f.name, f.File.Sync) }

func (f *diskFile) SyncData() error { return f.disk.writing("sync", f.name, f.File.SyncData) }

func (f *diskFile) SyncTo(length int64) (full bool, err error) {
	err = f.disk.writing("sync", f.name, func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

func (f *diskFile) Read(p []byte) (n int, err error) {
	err = f.disk.reading("read", f.name, func() (err error) {
		n, err = f.File.Read(p)
		return err
	})
	return n, err
}

func (f *diskFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.disk.reading("read", f.name, func() (err error) {
		n, err = f.File.ReadAt(p, off)
		return err
	})
	return n, err
}
