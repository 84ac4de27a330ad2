package blockfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// Errors of this package, each wrapped with the file, the line and the element.
var (
	// ErrTruncated: the file, or the archive, ends within an object.
	ErrTruncated = errors.New("the file is cut off")
	// ErrSyntax: the file is not JSON, or an object is not what this package reads.
	ErrSyntax = errors.New("not a block")
	// ErrTooLarge: one object is larger than Options.MaxBlockBytes, or has more values in it than any
	// block has.
	ErrTooLarge = errors.New("block too large")
	// ErrBlockHash: the rebuilt header has another hash than the file says.
	ErrBlockHash = errors.New("block hash mismatch")
	// ErrBarePayload: a bare payload whose header needs what only the whole request carries.
	ErrBarePayload = errors.New("bare payload without its request")
	// ErrPreAmsterdam: the block has no block access list, because its fork has none (EIP-7928).
	ErrPreAmsterdam = errors.New("was made before Amsterdam and has no block access list: " +
		"it cannot be applied without executing it")
	// ErrNoFiles: a directory holds no block files.
	ErrNoFiles = errors.New("no block files")
)

// DefaultMaxBlockBytes is far above what a block can take: 10 MiB of transactions (EIP-7934) and a
// block access list of a few times that, both in hex.
const DefaultMaxBlockBytes = 64 << 20

// maxBlockValues is far above what a block can take: a transaction costs 21,000 gas, so that a
// block of a billion gas has 47,000, and a block access list is one string.
const maxBlockValues = 1 << 18

// Stdin is the path that stands for Options.Stdin.
const Stdin = "-"

// Options says what to read.
type Options struct {
	// Paths are files, directories, or Stdin, read in this order. The files of a directory are
	// those named *.json, *.jsonl, *.ndjson, with or without .gz, in the order of their names,
	// numbers in them taken as numbers; its directories are not entered.
	Paths []string
	// MaxBlockBytes bounds the JSON text of one object. Default: DefaultMaxBlockBytes.
	MaxBlockBytes int64
	// Stdin is read for the path Stdin. Default: nothing.
	Stdin io.Reader
}

// Reader gives the blocks of some files, one after the other. It is not safe for concurrent use,
// but for Progress.
type Reader struct {
	limit int64
	stdin io.Reader
	files []string
	total int64
	done  atomic.Int64 // bytes read, compressed as they are

	name    string // of the current file
	file    io.Closer
	objects *Objects
}

// Open finds the files and sums their sizes. A path that does not exist is an error here
// (fs.ErrNotExist), not at the end of a long run.
func Open(o Options) (*Reader, error) {
	r := &Reader{limit: o.MaxBlockBytes, stdin: o.Stdin}
	if r.limit <= 0 {
		r.limit = DefaultMaxBlockBytes
	}
	for _, p := range o.Paths {
		if p == Stdin {
			r.files = append(r.files, p)
			continue
		}
		names, size, err := expand(p)
		if err != nil {
			return nil, err
		}
		r.files = append(r.files, names...)
		r.total += size
	}
	return r, nil
}

// expand gives the files behind a path and the sum of their sizes in bytes.
func expand(path string) (files []string, size int64, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !st.IsDir() {
		return []string{path}, st.Size(), nil
	}
	dir, err := os.ReadDir(path)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(dir, func(a, b fs.DirEntry) int { return compareNames(a.Name(), b.Name()) })
	for _, e := range dir {
		if !isBlockFile(e.Name()) {
			continue
		}
		name := filepath.Join(path, e.Name())
		st, err := os.Stat(name) // follows links
		if err != nil {
			return nil, 0, err
		}
		if st.Mode().IsRegular() {
			files = append(files, name)
			size += st.Size()
		}
	}
	if len(files) == 0 {
		return nil, 0, fmt.Errorf("%s: %w: none is named *.json, *.jsonl or *.ndjson (or so with .gz)",
			path, ErrNoFiles)
	}
	return files, size, nil
}

func isBlockFile(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch filepath.Ext(strings.TrimSuffix(name, ".gz")) {
	case ".json", ".jsonl", ".ndjson":
		return true
	}
	return false
}

// compareNames orders names with their numbers as numbers: block-9 before block-10.
func compareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx == 0 || ny == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		dx, dy := strings.TrimLeft(x[:nx], "0"), strings.TrimLeft(y[:ny], "0")
		if len(dx) != len(dy) {
			return len(dx) - len(dy)
		}
		if c := strings.Compare(dx, dy); c != 0 {
			return c
		}
		x, y = x[nx:], y[ny:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// digits counts the decimal digits that s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// Progress says how many bytes of the files were read, and how many there are in all, both as they
// lie on disk, compressed or not. What comes from standard input counts as read, but not in total.
func (r *Reader) Progress() (done, total int64) { return r.done.Load(), r.total }

// Next gives the next block, or io.EOF behind the last. After any other error the reader stays at
// that error's file; there is nothing to go on with.
func (r *Reader) Next() (*Entry, error) {
	for {
		if r.objects == nil {
			if len(r.files) == 0 {
				return nil, io.EOF
			}
			if err := r.open(r.files[0]); err != nil {
				return nil, err
			}
			r.files = r.files[1:]
		}
		object, line, err := r.objects.Next()
		if errors.Is(err, io.EOF) {
			if r.objects.Index() == 0 {
				return nil, fmt.Errorf("%s: %w: the file holds no block", r.name, ErrSyntax)
			}
			if err := r.Close(); err != nil {
				return nil, err
			}
			continue
		}
		at := Position{File: r.name, Line: line, Element: r.objects.Index()}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		e, err := decodeEntry(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		e.At = at
		return e, nil
	}
}

func (r *Reader) open(path string) error {
	var in io.Reader
	r.name = path
	if path == Stdin {
		r.name = "standard input"
		if in = r.stdin; in == nil {
			return fmt.Errorf("%s: nothing to read", r.name)
		}
	} else {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		r.file, in = f, f
	}
	plain, err := Gunzip(&countingReader{r: in, n: &r.done})
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", r.name, readError(err)), r.Close())
	}
	r.objects = NewObjects(plain, r.limit, maxBlockValues)
	return nil
}

// Close closes the current file.
func (r *Reader) Close() error {
	r.objects = nil
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Gunzip gives the plain bytes of r: unpacked where r starts with the magic number of gzip
// (RFC 1952, section 2.3.1), as they are elsewhere.
func Gunzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil
	}
	return gzip.NewReader(b)
}

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
