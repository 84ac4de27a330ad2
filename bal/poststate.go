package bal

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// PostAccount is what a block leaves of one account. Nil and false fields stand as in the parent
// state, or at their zero where the parent does not have the account.
//
// Whether the account exists after the block only shows once the parent's fields are known: one
// with nonce 0, balance 0 and no code does not (EIP-161), and its slots go with it.
type PostAccount struct {
	Address common.Address
	Nonce   *uint64      // nil: not changed
	Balance *uint256.Int // wei; nil: not changed
	Code    []byte       // meaningless unless CodeSet
	CodeSet bool         // with no bytes of Code: the empty code
	Slots   []PostSlot   // ascending slot; not the slots that were only read
}

// PostSlot is the value a block leaves in a slot; zero means that the slot is not there.
type PostSlot struct{ Slot, Value common.Hash }

// PostState reduces the list to the last value of every field and slot, one entry for each
// account with at least one change, in ascending order of addresses. A value may well be the
// parent's: what a block changes and changes back is listed. The entries share the list's memory:
// neither may be written to.
func (l *AccessList) PostState() []PostAccount {
	accounts := 0
	for i := range l.Accounts {
		if l.Accounts[i].Changed() {
			accounts++
		}
	}
	post := make([]PostAccount, 0, accounts)
	slots := make([]PostSlot, 0, l.SlotsChanged())
	for i := range l.Accounts {
		a := &l.Accounts[i]
		if !a.Changed() {
			continue
		}
		p := PostAccount{Address: a.Address}
		if n := len(a.NonceChanges); n > 0 {
			p.Nonce = &a.NonceChanges[n-1].Nonce
		}
		if n := len(a.BalanceChanges); n > 0 {
			p.Balance = &a.BalanceChanges[n-1].Balance
		}
		if n := len(a.CodeChanges); n > 0 {
			p.Code, p.CodeSet = a.CodeChanges[n-1].Code, true
		}
		from := len(slots)
		for j := range a.StorageChanges {
			s := &a.StorageChanges[j]
			if n := len(s.Changes); n > 0 { // always, in a list that Decode accepted
				slots = append(slots, PostSlot{Slot: s.Slot, Value: s.Changes[n-1].Value})
			}
		}
		p.Slots = tail(slots, from)
		post = append(post, p)
	}
	return post
}
