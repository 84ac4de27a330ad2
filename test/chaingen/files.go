package chaingen

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Names of the files that WriteDir writes.
const (
	GenesisFile  = "genesis.json"
	PayloadsFile = "payloads.jsonl.gz"
	HeadersFile  = "headers.jsonl.gz"
)

// WriteDir writes GenesisFile and PayloadsFile into a folder, which it makes if need be.
func (c *Chain) WriteDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := WriteFile(filepath.Join(dir, GenesisFile), c.WriteGenesis)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, PayloadsFile), c.WritePayloads)
}

// WriteFile makes a file of what write writes, compressed where the name ends in .gz. The file
// appears, or is replaced, whole or not at all. Compressed files hold neither a time nor a name:
// the same content gives the same bytes, as long as Go's compressor stays the same.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), f.Close(), os.Remove(f.Name()))
		}
	}()
	if strings.HasSuffix(path, ".gz") {
		err = writeGzip(f, write)
	} else {
		err = write(f)
	}
	if err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeGzip(w io.Writer, write func(io.Writer) error) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// ReadFile gives the content of a file, decompressed where the name ends in .gz.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return io.ReadAll(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	text, err := io.ReadAll(z)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}
