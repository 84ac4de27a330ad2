package bal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// The ways not to be an access list. Decode returns them inside an [*Error] that says where; test
// with errors.Is.
var (
	// ErrNotAvailable: the bytes are 0x80, or there are none, which is how a peer or a caller
	// says that it does not have the list. The empty list is another thing: 0xc0.
	ErrNotAvailable = errors.New("block access list not available")

	// ErrNotCanonical: the bytes are not the RLP of an access list, or not its one canonical
	// encoding: a leading zero, a long form where the short one would do. The four errors below
	// are kinds of it: errors.Is(err, ErrNotCanonical) holds for them too.
	ErrNotCanonical = errors.New("not canonical RLP")
	// ErrTruncated: an item reaches beyond what holds it, or a list has elements too few.
	ErrTruncated = fmt.Errorf("%w: truncated", ErrNotCanonical)
	// ErrTrailingBytes: bytes after the list, or elements too many inside of one.
	ErrTrailingBytes = fmt.Errorf("%w: trailing bytes", ErrNotCanonical)
	// ErrKind: a string where a list belongs, or the reverse.
	ErrKind = fmt.Errorf("%w: string and list confused", ErrNotCanonical)
	// ErrFieldSize: an address that has not 20 bytes, or an integer too large for its field.
	ErrFieldSize = fmt.Errorf("%w: wrong size", ErrNotCanonical)

	// ErrAddressOrder: addresses do not strictly ascend (EIP-7928, "Ordering and Determinism", as
	// for the five below; that nothing stands twice makes each order a strict one).
	ErrAddressOrder = errors.New("addresses not strictly ascending")
	// ErrSlotOrder: the slots of storage_changes do not strictly ascend.
	ErrSlotOrder = errors.New("changed slots not strictly ascending")
	// ErrReadOrder: the slots of storage_reads do not strictly ascend.
	ErrReadOrder = errors.New("read slots not strictly ascending")
	// ErrSlotInBoth: a slot is in storage_changes and in storage_reads.
	ErrSlotInBoth = errors.New("slot both changed and read")
	// ErrEmptySlotChanges: a slot in storage_changes has no change.
	ErrEmptySlotChanges = errors.New("changed slot without a change")
	// ErrIndexOrder: the indices of a list of changes do not strictly ascend.
	ErrIndexOrder = errors.New("block access indices not strictly ascending")

	// ErrIndexRange: a block access index above the number of transactions + 1 (EIP-7928,
	// "BlockAccessIndex Assignment").
	ErrIndexRange = errors.New("block access index above transactions + 1")
	// ErrTooManyItems: more addresses and storage keys than gas limit / ItemCost (EIP-7928,
	// "Block Access List Size Constraint").
	ErrTooManyItems = errors.New("more items than the gas limit allows")
	// ErrCodeTooLarge: a code of more than MaxCodeSize bytes.
	ErrCodeTooLarge = errors.New("code too large")
)

// Field names a part of an account's row as EIP-7928 does.
type Field string

// The fields of a row.
const (
	FieldAddress        Field = "address"
	FieldStorageChanges Field = "storage_changes"
	FieldStorageReads   Field = "storage_reads"
	FieldBalanceChanges Field = "balance_changes"
	FieldNonceChanges   Field = "nonce_changes"
	FieldCodeChanges    Field = "code_changes"
)

// Error is why Decode refused a list, and where.
type Error struct {
	Rule    error           // one of this package's sentinels
	Offset  int             // of the item that breaks the rule; -1: not known
	Account int             // index of the account's row; -1: outside of any
	Address *common.Address // of the row; nil: not read yet
	Field   Field           // of the row; "": the row itself, or outside of any
	Slot    *common.Hash    // in storage_changes or storage_reads; nil: none, or not read yet
	Detail  string          // what was found; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "block access list: %v", e.Rule)
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	if e.Account >= 0 {
		fmt.Fprintf(&b, ", account %d", e.Account)
	}
	if e.Address != nil {
		fmt.Fprintf(&b, " %v", e.Address)
	}
	if e.Field != "" {
		fmt.Fprintf(&b, ", %s", e.Field)
	}
	if e.Slot != nil {
		fmt.Fprintf(&b, " slot %v", e.Slot)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ", byte %d", e.Offset)
	}
	return b.String()
}

// Unwrap gives the broken rule.
func (e *Error) Unwrap() error { return e.Rule }
