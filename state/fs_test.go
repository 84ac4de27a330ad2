package state

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCrashMayRunBesideWrites links, reuses, writes and syncs while the file system crashes again
// and again: MemFS alone comes to a standstill in that.
func TestCrashMayRunBesideWrites(t *testing.T) {
	const rounds = 20_000
	fsys := NewCrashFS()
	if err := fsys.MkdirAll("db", 0o755); err != nil {
		t.Fatal(err)
	}
	step := func(i int) error {
		f, err := fsys.Create("db/a", vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte{byte(i)})
		if err = errors.Join(err, f.Sync(), f.Close(), fsys.Link("db/a", "db/b")); err != nil {
			return err
		}
		if f, err = fsys.ReuseForWrite("db/b", "db/c", vfs.WriteCategoryUnspecified); err != nil {
			return err
		}
		return errors.Join(f.Close(), fsys.Rename("db/c", "db/d"), fsys.Remove("db/a"),
			fsys.Remove("db/d"))
	}
	stop, done := make(chan struct{}), make(chan error, 2)
	go func() {
		for i := range rounds {
			if err := step(i); err != nil {
				done <- err
				return
			}
		}
		close(stop)
		done <- nil
	}()
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				fsys.Crash()
			}
		}
	}()
	for range 2 {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the file system hangs")
		}
	}
}
