package state

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	tableWriteBytes = 256 << 10 // of a table, handed to the file system at once
	tableSyncBytes  = 1 << 20   // that the system starts to write out, so that the last sync is short
)

// tableFile is the file of a table that is written.
type tableFile struct {
	f   vfs.File
	buf *[tableWriteBytes]byte
	n   int
	// late leaves the syncing and closing to sync, which whoever has the finished table calls.
	late bool
}

var _ objstorage.Writable = (*tableFile)(nil)

var tableBuffers = sync.Pool{New: func() any { return new([tableWriteBytes]byte) }}

func newTableFile(f vfs.File) *tableFile {
	return &tableFile{
		f:   vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: tableSyncBytes}),
		buf: tableBuffers.Get().(*[tableWriteBytes]byte),
	}
}

// Write implements objstorage.Writable.
func (t *tableFile) Write(p []byte) error {
	for len(p) > 0 {
		n := copy(t.buf[t.n:], p)
		t.n += n
		p = p[n:]
		if t.n == len(t.buf) {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tableFile) flush() error {
	_, err := t.f.Write(t.buf[:t.n])
	t.n = 0
	return err
}

// Finish implements objstorage.Writable: it makes the file durable, unless that comes late.
func (t *tableFile) Finish() error {
	err := t.flush()
	if err == nil && t.late {
		t.release()
		return nil
	}
	if err == nil {
		err = t.f.Sync()
	}
	t.release()
	return errors.Join(err, t.f.Close())
}

// sync makes a file durable that was finished without that.
func (t *tableFile) sync() error { return errors.Join(t.f.Sync(), t.f.Close()) }

// Abort implements objstorage.Writable.
func (t *tableFile) Abort() {
	t.release()
	_ = t.f.Close() // of a file that nobody wants
}

func (t *tableFile) release() {
	if t.buf != nil {
		tableBuffers.Put(t.buf)
		t.buf = nil
	}
}
