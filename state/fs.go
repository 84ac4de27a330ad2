package state

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system that a store lives on.
type FS = vfs.FS

// MemFS returns an empty file system in memory.
func MemFS() FS { return vfs.NewMem() }

// CrashFS is a file system in memory that knows what of it was synced.
type CrashFS struct {
	*vfs.MemFS
	// linking is held for reading by the calls that take MemFS's own lock twice: a CrashClone that
	// comes in between would wait for the first, and the second for it, for ever.
	linking *sync.RWMutex
}

// NewCrashFS returns an empty CrashFS.
func NewCrashFS() CrashFS { return crashFS(vfs.NewCrashableMem()) }

func crashFS(m *vfs.MemFS) CrashFS { return CrashFS{m, new(sync.RWMutex)} }

// Crash returns the file system as it is after losing power now: what was synced is there, all
// else is lost. The receiver lives on. Crash may run beside any other call.
func (c CrashFS) Crash() CrashFS { return c.crash(vfs.CrashCloneCfg{}) }

// crash is Crash, where some of what was not synced may be there.
func (c CrashFS) crash(keep vfs.CrashCloneCfg) CrashFS {
	c.linking.Lock()
	defer c.linking.Unlock()
	return crashFS(c.MemFS.CrashClone(keep))
}

// Link implements FS.
func (c CrashFS) Link(oldname, newname string) error {
	c.linking.RLock()
	defer c.linking.RUnlock()
	return c.MemFS.Link(oldname, newname)
}

// ReuseForWrite implements FS.
func (c CrashFS) ReuseForWrite(
	oldname, newname string, category vfs.DiskWriteCategory,
) (vfs.File, error) {
	c.linking.RLock()
	defer c.linking.RUnlock()
	return c.MemFS.ReuseForWrite(oldname, newname, category)
}
