package state

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
)

// ReverseDiff is what undoes a block: the rows that it changed as they were before, and the codes
// that it was the first to bring. Accounts and Slots have Pre only.
type ReverseDiff struct {
	Accounts []AccountWrite
	Slots    []SlotWrite
	Codes    []common.Hash
}

// appendReverseDiff appends the RLP of the layer's reverse diff:
//
//	[[[account, pre], ...], [[account, [[slot, pre], ...]], ...], [code, ...]]
//
// where an absent row's pre is the empty string.
func (l *Layer) appendReverseDiff(dst []byte) []byte {
	w := rlp.NewEncoderBuffer(nil)
	top := w.List()
	list := w.List()
	for i := range l.Accounts {
		if a := &l.Accounts[i]; !bytes.Equal(a.Pre, a.Post) {
			row := w.List()
			w.WriteBytes(a.Hash[:])
			w.WriteBytes(a.Pre)
			w.ListEnd(row)
		}
	}
	w.ListEnd(list)
	list = w.List()
	for i := 0; i < len(l.Slots); {
		i = l.appendAccountSlots(&w, i)
	}
	w.ListEnd(list)
	list = w.List()
	for i := range l.Codes {
		w.WriteBytes(l.Codes[i].Hash[:])
	}
	w.ListEnd(list)
	w.ListEnd(top)
	dst = w.AppendToBytes(dst)
	_ = w.Flush() // no writer, no error: gives the buffer back
	return dst
}

// appendAccountSlots writes the changed slots of the account of slot i, and returns the index of
// the next account's first.
func (l *Layer) appendAccountSlots(w *rlp.EncoderBuffer, i int) int {
	account := &l.Slots[i].Account
	var group, rows int
	open := false
	for ; i < len(l.Slots) && l.Slots[i].Account == *account; i++ {
		s := &l.Slots[i]
		if bytes.Equal(s.Pre, s.Post) {
			continue
		}
		if !open {
			open = true
			group = w.List()
			w.WriteBytes(account[:])
			rows = w.List()
		}
		row := w.List()
		w.WriteBytes(s.Slot[:])
		w.WriteBytes(s.Pre)
		w.ListEnd(row)
	}
	if open {
		w.ListEnd(rows)
		w.ListEnd(group)
	}
	return i
}

// DecodeReverseDiff decodes a reverse diff strictly: canonical RLP, ascending keys, bounded rows.
// What it allocates is a small multiple of the input. It keeps no reference to b.
func DecodeReverseDiff(b []byte) (*ReverseDiff, error) {
	b = bytes.Clone(b)
	top, rest, err := rlp.SplitList(b)
	if err != nil || len(rest) != 0 {
		return nil, fmt.Errorf("%w: outer list", ErrBadReverseDiff)
	}
	accounts, top, err := rlp.SplitList(top)
	if err != nil {
		return nil, fmt.Errorf("%w: accounts", ErrBadReverseDiff)
	}
	slots, top, err := rlp.SplitList(top)
	if err != nil {
		return nil, fmt.Errorf("%w: slots", ErrBadReverseDiff)
	}
	codes, top, err := rlp.SplitList(top)
	if err != nil || len(top) != 0 {
		return nil, fmt.Errorf("%w: codes", ErrBadReverseDiff)
	}
	d := new(ReverseDiff)
	if err := d.decodeAccounts(accounts); err != nil {
		return nil, err
	}
	for prev := (*common.Hash)(nil); len(slots) > 0; {
		if slots, prev, err = d.decodeAccountSlots(slots, prev); err != nil {
			return nil, err
		}
	}
	return d, d.decodeCodes(codes)
}

func (d *ReverseDiff) decodeAccounts(b []byte) (err error) {
	for prev := (*common.Hash)(nil); len(b) > 0; {
		var w AccountWrite
		if w.Hash, w.Pre, b, err = splitDiffRow(b, prev, maxAccountLen); err != nil {
			return fmt.Errorf("account %d: %w", len(d.Accounts), err)
		}
		d.Accounts = append(d.Accounts, w)
		prev = &w.Hash
	}
	return nil
}

func (d *ReverseDiff) decodeAccountSlots(
	b []byte, prev *common.Hash,
) (rest []byte, account *common.Hash, err error) {
	group, rest, err := rlp.SplitList(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: slots of an account", ErrBadReverseDiff)
	}
	account = new(common.Hash)
	if *account, group, err = splitDiffHash(group, prev); err != nil {
		return nil, nil, fmt.Errorf("slots of an account: %w", err)
	}
	rows, group, err := rlp.SplitList(group)
	if err != nil || len(group) != 0 || len(rows) == 0 {
		return nil, nil, fmt.Errorf("%w: slots of account %x", ErrBadReverseDiff, *account)
	}
	for before := (*common.Hash)(nil); len(rows) > 0; {
		w := SlotWrite{Account: *account}
		if w.Slot, w.Pre, rows, err = splitDiffRow(rows, before, maxSlotLen); err != nil {
			return nil, nil, fmt.Errorf("slots of account %x: %w", *account, err)
		}
		d.Slots = append(d.Slots, w)
		before = &w.Slot
	}
	return rest, account, nil
}

func (d *ReverseDiff) decodeCodes(b []byte) (err error) {
	for prev := (*common.Hash)(nil); len(b) > 0; {
		var h common.Hash
		if h, b, err = splitDiffHash(b, prev); err != nil {
			return fmt.Errorf("code %d: %w", len(d.Codes), err)
		}
		d.Codes = append(d.Codes, h)
		prev = &h
	}
	return nil
}

// splitDiffRow cuts [hash, pre] from the front of b. The hash must be greater than prev, and pre
// of at most size bytes; an empty pre is nil.
func splitDiffRow(
	b []byte, prev *common.Hash, size int,
) (h common.Hash, pre, rest []byte, err error) {
	row, rest, err := rlp.SplitList(b)
	if err != nil {
		return h, nil, nil, fmt.Errorf("%w: row", ErrBadReverseDiff)
	}
	if h, row, err = splitDiffHash(row, prev); err != nil {
		return h, nil, nil, err
	}
	pre, row, err = rlp.SplitString(row)
	if err != nil || len(row) != 0 || len(pre) > size {
		return h, nil, nil, fmt.Errorf("%w: row of %x", ErrBadReverseDiff, h)
	}
	if len(pre) == 0 {
		pre = nil
	}
	return h, pre, rest, nil
}

// splitDiffHash cuts a hash greater than prev from the front of b.
func splitDiffHash(b []byte, prev *common.Hash) (h common.Hash, rest []byte, err error) {
	v, rest, err := rlp.SplitString(b)
	if err != nil || len(v) != common.HashLength {
		return h, nil, fmt.Errorf("%w: hash", ErrBadReverseDiff)
	}
	copy(h[:], v)
	if prev != nil && bytes.Compare(prev[:], h[:]) >= 0 {
		return h, nil, fmt.Errorf("%w: %x does not ascend", ErrBadReverseDiff, h)
	}
	return h, rest, nil
}
