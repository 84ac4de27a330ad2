package state

import "github.com/cockroachdb/pebble/v2/vfs"

// FS is the file system that a store lives on.
type FS = vfs.FS

// MemFS returns an empty file system in memory.
func MemFS() FS { return vfs.NewMem() }

// CrashFS is a file system in memory that knows what of it was synced.
type CrashFS struct{ *vfs.MemFS }

// NewCrashFS returns an empty CrashFS.
func NewCrashFS() CrashFS { return CrashFS{vfs.NewCrashableMem()} }

// Crash returns the file system as it is after losing power now: what was synced is there, all
// else is lost. The receiver lives on.
func (c CrashFS) Crash() CrashFS { return CrashFS{c.MemFS.CrashClone(vfs.CrashCloneCfg{})} }
