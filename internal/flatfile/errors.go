package flatfile

import (
	"errors"
	"fmt"
)

// ErrInput is what all errors about the contents of a file wrap, with the file and the row.
var ErrInput = errors.New("bad input")

// What may be wrong with a file.
var (
	// ErrFormat: the file is of no format that this package reads.
	ErrFormat = fmt.Errorf("%w: not a flat state", ErrInput)
	// ErrVersion: the file is of a later version of its format.
	ErrVersion = fmt.Errorf("%w: format version", ErrInput)
	// ErrTruncated: the file ends before its end.
	ErrTruncated = fmt.Errorf("%w: the file is cut off", ErrInput)
	// ErrDamaged: a checksum does not match, or the compressed stream is not one.
	ErrDamaged = fmt.Errorf("%w: the file is damaged", ErrInput)
	// ErrOrder: a key lies before the one that came last.
	ErrOrder = fmt.Errorf("%w: keys out of order", ErrInput)
	// ErrDuplicate: a key comes twice.
	ErrDuplicate = fmt.Errorf("%w: duplicate key", ErrInput)
	// ErrRow: an entry is not an account, a slot or a code, or a slot is zero.
	ErrRow = fmt.Errorf("%w: bad row", ErrInput)
)
