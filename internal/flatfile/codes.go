package flatfile

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"
)

// codes reads an object {"0x<hash>": "0x<code>", …} member by member: a decoder of the standard
// library would hold the whole of a string, however long.
type codes struct {
	in    *input
	row   Row
	value []byte
	any   bool
	ended bool
}

func isJSON(start []byte) bool {
	start = bytes.TrimLeft(start, " \t\r\n")
	return len(start) > 0 && start[0] == '{'
}

func newCodes(in *input) (*codes, error) {
	c := &codes{in: in}
	return c, c.expect('{')
}

// next gives the next code, or io.EOF behind the object.
func (c *codes) next() (*Row, error) {
	if c.ended {
		return nil, io.EOF
	}
	b, err := c.token()
	if err != nil {
		return nil, err
	}
	switch {
	case b == '}':
		return nil, c.end()
	case c.any && b != ',':
		return nil, fmt.Errorf("%w: %q between two codes", ErrRow, b)
	case c.any:
		if b, err = c.token(); err != nil {
			return nil, err
		}
	}
	if b != '"' {
		return nil, fmt.Errorf("%w: %q where a hash should be", ErrRow, b)
	}
	c.any = true
	return &c.row, c.member()
}

// member reads a hash, whose quote was taken, and its code.
func (c *codes) member() error {
	r := &c.row
	r.Kind = Code
	if err := c.hex(common.HashLength); err != nil {
		return err
	}
	if len(c.value) != common.HashLength {
		return fmt.Errorf("%w: a hash of %d bytes", ErrRow, len(c.value))
	}
	r.Hash = common.Hash(c.value)
	if err := c.expect(':'); err != nil {
		return err
	}
	if err := c.expect('"'); err != nil {
		return err
	}
	if err := c.hex(MaxCode); err != nil {
		return fmt.Errorf("%v: %w", r, err)
	}
	r.Value = c.value
	if err := r.check(); err != nil {
		return fmt.Errorf("%v: %w", r, err)
	}
	return nil
}

// end sees to it that nothing but space follows.
func (c *codes) end() error {
	for {
		more, err := c.in.more()
		if err != nil {
			return err
		}
		if !more {
			c.ended = true
			return io.EOF
		}
		b, err := c.in.take(1)
		if err != nil {
			return err
		}
		if !isSpace(b[0]) {
			return fmt.Errorf("%w: something behind the last bracket", ErrRow)
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// token takes the next byte that is no space.
func (c *codes) token() (byte, error) {
	for {
		b, err := c.in.take(1)
		if err != nil {
			return 0, err
		}
		if !isSpace(b[0]) {
			return b[0], nil
		}
	}
}

func (c *codes) expect(want byte) error {
	b, err := c.token()
	if err == nil && b != want {
		err = fmt.Errorf("%w: %q where %q should be", ErrRow, b, want)
	}
	return err
}

// hex takes the rest of a string of hex, with or without 0x, into value.
func (c *codes) hex(limit int) error {
	c.value = c.value[:0]
	if b, err := c.in.r.Peek(2); err == nil && string(b) == "0x" {
		if _, err := c.in.take(2); err != nil {
			return err
		}
	}
	for {
		b, err := c.in.take(1)
		if err != nil {
			return err
		}
		if b[0] == '"' {
			return nil
		}
		pair := [2]byte{b[0]}
		if b, err = c.in.take(1); err != nil {
			return err
		}
		pair[1] = b[0]
		if len(c.value) == limit {
			return fmt.Errorf("%w: more than %d bytes", ErrRow, limit)
		}
		var one [1]byte
		if _, err := hex.Decode(one[:], pair[:]); err != nil {
			return fmt.Errorf("%w: %w", ErrRow, err)
		}
		c.value = append(c.value, one[0])
	}
}
