package state

import (
	"errors"
	"fmt"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// walk is what all iterators share. An iterator stands before its first row; it outlives its
// Snapshot, is for one goroutine, and must be closed.
type walk struct {
	s     *Store
	v     *view
	it    *mergedIter
	begun bool
	err   error
	skip  func(what string, key []byte) // see SkipBad; may be nil
}

// walk starts an iterator over the rows from lower on and below upper; nil is no bound.
func (sn *Snapshot) walk(lower, upper []byte) walk {
	sn.mu.RLock()
	defer sn.mu.RUnlock()
	if sn.v == nil {
		return walk{err: fmt.Errorf("walk rows: %w", sn.err)}
	}
	it, err := sn.v.merged(lower, upper)
	if err != nil {
		return walk{err: fmt.Errorf("walk rows: %w", readError(err))}
	}
	sn.s.share(sn.v)
	return walk{s: sn.s, v: sn.v, it: it}
}

// Next moves to the next row; false behind the last one and on errors, which Error tells apart.
func (w *walk) Next() bool {
	if w.it == nil || w.err != nil {
		return false
	}
	ok := false
	if w.begun {
		ok = w.it.Next()
	} else {
		w.begun, ok = true, w.it.First()
	}
	if !ok {
		w.err = readError(w.it.Error())
	}
	return ok
}

// Value returns the row's value, valid until the next call of Next.
func (w *walk) Value() []byte { return w.it.Value() }

// Error returns what made Next stop early, nil if nothing did.
func (w *walk) Error() error { return w.err }

// Close releases the iterator. Closing again does nothing.
func (w *walk) Close() error {
	if w.it == nil {
		return nil
	}
	err := errors.Join(readError(w.it.Close()), w.s.release(w.v))
	w.it = nil
	return err
}

// SkipBad makes Next pass over rows whose keys do not parse, instead of stopping at them, and calls
// f with each: what it should be, and its key, which is valid during the call only.
func (w *walk) SkipBad(f func(what string, key []byte)) { w.skip = f }

// bad deals with a row whose key does not parse, and reports whether to go on behind it.
func (w *walk) bad(what string) bool {
	if w.skip != nil {
		w.skip(what, w.it.Key())
		return true
	}
	w.err = fmt.Errorf("%w: %s with key %x", ErrBadRow, what, w.it.Key())
	return false
}

// AccountIter walks accounts in order of their address hashes.
type AccountIter struct {
	walk
	key common.Hash
}

// Accounts walks the accounts with hashes from the given one on.
func (sn *Snapshot) Accounts(from common.Hash) *AccountIter {
	lower := appendHashKey(nil, spaceAccount, &from)
	return &AccountIter{walk: sn.walk(lower, []byte{spaceAccount + 1})}
}

// Next moves to the next account.
func (i *AccountIter) Next() bool {
	for i.walk.Next() {
		if k := i.it.Key(); len(k) == accountKeyLen {
			copy(i.key[:], k[1:])
			return true
		}
		if !i.bad("account") {
			return false
		}
	}
	return false
}

// Key returns the account's address hash.
func (i *AccountIter) Key() common.Hash { return i.key }

// Account decodes the account.
func (i *AccountIter) Account() (Account, error) { return decodeAccountRow(&i.key, i.Value()) }

// SlotIter walks slots in order of account and slot hash.
type SlotIter struct {
	walk
	account, key common.Hash
}

// Slots walks one account's slots with hashes from the given one on.
func (sn *Snapshot) Slots(account, from common.Hash) *SlotIter {
	lower := appendSlotKey(nil, &account, &from)
	upper := successor(appendHashKey(nil, spaceSlot, &account))
	return &SlotIter{walk: sn.walk(lower, upper)}
}

// AllSlots walks every account's slots.
func (sn *Snapshot) AllSlots() *SlotIter {
	return &SlotIter{walk: sn.walk([]byte{spaceSlot}, []byte{spaceSlot + 1})}
}

// Next moves to the next slot.
func (i *SlotIter) Next() bool {
	for i.walk.Next() {
		if k := i.it.Key(); len(k) == slotKeyLen {
			copy(i.account[:], k[1:])
			copy(i.key[:], k[accountKeyLen:])
			return true
		}
		if !i.bad("slot") {
			return false
		}
	}
	return false
}

// AccountHash returns the hash of the account that the slot belongs to.
func (i *SlotIter) AccountHash() common.Hash { return i.account }

// Key returns the slot's hash.
func (i *SlotIter) Key() common.Hash { return i.key }

// BranchIter walks branch rows, depth first within a trie.
type BranchIter struct {
	walk
	account common.Hash
	storage bool
	path    trie.Path
}

// Branches walks the branch rows of the account trie, or of the account's storage trie.
func (sn *Snapshot) Branches(account common.Hash, storage bool) *BranchIter {
	if !storage {
		w := sn.walk([]byte{spaceAccountBranch}, []byte{spaceAccountBranch + 1})
		return &BranchIter{walk: w}
	}
	lower := appendHashKey(nil, spaceStorageBranch, &account)
	return &BranchIter{walk: sn.walk(lower, successor(lower)), storage: true}
}

// AllStorageBranches walks the branch rows of every storage trie, in order of account.
func (sn *Snapshot) AllStorageBranches() *BranchIter {
	w := sn.walk([]byte{spaceStorageBranch}, []byte{spaceStorageBranch + 1})
	return &BranchIter{walk: w, storage: true}
}

// Next moves to the next branch row.
func (i *BranchIter) Next() bool {
	for i.walk.Next() {
		if i.parse(i.it.Key()[1:]) {
			return true
		}
		if !i.bad("branch row") {
			return false
		}
	}
	return false
}

// parse takes a key without its space apart.
func (i *BranchIter) parse(k []byte) bool {
	if i.storage {
		if len(k) < common.HashLength {
			return false
		}
		copy(i.account[:], k)
		k = k[common.HashLength:]
	}
	p, err := parsePath(k)
	i.path = p
	return err == nil
}

// AccountHash returns the account that the storage trie belongs to, zero for the account trie.
func (i *BranchIter) AccountHash() common.Hash { return i.account }

// Key returns the branch's path.
func (i *BranchIter) Key() trie.Path { return i.path }

// Branch decodes the row; its references are valid until the next call of Next.
func (i *BranchIter) Branch() (trie.Branch, error) {
	b, err := trie.DecodeBranch(i.Value())
	if err != nil {
		return b, fmt.Errorf("branch %v of %x: %w", i.path, i.account, corrupt(err))
	}
	return b, nil
}

// CodeIter walks codes in order of their hashes. Value returns the code.
type CodeIter struct {
	walk
	key common.Hash
}

// Codes walks all codes.
func (sn *Snapshot) Codes() *CodeIter {
	return &CodeIter{walk: sn.walk([]byte{spaceCode}, []byte{spaceCode + 1})}
}

// Next moves to the next code.
func (i *CodeIter) Next() bool {
	for i.walk.Next() {
		if k := i.it.Key(); len(k) == accountKeyLen {
			copy(i.key[:], k[1:])
			return true
		}
		if !i.bad("code") {
			return false
		}
	}
	return false
}

// Key returns the code's hash.
func (i *CodeIter) Key() common.Hash { return i.key }

// successor returns the least key above all that have the given prefix, which is not all ff.
func successor(prefix []byte) []byte {
	s := append([]byte(nil), prefix...)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i]++; s[i] != 0 {
			return s[:i+1]
		}
	}
	return nil
}
