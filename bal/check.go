package bal

import (
	"bytes"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common"
)

// counts says how many entries of each kind a list has, over all accounts.
type counts struct {
	accounts, slots, reads, writes, balances, nonces, codes int
}

// checker walks the bytes of a list once, allocates nothing, and finds the first broken rule; it
// leaves the counts that tell how much memory the decoded list takes. Only the rule that no slot
// is both changed and read is left for later: it needs both lists side by side.
//
// What bounds the memory is that rules are checked before anything is counted: entries that
// strictly ascend cannot all be one byte long.
type checker struct {
	raw      []byte
	maxIndex uint64 // highest block access index there may be
	maxItems uint64 // highest number of addresses and storage keys
	items    uint64
	n        counts

	// where the walk is, for errors
	account int
	address []byte
	field   Field
	slot    []byte
	hasSlot bool
}

func newChecker(raw []byte, l Limits) *checker {
	c := &checker{raw: raw, maxIndex: math.MaxUint32, maxItems: l.GasLimit / ItemCost, account: -1}
	if l.Transactions >= 0 {
		c.maxIndex = uint64(l.Transactions) + 1
	}
	return c
}

// fail names the broken rule, the byte, and where in the list the walk is.
func (c *checker) fail(rule error, pos int, format string, args ...any) error {
	e := &Error{Rule: rule, Offset: pos, Account: c.account, Field: c.field}
	if format != "" {
		e.Detail = fmt.Sprintf(format, args...)
	}
	if c.address != nil {
		a := common.BytesToAddress(c.address)
		e.Address = &a
	}
	if c.hasSlot {
		h := common.BytesToHash(c.slot)
		e.Slot = &h
	}
	return e
}

func (c *checker) list(pos, limit int) (span, error) {
	s, list, err := header(c.raw, pos, limit)
	if err != nil {
		return s, c.fail(err, pos, "")
	}
	if !list {
		return s, c.fail(ErrKind, pos, "string, want list")
	}
	return s, nil
}

func (c *checker) str(pos, limit int) (span, error) {
	s, list, err := header(c.raw, pos, limit)
	if err != nil {
		return s, c.fail(err, pos, "")
	}
	if list {
		return s, c.fail(ErrKind, pos, "list, want string")
	}
	return s, nil
}

// integer reads an integer of at most size bytes.
func (c *checker) integer(pos, limit, size int) (span, error) {
	s, err := c.str(pos, limit)
	if err != nil {
		return s, err
	}
	n := s.end - s.start
	if n > size {
		return s, c.fail(ErrFieldSize, pos, "integer of %d bytes, at most %d", n, size)
	}
	if n > 0 && c.raw[s.start] == 0 {
		return s, c.fail(ErrNotCanonical, pos, "leading zero")
	}
	return s, nil
}

// end checks that a list's elements fill it.
func (c *checker) end(pos int, s span) error {
	if pos != s.end {
		return c.fail(ErrTrailingBytes, pos, "%d bytes", s.end-pos)
	}
	return nil
}

// addItem counts one address or storage key against the item limit.
func (c *checker) addItem(pos int) error {
	c.items++
	if c.items > c.maxItems {
		return c.fail(ErrTooManyItems, pos, "above %d", c.maxItems)
	}
	return nil
}

// run checks the whole list.
func (c *checker) run() error {
	if len(c.raw) == 0 || (len(c.raw) == 1 && c.raw[0] == 0x80) {
		return c.fail(ErrNotAvailable, 0, "")
	}
	s, err := c.list(0, len(c.raw))
	if err != nil {
		return err
	}
	for pos := s.start; pos < s.end; {
		c.account++
		if pos, err = c.row(pos, s.end); err != nil {
			return err
		}
	}
	c.account, c.address, c.field = -1, nil, ""
	return c.end(s.end, span{0, len(c.raw)})
}

