package world

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Changes is what a block changed: exactly the accounts and slots whose value differs from the
// parent's. Whoever takes it computes the storage roots, from an account's slots, and then the
// account trie: with whatever trie it has.
type Changes struct {
	Accounts []AccountChange // ascending hash
	Slots    []SlotChange    // of all accounts, in their order
	Codes    []Code          // that a changed account has now and was set by the block; ascending hash
}

// AccountChange is an account before and after.
type AccountChange struct {
	Address common.Address
	Hash    common.Hash // of the address
	// Pre and Post mean nothing where the account is absent. Post's storage root is still Pre's, or
	// EmptyRoot where there was no account: it is not known yet, unless Slots is empty.
	Pre, Post       Account
	Existed, Exists bool
	Slots           []SlotChange // ascending hash; part of Changes.Slots
	Code            []byte       // of Post, where the block set it
}

// SlotChange is a slot before and after; zero is none.
type SlotChange struct {
	Hash      common.Hash // of the key
	Pre, Post common.Hash
}

// Code is a code and its hash.
type Code struct {
	Hash common.Hash
	Code []byte
}

// commit is Commit's memory.
type commit struct {
	order    []order // of objects that may have changed
	unhashed []int32 // slots
	in, out  []common.Hash
	used     []bool // codes
	changes  Changes
}

// order sorts objects, mostly without looking at them.
type order struct {
	head   uint64 // of the hash
	object int32
}

// Commit sweeps and says what the block changed. The Changes are the State's until it is Reset.
func (s *State) Commit() (*Changes, error) {
	if err := s.Sweep(); err != nil {
		return nil, err
	}
	s.hashSlots()
	c := &s.out
	c.order = c.order[:0]
	for i := range s.objects {
		o := &s.objects[i]
		c.order = append(c.order, order{binary.BigEndian.Uint64(o.hash[:]), int32(i)})
	}
	slices.SortFunc(c.order, func(a, b order) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(s.objects[a.object].hash[:], s.objects[b.object].hash[:])
	})
	c.used = append(c.used[:0], make([]bool, len(s.codes))...)
	out := &c.changes
	clear(out.Accounts)
	out.Accounts, out.Slots = out.Accounts[:0], slices.Grow(out.Slots[:0], len(s.slots))
	for _, at := range c.order {
		if err := s.commit(&s.objects[at.object]); err != nil {
			return nil, err
		}
	}
	out.Codes = out.Codes[:0]
	for i := firstCode; int(i) < len(s.codes); i++ {
		if c.used[i] {
			out.Codes = append(out.Codes, s.codes[i])
		}
	}
	slices.SortFunc(out.Codes, func(a, b Code) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	out.cut()
	return out, nil
}

// cut gives each account its part of Slots, which does not grow any more.
func (c *Changes) cut() {
	from := 0
	for i := range c.Accounts {
		a := &c.Accounts[i]
		to := from + cap(a.Slots)
		a.Slots, from = c.Slots[from:to:to], to
	}
}

// hashSlots hashes the keys of changed slots that nobody needed yet, all together.
func (s *State) hashSlots() {
	c := &s.out
	c.unhashed, c.in = c.unhashed[:0], c.in[:0]
	for j := range s.slots {
		if v := &s.slots[j]; !v.hashed && v.cur != v.pre {
			c.unhashed, c.in = append(c.unhashed, int32(j)), append(c.in, v.key)
		}
	}
	c.out = slices.Grow(c.out[:0], len(c.in))[:len(c.in)]
	s.hasher.SumSlots(c.out, c.in)
	for n, j := range c.unhashed {
		s.slots[j].hash, s.slots[j].hashed = c.out[n], true
	}
}

// commit adds an account to the changes, if it changed.
func (s *State) commit(o *object) error {
	out := &s.out.changes
	from := len(out.Slots)
	for j := o.first; j >= 0; j = s.slots[j].next {
		if v := &s.slots[j]; v.cur != v.pre {
			out.Slots = append(out.Slots, SlotChange{Hash: v.hash, Pre: v.pre, Post: v.cur})
		}
	}
	if o.cleared && o.pre.StorageRoot != EmptyRoot {
		if err := s.dropSlots(o); err != nil {
			return err
		}
	}
	own := out.Slots[from:]
	slices.SortFunc(own, func(a, b SlotChange) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	code := s.codeHash(o)
	if o.exists == o.existed && len(own) == 0 && (!o.exists ||
		o.nonce == o.pre.Nonce && o.balance == o.pre.Balance && code == o.pre.CodeHash) {
		return nil
	}
	a := AccountChange{
		Address: o.address, Hash: o.hash, Existed: o.existed, Exists: o.exists, Pre: o.pre,
		Post:  Account{o.nonce, o.balance, o.pre.StorageRoot, code},
		Slots: own[:0:len(own)],
	}
	if o.exists && o.code >= firstCode {
		s.out.used[o.code], a.Code = true, s.codes[o.code].Code
	}
	out.Accounts = append(out.Accounts, a)
	return nil
}

// dropSlots adds the deletion of every slot that the parent has of an account that was swept and
// the block has not met.
func (s *State) dropSlots(o *object) error {
	met := map[common.Hash]bool{}
	for j := o.first; j >= 0; j = s.slots[j].next {
		if v := &s.slots[j]; v.hashed {
			met[v.hash] = true
		}
	}
	return s.parent.EachSlot(o.hash, func(slot, value common.Hash) error {
		if !met[slot] {
			s.out.changes.Slots = append(s.out.changes.Slots, SlotChange{Hash: slot, Pre: value})
		}
		return nil
	})
}
