package flatfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ethereum/go-ethereum/core/types"
)

// Format is a format of files.
type Format string

// The formats that are read.
const (
	GethSnapshot Format = "geth-snapshot" // accounts, then slots, each in ascending order
	GethCode     Format = "geth-code"     // codes by ascending hash
	Leaves       Format = "leaves"        // each account with its slots, then codes
	CodesJSON    Format = "codes-json"    // codes in any order
)

// Reader reads the rows of one file. It is for one goroutine, but for Progress.
type Reader struct {
	name   string
	format Format
	rows   interface{ next() (*Row, error) }
	closer func()
	file   *fileReader
	size   int64
	mark   string
	n      uint64 // rows so far

	chainID uint64
	header  *types.Header
}

// Stdin is the path that stands for a stream that is given besides.
const Stdin = "-"

// Open opens a file, or stdin for the path Stdin, and reads as far as its header. The errors wrap
// ErrInput, or are those of the file system.
func Open(path string, stdin io.Reader) (*Reader, error) {
	if path == Stdin {
		return newReader("standard input", stdin, func() {})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(path, f, func() { f.Close() }) // only read
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func newReader(name string, src io.Reader, closer func()) (*Reader, error) {
	r := &Reader{name: name, closer: closer, file: &fileReader{r: src}}
	start, err := r.start(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := r.detect(start); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// start marks the file, and looks through gzip.
func (r *Reader) start(src io.Reader) (*bufio.Reader, error) {
	if f, ok := src.(*os.File); ok {
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if st.IsDir() {
			return nil, fmt.Errorf("%w: it is a directory", ErrFormat)
		}
		if st.Mode().IsRegular() {
			if r.size = st.Size(); r.size > 0 {
				if r.mark, err = markFile(f, r.size); err != nil {
					return nil, err
				}
			}
		}
	}
	plain, err := gunzip(r.file)
	if err == nil && r.mark == "" {
		r.mark, err = markStream(plain)
	}
	return plain, err
}

// detect tells the format and reads the header.
func (r *Reader) detect(plain *bufio.Reader) error {
	start, err := plain.Peek(32)
	if err != nil && !errors.Is(err, io.EOF) {
		return readError(err)
	}
	switch {
	case len(start) == 0:
		return fmt.Errorf("%w: it is empty", ErrFormat)
	case isLeaves(start):
		l, err := newLeaves(plain, r.file)
		if err != nil {
			return err
		}
		closer := r.closer
		r.closer = func() { l.close(); closer() }
		r.rows, r.format, r.chainID, r.header = l, Leaves, l.chainID, l.header
	case isDump(start):
		d, err := newDump(&input{r: plain})
		if err != nil {
			return err
		}
		r.rows, r.format = d, GethSnapshot
		if d.kind == dumpCode {
			r.format = GethCode
		}
	case isJSON(start):
		c, err := newCodes(&input{r: plain})
		if err != nil {
			return err
		}
		r.rows, r.format = c, CodesJSON
	default:
		return fmt.Errorf("%w: neither a geth dump nor Balsa's leaves", ErrFormat)
	}
	return nil
}

// Next gives the next row, which is valid until the next call, or io.EOF behind the last. An error
// is for good.
func (r *Reader) Next() (*Row, error) {
	row, err := r.rows.next()
	if err == nil {
		r.n++
		return row, nil
	}
	if err == io.EOF {
		return nil, err
	}
	if errors.Is(err, io.EOF) { // within a row
		err = fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return nil, fmt.Errorf("%s, row %d: %w", r.name, r.n+1, err)
}

// Format is the file's format.
func (r *Reader) Format() Format { return r.format }

// Header is the header of the block after which the state is this; nil where the format has none.
func (r *Reader) Header() *types.Header { return r.header }

// ChainID is the chain's id; 0 where the format has none.
func (r *Reader) ChainID() uint64 { return r.chainID }

// Mark tells files apart: equal for files of the same contents, and with overwhelming likelihood
// different for others of the same format. Of a stream, only the start counts.
func (r *Reader) Mark() string { return string(r.format) + " " + r.mark }

// Progress gives the bytes read of the file as it is, and its size; total is 0 for a stream.
func (r *Reader) Progress() (done, total int64) { return r.file.n.Load(), r.size }

// Close closes the file.
func (r *Reader) Close() error {
	if r.closer != nil {
		r.closer()
		r.closer = nil
	}
	return nil
}
