package flatfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// bufferBytes is how much is read at a time. No piece of a row but a code is longer.
const bufferBytes = 256 << 10

// input hands out the bytes of a stream in pieces.
type input struct {
	r     *bufio.Reader
	taken int64
	long  []byte // a piece that is longer than the buffer
}

func newInput(r io.Reader) *input { return &input{r: bufio.NewReaderSize(r, bufferBytes)} }

// take returns the next n bytes, valid until the next call. ErrTruncated if there are fewer.
func (in *input) take(n int) ([]byte, error) {
	if n > bufferBytes {
		return in.takeLong(n)
	}
	b, err := in.r.Peek(n)
	if err != nil {
		return nil, readError(err)
	}
	in.taken += int64(n)
	_, err = in.r.Discard(n)
	return b, err
}

// takeLong grows its memory with what is there, not with what the file says.
func (in *input) takeLong(n int) ([]byte, error) {
	in.long = in.long[:0]
	for len(in.long) < n {
		b, err := in.r.Peek(min(n-len(in.long), bufferBytes))
		if err != nil {
			return nil, readError(err)
		}
		in.long = append(in.long, b...)
		if _, err := in.r.Discard(len(b)); err != nil {
			return nil, err
		}
	}
	in.taken += int64(n)
	return in.long, nil
}

// more says whether anything is left.
func (in *input) more() (bool, error) {
	_, err := in.r.Peek(1)
	if errors.Is(err, io.EOF) && !errors.Is(err, errUnpack) {
		return false, nil
	}
	if err != nil {
		return false, readError(err)
	}
	return true, nil
}

// errUnpack marks what a decompressor says, which is about the file and not about the disk.
var errUnpack = errors.New("unpacking")

// unpacker marks the errors of a decompressor over a file.
type unpacker struct {
	r    io.Reader
	file *fileReader
}

func (u unpacker) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && err != io.EOF && u.file.failed() == nil {
		err = fmt.Errorf("%w: %w", errUnpack, err)
	}
	return n, err
}

// readError says of an error of reading what it means for the file.
func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, errUnpack):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err // of the disk
}

// fileReader counts what is read, and keeps the error that the file itself gave.
type fileReader struct {
	r   io.Reader
	n   atomic.Int64
	err error
}

func (f *fileReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.n.Add(int64(n))
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func (f *fileReader) failed() error { return f.err }

const gzipMagic = "\x1f\x8b"

// gunzip looks through gzip, which is told by its first bytes, once.
func gunzip(f *fileReader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(f, bufferBytes)
	magic, err := b.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(magic) != gzipMagic {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		if f.failed() != nil {
			return nil, err
		}
		return nil, readError(fmt.Errorf("%w: %w", errUnpack, err))
	}
	return bufio.NewReaderSize(unpacker{z, f}, bufferBytes), nil
}
