package flatfile

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
)

// Kind says what a Row is.
type Kind uint8

// The kinds of rows.
const (
	Account Kind = iota + 1
	Slot
	Code
)

// Row is one row of a flat state.
type Row struct {
	Kind Kind
	// Hash is the hash of the account's address, of a slot too; or the code's hash.
	Hash common.Hash
	// Slot is the hash of the slot's key.
	Slot common.Hash
	// Account is the account of an account row.
	Account state.Account
	// Value is the RLP of a slot's value, or the code. It is valid until the next row is read.
	Value []byte
}

// MaxCode bounds a code in bytes, far above what a chain allows (EIP-170, EIP-7954).
const MaxCode = 16 << 20

// order checks that keys ascend, those of each kind by themselves.
type order struct {
	account, slotAccount, slot, code common.Hash
	anyAccount, anySlot, anyCode     bool
}

// next takes the key of a row: ErrOrder, ErrDuplicate.
func (o *order) next(r *Row) error {
	c, first := 0, false
	switch r.Kind {
	case Account:
		c, first = bytes.Compare(o.account[:], r.Hash[:]), !o.anyAccount
		o.account, o.anyAccount = r.Hash, true
	case Slot:
		if c = bytes.Compare(o.slotAccount[:], r.Hash[:]); c == 0 {
			c = bytes.Compare(o.slot[:], r.Slot[:])
		}
		first = !o.anySlot
		o.slotAccount, o.slot, o.anySlot = r.Hash, r.Slot, true
	case Code:
		c, first = bytes.Compare(o.code[:], r.Hash[:]), !o.anyCode
		o.code, o.anyCode = r.Hash, true
	}
	switch {
	case first || c < 0:
		return nil
	case c == 0:
		return ErrDuplicate
	}
	return ErrOrder
}
