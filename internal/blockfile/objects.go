package blockfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Objects splits a stream of JSON into the objects at its top level: {…}, [{…},{…}], {…}{…}, and
// any sequence of those. It looks at brackets and strings only; whether an object is proper JSON is
// for its decoder to say. It holds one object at a time, never more than a limit of bytes. The
// values in an object are limited too: two bytes of JSON can make a decoder allocate hundreds.
type Objects struct {
	r      *bufio.Reader
	limit  int64
	values int
	buf    []byte // the object last returned

	line    int // of the next byte, from 1
	index   int // of the object last returned or refused, from 1
	inArray bool
	state   arrayState
}

// arrayState says what may follow inside a top-level array.
type arrayState int

const (
	atStart    arrayState = iota // an object, or the end of the array
	afterValue                   // a comma, or the end of the array
	afterComma                   // an object
)

// NewObjects reads objects from r, each of at most limit bytes and about as many values: elements
// of arrays and members of objects, at whatever depth.
func NewObjects(r io.Reader, limit int64, values int) *Objects {
	return &Objects{r: bufio.NewReaderSize(r, 64<<10), limit: limit, values: values, line: 1}
}

// Next returns the next object, valid until the call after it, with the line it starts at. The
// error is io.EOF at a proper end, ErrTruncated where the stream ends within an object or an
// array, and ErrSyntax or ErrTooLarge as they say.
func (o *Objects) Next() (object []byte, line int, err error) {
	for {
		c, err := o.r.ReadByte()
		if err != nil {
			return nil, o.line, o.ended(err)
		}
		switch {
		case c == '\n':
			o.line++
		case c == ' ' || c == '\t' || c == '\r':
		case c == '{' && (!o.inArray || o.state != afterValue):
			line := o.line
			o.index++
			o.state = afterValue
			if err := o.object(); err != nil {
				return nil, line, err
			}
			return o.buf, line, nil
		case c == '[' && !o.inArray:
			o.inArray, o.state = true, atStart
		case c == ']' && o.inArray && o.state != afterComma:
			o.inArray = false
		case c == ',' && o.inArray && o.state == afterValue:
			o.state = afterComma
		default:
			o.index++
			return nil, o.line, fmt.Errorf("%w: %q where an object should start", ErrSyntax, c)
		}
	}
}

// Index is the how-manieth object Next returned or refused last, from 1.
func (o *Objects) Index() int { return o.index }

// ended turns the end of the stream between two objects into an error.
func (o *Objects) ended(err error) error {
	if errors.Is(err, io.EOF) && !o.inArray {
		return io.EOF
	}
	o.index++
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the array is not closed", ErrTruncated)
	}
	return readError(err)
}

// readError says what a failed read means: a cut-off archive gives io.ErrUnexpectedEOF.
func readError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return err
}

// object reads an object, whose opening brace was just read, into o.buf.
func (o *Objects) object() error {
	o.buf = append(o.buf[:0], '{')
	depth, commas, inString, escaped := 1, 0, false, false
	for depth > 0 {
		if _, err := o.r.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return fmt.Errorf("%w: the object is not closed", ErrTruncated)
			}
			return readError(err)
		}
		chunk, _ := o.r.Peek(o.r.Buffered())
		n := 0
		for n < len(chunk) && depth > 0 {
			c := chunk[n]
			n++
			switch {
			case escaped:
				escaped = false
			case inString:
				if c == '"' {
					inString = false
				} else if c == '\\' {
					escaped = true
				}
			case c == '"':
				inString = true
			case c == ',':
				commas++
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
		}
		if int64(len(o.buf)+n) > o.limit {
			return fmt.Errorf("%w: more than %d bytes of JSON", ErrTooLarge, o.limit)
		}
		if commas >= o.values {
			return fmt.Errorf("%w: more than %d values", ErrTooLarge, o.values)
		}
		o.buf = append(o.buf, chunk[:n]...)
		o.line += bytes.Count(chunk[:n], []byte{'\n'})
		if _, err := o.r.Discard(n); err != nil {
			return err
		}
	}
	return nil
}
