package flatfile

import (
	"fmt"
)

// item takes the next RLP string: ErrRow where there is a list, one that is longer than limit, or
// one that is not in its shortest form. It is valid until the next call.
func (in *input) item(limit int) ([]byte, error) {
	head, err := in.take(1)
	if err != nil {
		return nil, err
	}
	c := head[0]
	switch {
	case c < 0x80:
		return head, nil
	case c < 0xb8:
		b, err := in.sized(uint64(c-0x80), limit)
		if err == nil && len(b) == 1 && b[0] < 0x80 {
			err = fmt.Errorf("%w: RLP of one byte in long form", ErrRow)
		}
		return b, err
	case c < 0xc0:
		size, err := in.size(int(c - 0xb7))
		if err != nil {
			return nil, err
		}
		return in.sized(size, limit)
	}
	return nil, fmt.Errorf("%w: an RLP list where a string should be", ErrRow)
}

// size takes a length of n bytes.
func (in *input) size(n int) (size uint64, err error) {
	b, err := in.take(n)
	if err != nil {
		return 0, err
	}
	for _, c := range b {
		size = size<<8 | uint64(c)
	}
	if b[0] == 0 || size < 56 {
		return 0, fmt.Errorf("%w: RLP length in long form", ErrRow)
	}
	return size, nil
}

func (in *input) sized(n uint64, limit int) ([]byte, error) {
	if n > uint64(limit) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrRow, n, limit)
	}
	return in.take(int(n))
}

// list takes the next RLP list with its header.
func (in *input) list(limit int) ([]byte, error) {
	head, err := in.r.Peek(1)
	if err != nil {
		return nil, readError(err)
	}
	c := head[0]
	switch {
	case c < 0xc0:
		return nil, fmt.Errorf("%w: an RLP string where a list should be", ErrRow)
	case c < 0xf8:
		return in.take(1 + int(c-0xc0))
	case c > 0xf8: // of more than one byte of length
		return nil, fmt.Errorf("%w: a list of more than %d bytes", ErrRow, limit)
	}
	if head, err = in.r.Peek(2); err != nil {
		return nil, readError(err)
	}
	return in.take(2 + int(head[1]))
}
