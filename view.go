package balsa

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// View is the state at the block that was the cursor when it was made, or at an older one (ViewAt).
// Blocks that are applied later do not change it. It may be used from any goroutine, and is closed
// before the engine is.
type View struct {
	sn     *state.Snapshot
	past   *state.Past // nil: the state is the snapshot's
	cursor state.Cursor
}

// View makes a view of the state at the cursor.
func (e *Engine) View() (*View, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.inFlight.Done()
	return e.view()
}

// view makes a view for a call that Close waits for.
func (e *Engine) view() (*View, error) {
	sn := e.store.NewSnapshot()
	if err := sn.Err(); err != nil {
		return nil, err // the snapshot holds nothing
	}
	cursor, ok := sn.Cursor()
	if !ok {
		return nil, errors.Join(ErrNoState, sn.Close())
	}
	return &View{sn: sn, cursor: cursor}, nil
}

// Close releases what the view holds.
func (v *View) Close() error { return v.sn.Close() }

// Cursor is the block whose state this is.
func (v *View) Cursor() state.Cursor { return v.cursor }

// Account returns an account; ok is false where there is none.
func (v *View) Account(addr common.Address) (a state.Account, ok bool, err error) {
	return v.account(keccak.Sum(addr[:]))
}

// Storage returns the value of a slot, zero where there is none.
func (v *View) Storage(addr common.Address, slot common.Hash) (common.Hash, error) {
	return v.slot(keccak.Sum(addr[:]), keccak.Sum(slot[:]))
}

// Code returns an account's code, nil where it has none.
func (v *View) Code(addr common.Address) ([]byte, error) {
	a, ok, err := v.Account(addr)
	if err != nil || !ok || a.CodeHash == state.EmptyCodeHash {
		return nil, err
	}
	code, ok, err := v.sn.Code(a.CodeHash)
	if err == nil && !ok {
		err = fmt.Errorf("the store lacks the code %s of account %s", a.CodeHash, addr)
	}
	return code, err
}

// AccountProof proves an account and some of its slots, present or absent, as eth_getProof does
// (EIP-1186).
type AccountProof struct {
	Address common.Address
	Account state.Account // of an absent account: nothing in it
	Present bool
	Proof   [][]byte // RLP of the account trie's nodes from the root on
	Storage []SlotProof
}

// SlotProof proves one slot against its account's storage root.
type SlotProof struct {
	Slot  common.Hash
	Value common.Hash // zero: proven absent
	Proof [][]byte    // none where the storage is empty
}

// Proof proves an account and slots of it against the state root of the view's block.
func (v *View) Proof(addr common.Address, slots ...common.Hash) (*AccountProof, error) {
	r, err := v.sn.NewReader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hash := keccak.Sum(addr[:])
	p := &AccountProof{Address: addr}
	if p.Account, p.Present, err = v.account(hash); err != nil {
		return nil, err
	}
	if !p.Present {
		p.Account = state.NewAccount()
	}
	accounts, err := v.accountTrie(r)
	if err != nil {
		return nil, err
	}
	if p.Proof, err = trie.Prove(accounts, hash); err != nil {
		return nil, fmt.Errorf("proving account %s: %w", addr, proofError(err))
	}
	for _, slot := range slots {
		s := SlotProof{Slot: slot}
		if p.Account.StorageRoot != trie.EmptyRoot {
			key := keccak.Sum(slot[:])
			if s.Value, err = v.slot(hash, key); err != nil {
				return nil, err
			}
			storage, err := v.storageTrie(r, hash)
			if err != nil {
				return nil, err
			}
			if s.Proof, err = trie.Prove(storage, key); err != nil {
				return nil, fmt.Errorf("proving slot %s of account %s: %w", slot, addr, proofError(err))
			}
		}
		p.Storage = append(p.Storage, s)
	}
	return p, nil
}

// proofError marks an error that means that the store's rows contradict each other.
func proofError(err error) error {
	if errors.Is(err, trie.ErrMissingNode) || errors.Is(err, trie.ErrBadBranch) {
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	return err
}
