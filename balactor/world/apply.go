package world

import (
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/bal"
)

// Apply applies a whole block access list. The sweep is Commit's.
func (s *State) Apply(l *bal.AccessList) error {
	for i := range l.Accounts {
		if err := s.ApplyAccount(&l.Accounts[i]); err != nil {
			return err
		}
	}
	return nil
}

// ApplyAccount applies a block access list's row: the last value of each field and slot. A row
// with reads only does nothing. It keeps the row's codes.
func (s *State) ApplyAccount(c *bal.AccountChanges) error {
	if n := len(c.BalanceChanges); n > 0 {
		if err := s.toBalance(c, &c.BalanceChanges[n-1].Balance); err != nil {
			return err
		}
	}
	if n := len(c.NonceChanges); n > 0 {
		if err := s.SetNonce(c.Address, c.NonceChanges[n-1].Nonce); err != nil {
			return err
		}
	}
	if n := len(c.CodeChanges); n > 0 {
		if err := s.SetCode(c.Address, c.CodeChanges[n-1].Code); err != nil {
			return err
		}
	}
	for i := range c.StorageChanges {
		v := &c.StorageChanges[i]
		n := len(v.Changes)
		if n == 0 {
			continue // never, in a list that was decoded
		}
		if err := s.SetState(c.Address, v.Slot, v.Changes[n-1].Value); err != nil {
			return err
		}
	}
	return nil
}

// toBalance brings an account to a balance by adding or taking the difference.
func (s *State) toBalance(c *bal.AccountChanges, want *uint256.Int) error {
	have, err := s.GetBalance(c.Address)
	if err != nil {
		return err
	}
	var d uint256.Int
	if want.Lt(&have) {
		return s.SubBalance(c.Address, d.Sub(&have, want))
	}
	return s.AddBalance(c.Address, d.Sub(want, &have))
}
