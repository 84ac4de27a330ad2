package bal

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// AccessList is a block's access list. One that Decode returned obeys every rule of Decode; its
// codes are parts of the bytes it was decoded from, which must not change while it is in use.
type AccessList struct {
	Accounts []AccountChanges // ascending address
}

// AccountChanges is all that a block did to one account. All five lists are empty for an account
// that was only looked at.
type AccountChanges struct {
	Address        common.Address
	StorageChanges []SlotChanges   // ascending slot
	StorageReads   []common.Hash   // slots read and not changed, ascending
	BalanceChanges []BalanceChange // ascending index
	NonceChanges   []NonceChange   // ascending index
	CodeChanges    []CodeChange    // ascending index
}

// Changed reports whether the row has at least one change; a row without is a record of reads.
func (a *AccountChanges) Changed() bool {
	return len(a.StorageChanges)+len(a.BalanceChanges)+len(a.NonceChanges)+len(a.CodeChanges) > 0
}

// SlotChanges is what a block wrote to one slot: at least one change.
type SlotChanges struct {
	Slot    common.Hash
	Changes []StorageChange // ascending index
}

// StorageChange is the value of a slot after one block access index; zero clears the slot.
type StorageChange struct {
	Index uint32
	Value common.Hash
}

// BalanceChange is the balance of an account, in wei, after one block access index.
type BalanceChange struct {
	Index   uint32
	Balance uint256.Int
}

// NonceChange is the nonce of an account after one block access index.
type NonceChange struct {
	Index uint32
	Nonce uint64
}

// CodeChange is the code of an account after one block access index. No bytes are the empty code:
// a delegation that was cleared (EIP-7702).
type CodeChange struct {
	Index uint32
	Code  []byte
}

// SlotsChanged returns the number of slots with changes, over all accounts.
func (l *AccessList) SlotsChanged() int {
	n := 0
	for i := range l.Accounts {
		n += len(l.Accounts[i].StorageChanges)
	}
	return n
}

// SlotsRead returns the number of slots that were read and not changed, over all accounts.
func (l *AccessList) SlotsRead() int {
	n := 0
	for i := range l.Accounts {
		n += len(l.Accounts[i].StorageReads)
	}
	return n
}

// Items returns what the size limit of EIP-7928 ("Block Access List Size Constraint") counts:
// addresses and storage keys, each slot once however often it was written.
func (l *AccessList) Items() int {
	return len(l.Accounts) + l.SlotsChanged() + l.SlotsRead()
}
