package world

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Every operation that changes an account touches it, also where the value stays, and makes it
// exist until the next sweep.

// CreateAccount makes an account exist. One that exists stays as it is.
func (s *State) CreateAccount(a common.Address) error {
	i, err := s.object(a)
	if err != nil {
		return err
	}
	s.record(i, &s.objects[i])
	return nil
}

// AddBalance adds wei to an account's balance.
func (s *State) AddBalance(a common.Address, wei *uint256.Int) error {
	i, err := s.object(a)
	if err != nil {
		return err
	}
	o := &s.objects[i]
	var sum uint256.Int
	if _, over := sum.AddOverflow(&o.balance, wei); over {
		return fmt.Errorf("account %s: %w: adding %s to %s", a, ErrBalance, wei, &o.balance)
	}
	s.record(i, o)
	o.balance = sum
	return nil
}

// SubBalance takes wei from an account's balance.
func (s *State) SubBalance(a common.Address, wei *uint256.Int) error {
	i, err := s.object(a)
	if err != nil {
		return err
	}
	o := &s.objects[i]
	var rest uint256.Int
	if _, under := rest.SubOverflow(&o.balance, wei); under {
		return fmt.Errorf("account %s: %w: taking %s from %s", a, ErrBalance, wei, &o.balance)
	}
	s.record(i, o)
	o.balance = rest
	return nil
}

// SetNonce sets an account's nonce.
func (s *State) SetNonce(a common.Address, nonce uint64) error {
	i, err := s.object(a)
	if err != nil {
		return err
	}
	o := &s.objects[i]
	s.record(i, o)
	o.nonce = nonce
	return nil
}

// SetCode sets an account's code; no bytes are the empty code. The State keeps the slice, which
// must not change any more.
func (s *State) SetCode(a common.Address, code []byte) error {
	i, err := s.object(a)
	if err != nil {
		return err
	}
	o := &s.objects[i]
	s.record(i, o)
	o.code = s.codeOf(code)
	return nil
}

// SetState sets an account's slot; zero clears it.
func (s *State) SetState(a common.Address, key, value common.Hash) error {
	i, err := s.object(a)
	if err != nil {
		return err
	}
	j, err := s.slot(i, key)
	if err != nil {
		return err
	}
	if o := &s.objects[i]; !o.touched {
		s.record(i, o)
	}
	v := &s.slots[j]
	if v.cur != value || !v.written {
		s.writes = append(s.writes, slotEntry{slot: j, written: v.written, prev: v.cur})
		v.cur, v.written = value, true
	}
	return nil
}

// Exists reports whether an account exists: an empty one does until it is swept.
func (s *State) Exists(a common.Address) (bool, error) {
	i, err := s.object(a)
	if err != nil {
		return false, err
	}
	return s.objects[i].exists, nil
}

// GetBalance returns an account's balance in wei, zero for an absent one.
func (s *State) GetBalance(a common.Address) (uint256.Int, error) {
	i, err := s.object(a)
	if err != nil {
		return uint256.Int{}, err
	}
	return s.objects[i].balance, nil
}

// GetNonce returns an account's nonce, zero for an absent one.
func (s *State) GetNonce(a common.Address) (uint64, error) {
	i, err := s.object(a)
	if err != nil {
		return 0, err
	}
	return s.objects[i].nonce, nil
}

// GetCodeHash returns the hash of an account's code: EmptyCodeHash for none, and for an absent
// account.
func (s *State) GetCodeHash(a common.Address) (common.Hash, error) {
	i, err := s.object(a)
	if err != nil {
		return common.Hash{}, err
	}
	return s.codeHash(&s.objects[i]), nil
}

// GetState returns the value of an account's slot.
func (s *State) GetState(a common.Address, key common.Hash) (common.Hash, error) {
	i, err := s.object(a)
	if err != nil {
		return common.Hash{}, err
	}
	j, err := s.slot(i, key)
	if err != nil {
		return common.Hash{}, err
	}
	return s.slots[j].cur, nil
}

func orphan(o *object, v *slot) error {
	return fmt.Errorf("account %s: slot %s: %w", o.address, v.key, ErrOrphanSlot)
}