// row checks one account and returns where it ends.
func (c *checker) row(pos, limit int) (int, error) {
	before := c.address
	c.address, c.field = nil, ""
	row, err := c.list(pos, limit)
	if err != nil {
		return 0, err
	}
	c.field = FieldAddress
	s, err := c.str(row.start, row.end)
	if err != nil {
		return 0, err
	}
	if n := s.end - s.start; n != common.AddressLength {
		return 0, c.fail(ErrFieldSize, row.start, "address of %d bytes", n)
	}
	c.address = c.raw[s.start:s.end]
	if before != nil && bytes.Compare(before, c.address) >= 0 {
		return 0, c.fail(ErrAddressOrder, row.start, "after %#x", before)
	}
	if err := c.addItem(row.start); err != nil {
		return 0, err
	}
	c.n.accounts++
	if pos, err = c.storageChanges(s.end, row.end); err != nil {
		return 0, err
	}
	if pos, err = c.storageReads(pos, row.end); err != nil {
		return 0, err
	}
	if pos, err = c.changes(FieldBalanceChanges, &c.n.balances, pos, row.end); err != nil {
		return 0, err
	}
	if pos, err = c.changes(FieldNonceChanges, &c.n.nonces, pos, row.end); err != nil {
		return 0, err
	}
	if pos, err = c.changes(FieldCodeChanges, &c.n.codes, pos, row.end); err != nil {
		return 0, err
	}
	c.field = ""
	return row.end, c.end(pos, row)
}

func (c *checker) storageChanges(pos, limit int) (int, error) {
	c.field = FieldStorageChanges
	l, err := c.list(pos, limit)
	if err != nil {
		return 0, err
	}
	for pos = l.start; pos < l.end; {
		e, err := c.list(pos, l.end)
		if err != nil {
			return 0, err
		}
		next, err := c.slotKey(e.start, e.end, ErrSlotOrder)
		if err != nil {
			return 0, err
		}
		c.n.slots++
		writes := c.n.writes
		if next, err = c.changes(FieldStorageChanges, &c.n.writes, next, e.end); err != nil {
			return 0, err
		}
		if writes == c.n.writes {
			return 0, c.fail(ErrEmptySlotChanges, pos, "")
		}
		if err := c.end(next, e); err != nil {
			return 0, err
		}
		pos = e.end
	}
	c.slot, c.hasSlot = nil, false
	return l.end, nil
}

func (c *checker) storageReads(pos, limit int) (int, error) {
	c.field = FieldStorageReads
	l, err := c.list(pos, limit)
	if err != nil {
		return 0, err
	}
	for pos = l.start; pos < l.end; {
		if pos, err = c.slotKey(pos, l.end, ErrReadOrder); err != nil {
			return 0, err
		}
		c.n.reads++
	}
	c.slot, c.hasSlot = nil, false
	return l.end, nil
}

// slotKey checks one slot, which must be above the one before it in its list, and returns where
// it ends.
func (c *checker) slotKey(pos, limit int, order error) (int, error) {
	before, notFirst := c.slot, c.hasSlot
	c.hasSlot = false
	s, err := c.integer(pos, limit, common.HashLength)
	if err != nil {
		return 0, err
	}
	c.slot, c.hasSlot = c.raw[s.start:s.end], true
	if notFirst && compareNumbers(before, c.slot) >= 0 {
		return 0, c.fail(order, pos, "after %#x", hashOf(before))
	}
	return s.end, c.addItem(pos)
}

// changes checks a list of [index, value] pairs, adds its length to n, and returns where it ends.
func (c *checker) changes(f Field, n *int, pos, limit int) (int, error) {
	c.field = f
	l, err := c.list(pos, limit)
	if err != nil {
		return 0, err
	}
	before := int64(-1)
	for pos = l.start; pos < l.end; {
		e, err := c.list(pos, l.end)
		if err != nil {
			return 0, err
		}
		s, err := c.integer(e.start, e.end, 4)
		if err != nil {
			return 0, err
		}
		index := number(c.raw[s.start:s.end])
		if int64(index) <= before {
			return 0, c.fail(ErrIndexOrder, e.start, "%d after %d", index, before)
		}
		if index > c.maxIndex {
			return 0, c.fail(ErrIndexRange, e.start, "%d, at most %d", index, c.maxIndex)
		}
		before = int64(index)
		if s, err = c.value(f, s.end, e.end); err != nil {
			return 0, err
		}
		if err := c.end(s.end, e); err != nil {
			return 0, err
		}
		*n++
		pos = e.end
	}
	return l.end, nil
}

// value checks what a change sets its field to.
func (c *checker) value(f Field, pos, limit int) (span, error) {
	switch f {
	case FieldNonceChanges:
		return c.integer(pos, limit, 8)
	case FieldCodeChanges:
		s, err := c.str(pos, limit)
		if n := s.end - s.start; err == nil && n > MaxCodeSize {
			return s, c.fail(ErrCodeTooLarge, pos, "%d bytes, at most %d", n, MaxCodeSize)
		}
		return s, err
	default:
		return c.integer(pos, limit, 32)
	}
}
