package state

import "github.com/cockroachdb/pebble/v2/vfs"

const (
	// Space for a log is taken in steps: as much as is written, within these bounds.
	minLogStep = 1 << 20
	maxLogStep = 4 << 20
)

// logFile takes a log's space on the disk as the log grows. Pebble asks for room for a whole
// memtable at once, in every log, and keeps up to five old logs to use them again: hundreds of
// megabytes that a small store does not need. What space taken ahead is good for, whole extents and
// no allocation within a sync, a few megabytes give as well.
//
// Like Pebble's own, it is for one goroutine that writes.
type logFile struct {
	vfs.File
	wanted  int64 // how far Pebble asked for space
	taken   int64 // how far there is some
	written int64
}

// newLogFile wraps a log that has size bytes already, which are written again.
func newLogFile(f vfs.File, size int64) *logFile { return &logFile{File: f, taken: size} }

// Preallocate notes how far space is wanted.
func (f *logFile) Preallocate(off, length int64) error {
	f.wanted = max(f.wanted, off+length)
	return nil
}

func (f *logFile) Write(p []byte) (int, error) {
	if end := f.written + int64(len(p)); end > f.taken && f.taken < f.wanted {
		step := max(min(max(f.written, minLogStep), maxLogStep), end-f.taken)
		// Where there is no such call, or no space: the write finds its own, or tells.
		_ = f.File.Preallocate(f.taken, step)
		f.taken += step
	}
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, err
}

func sizeOf(f vfs.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
