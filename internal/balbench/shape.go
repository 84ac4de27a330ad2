package balbench

import (
	"errors"
	"fmt"
)

// ErrBadOptions: what is asked cannot be measured.
var ErrBadOptions = errors.New("balbench: bad options")

// Shape is the size of a state.
type Shape struct {
	Accounts  int `json:"accounts"`  // plain accounts with a nonce
	Prepaid   int `json:"prepaid"`   // plain accounts without one: they are gone once drained
	Contracts int `json:"contracts"` // accounts with storage
	Slots     int `json:"slots"`     // slots of each contract
}

// Bounds of a Shape: more would not fit into memory while the state is made.
const (
	maxAccounts = 50_000_000
	maxSlots    = 1_000_000_000 // of all contracts
)

// ShapeOf is a state with the given number of plain accounts: a contract of 100 slots for 100
// accounts, but at least one for ten up to 2,000 of them, so that a block of mainnet's size finds
// enough in a small state too.
func ShapeOf(accounts int) Shape {
	return Shape{Accounts: accounts, Prepaid: accounts / 16,
		Contracts: max(accounts/100, min(accounts/10, 2000)), Slots: 100}
}

// Validate refuses states without anything to change, and ones that are too large.
func (s Shape) Validate() error {
	switch {
	case s.Accounts < 1 || s.Contracts < 1 || s.Slots < 1 || s.Prepaid < 0:
		return fmt.Errorf("%w: a state of %+v", ErrBadOptions, s)
	case s.Accounts > maxAccounts || s.Prepaid > maxAccounts || s.Contracts > maxAccounts ||
		s.Slots > maxSlots/s.Contracts:
		return fmt.Errorf("%w: a state of %+v is too large", ErrBadOptions, s)
	}
	return nil
}

// All is the number of all accounts.
func (s Shape) All() int { return s.Accounts + s.Prepaid + s.Contracts }
