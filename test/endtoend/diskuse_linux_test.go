package endtoend

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/balsa-sync/balsa"
)

// maxSmallStore bounds what a store of some thousand rows takes on the disk, in bytes. Nearly all
// of it is logs: the one in use and those kept to be used again.
const maxSmallStore = 32 << 20

// bytesOnDisk is what the files of a directory take there, in bytes, reserved space included.
func bytesOnDisk(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err == nil {
			err = syscall.Lstat(path, &st)
		}
		if errors.Is(err, fs.ErrNotExist) { // Pebble takes files away in the background
			return nil
		}
		n += st.Blocks * 512
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestASmallStoreTakesLittleOfTheDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 300 blocks")
	}
	c := generate(t, "mix", 1, 300, 8)
	dir := t.TempDir()
	n := &node{t: t, opts: balsa.Options{Dir: dir, Workers: 1}}
	if _, err := balsa.Init(t.Context(), n.opts, genesisOf(c)); err != nil {
		t.Fatal(err)
	}
	if got := bytesOnDisk(t, dir); got > maxSmallStore {
		t.Errorf("%d bytes after init", got)
	}
	for range 3 { // each opening begins a log
		n.open()
		n.apply(c.Blocks[:100]...)
		c.Blocks = c.Blocks[100:]
		if got := bytesOnDisk(t, dir); got > maxSmallStore {
			t.Errorf("%d bytes with %d blocks to come", got, len(c.Blocks))
		}
		n.close()
	}
	if got := bytesOnDisk(t, dir); got > maxSmallStore {
		t.Errorf("%d bytes in the end", got)
	}
}
