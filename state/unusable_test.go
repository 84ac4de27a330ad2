package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestOpenSaysWhatToDoAboutTheFileSystem has the file system refuse each step of opening.
func TestOpenSaysWhatToDoAboutTheFileSystem(t *testing.T) {
	for errno, advice := range map[syscall.Errno]string{
		syscall.EACCES: "the right to read and write", syscall.EPERM: "the right to read and write",
		syscall.EROFS: "mount the file system", syscall.ENOTDIR: "is a file",
		syscall.ELOOP: "in a circle", syscall.ENAMETOOLONG: "too long",
		syscall.ENOSPC: "make room", syscall.EIO: "see to the disk",
	} {
		for _, kind := range []errorfs.OpKind{errorfs.OpStat, errorfs.OpMkdirAll, errorfs.OpCreate,
			errorfs.OpOpenDir, errorfs.OpList} {
			refuse := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == kind {
					return &os.PathError{Op: "x", Path: op.Path, Err: errno}
				}
				return nil
			})
			o := testOptions(errorfs.Wrap(vfs.NewMem(), refuse))
			_, err := Open(o)
			if errors.Is(err, ErrStoreFailed) && errors.Is(err, errno) {
				continue // Pebble was at work already
			}
			if !errors.Is(err, ErrUnusable) || !errors.Is(err, errno) ||
				!strings.Contains(err.Error(), advice) || !strings.Contains(err.Error(), "store db: ") {
				t.Errorf("%v of operation %v: %v", errno, kind, err)
			}
		}
	}
}

func TestOpenSaysWhatIsWrongWithThePath(t *testing.T) {
	dir := t.TempDir()
	file, loop, dangling := filepath.Join(dir, "file"), filepath.Join(dir, "loop"),
		filepath.Join(dir, "dangling")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(loop, loop),
		os.Symlink(filepath.Join(dir, "none"), dangling)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(file, "db"): syscall.ENOTDIR, loop: syscall.ELOOP,
		filepath.Join(loop, "db"): syscall.ELOOP, dangling: os.ErrExist,
		filepath.Join(dir, strings.Repeat("x", 300)): syscall.ENAMETOOLONG,
	} {
		wantOpenError(t, Options{Dir: path}, ErrUnusable)
		if _, err := Open(Options{Dir: path}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}
