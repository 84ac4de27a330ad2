package balactor

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// parent is the state that a job's targets are applied to.
type parent interface {
	Account(hash *common.Hash) (state.Account, bool, error)
	// Slot returns RLP, nil where the slot is absent; valid until the next call.
	Slot(account, slot *common.Hash) ([]byte, error)
	StorageTrie(account common.Hash) trie.Reader
	HasCode(hash common.Hash) (bool, error)
	// EachSlot calls f with every slot of the account, ascending.
	EachSlot(account common.Hash, f func(slot common.Hash, value []byte) error) error
}

// storageRun is one UpdateStorage at work: a run of accounts from targets to post-state, with
// their storage tries updated together so that they can share hash lanes.
type storageRun struct {
	parent   parent
	out      messages.StorageUpdated
	accounts []accountRun
	updater  *updater
	arena    arena
	codes    map[common.Hash]bool // codes seen in this run
	slots    [][]byte             // room for the parent's slots
}

// accountRun is one account on its way from pre to post.
type accountRun struct {
	target       *messages.AccountTarget
	pre, post    state.Account
	existed      bool
	absent       bool     // afterwards
	slots        [][]byte // as the parent has the target's slots
	changes      []trie.Change
	trie         int // the updater's number for its storage trie
	emptyStorage bool
}

// updateStorage does the job: all reads first, in key order, then the new values, then the tries.
func updateStorage(u *updater, p parent, m *messages.UpdateStorage, clock func() time.Time) (
	*messages.StorageUpdated, error) {
	u.begin(m.Ctx)
	r := &storageRun{parent: p, updater: u, codes: map[common.Hash]bool{}}
	r.out.Job = m.Job
	r.makeRoom(m.Targets)
	defer clear(r.accounts) // the buffer is kept, not what it refers to

	start := clock()
	apply, warm := r.apply, start
	if m.Journaled != nil {
		apply = r.journaled(m.Journaled)
	} else {
		if err := r.each(m.Targets, r.read); err != nil {
			return nil, err
		}
		warm = clock()
	}
	if err := r.each(m.Targets, apply); err != nil {
		return nil, err
	}
	applied := clock()
	if err := r.roots(); err != nil {
		return nil, err
	}
	if err := r.each(m.Targets, r.finish); err != nil {
		return nil, err
	}
	r.out.Branches = u.sink.sorted()
	r.out.Warmup, r.out.Apply, r.out.Roots = warm.Sub(start), applied.Sub(warm), clock().Sub(applied)
	return &r.out, nil
}

// makeRoom makes all lists of the run as long as they can become.
func (r *storageRun) makeRoom(targets []messages.AccountTarget) {
	n, slots := len(targets), 0
	for i := range targets {
		slots += len(targets[i].Slots)
	}
	u := r.updater
	u.accounts = slices.Grow(u.accounts[:0], n)
	u.changes = slices.Grow(u.changes[:0], slots)
	r.accounts, r.slots = u.accounts[:n], make([][]byte, slots)
	r.out.Accounts, r.out.Changes = make([]state.AccountWrite, 0, n), make([]trie.Change, 0, n)
	r.out.Slots = make([]state.SlotWrite, 0, slots)
}

// each calls f with every account.
func (r *storageRun) each(targets []messages.AccountTarget, f func(*accountRun) error) error {
	for i := range r.accounts {
		if err := r.updater.wanted.item(); err != nil {
			return err
		}
		r.accounts[i].target = &targets[i]
		if err := f(&r.accounts[i]); err != nil {
			return fmt.Errorf("account %s: %w", nameOf(&targets[i]), err)
		}
	}
	return nil
}

// nameOf names an account as well as it is known.
func nameOf(t *messages.AccountTarget) string {
	if t.Address == (common.Address{}) {
		return "with hash " + t.Hash.Hex()
	}
	return t.Address.Hex()
}

// read takes an account and its slots as they stand.
func (r *storageRun) read(a *accountRun) (err error) {
	t := a.target
	if a.pre, a.existed, err = r.parent.Account(&t.Hash); err != nil {
		return err
	}
	if !a.existed {
		a.pre = state.NewAccount()
	}
	if a.pre.StorageRoot == trie.EmptyRoot || len(t.Slots) == 0 {
		return nil
	}
	a.slots = r.slots[:len(t.Slots):len(t.Slots)]
	r.slots = r.slots[len(t.Slots):]
	for i := range t.Slots {
		if err := r.updater.wanted.item(); err != nil {
			return err
		}
		v, err := r.parent.Slot(&t.Hash, &t.Slots[i].Hash)
		if err != nil {
			return fmt.Errorf("slot with hash %s: %w", t.Slots[i].Hash, err)
		}
		if a.slots[i] = v; mutants.Active != mutants.ReuseBuffer {
			a.slots[i] = r.arena.copy(v)
		}
	}
	return nil
}

// apply works out an account's fields and slots.
func (r *storageRun) apply(a *accountRun) error {
	if err := r.fields(a); err != nil {
		return err
	}
	a.emptyStorage = a.pre.StorageRoot == trie.EmptyRoot
	t := a.target
	if !a.absent || t.Exact {
		r.changed(a)
		return nil
	}
	for i := range t.Slots {
		if t.Slots[i].Value != nil {
			return fmt.Errorf("slot with hash %s: %w", t.Slots[i].Hash, ErrOrphanSlot)
		}
	}
	return r.dropSlots(a)
}

// fields sets the post-state's nonce, balance and code.
func (r *storageRun) fields(a *accountRun) (err error) {
	t := a.target
	if t.Exact {
		a.absent = t.Slim == nil
		a.post = state.NewAccount()
		if !a.absent {
			if a.post, err = state.DecodeSlim(t.Slim); err != nil {
				err = fmt.Errorf("%w: %w", state.ErrCorrupt, err)
			}
		}
		return err
	}
	a.post = a.pre
	if t.Nonce != nil {
		a.post.Nonce = *t.Nonce
	}
	if t.Balance != nil {
		a.post.Balance = *t.Balance
	}
	if t.CodeSet {
		a.post.CodeHash = state.EmptyCodeHash
		if len(t.Code) > 0 {
			a.post.CodeHash = t.CodeHash
			if err = r.code(t.CodeHash, t.Code); err != nil {
				return err
			}
		}
	}
	a.absent = a.post.IsEmpty() && mutants.Active != mutants.SkipEmptySweep // EIP-161, I5
	return nil
}

// code notes a code where the store does not hold it yet.
func (r *storageRun) code(hash common.Hash, code []byte) error {
	if r.codes[hash] {
		return nil
	}
	r.codes[hash] = true
	held, err := r.parent.HasCode(hash)
	if err == nil && !held {
		r.out.Codes = append(r.out.Codes, state.CodeWrite{Hash: hash, Code: code})
	}
	return err
}

// changed keeps the slot changes that change something. After that a deletion implies that the
// slot is there, and the trie's walk can tell a leaf without reading it.
func (r *storageRun) changed(a *accountRun) {
	all := &r.updater.changes
	from := len(*all)
	*all = (*all)[:from+len(a.target.Slots)]
	a.changes = (*all)[from:from:len(*all)]
	for i := range a.target.Slots {
		s := &a.target.Slots[i]
		var pre []byte
		if a.slots != nil {
			pre = a.slots[i]
		}
		if !bytes.Equal(pre, s.Value) {
			r.change(a, s.Hash, pre, s.Value)
		}
	}
}

// dropSlots deletes every slot of an account that goes away (I5). Since EIP-6780 that is rare: an
// account with storage has code, and code is not empty.
func (r *storageRun) dropSlots(a *accountRun) error {
	if a.emptyStorage {
		return nil
	}
	return r.parent.EachSlot(a.target.Hash, func(slot common.Hash, value []byte) error {
		r.change(a, slot, r.arena.copy(value), nil)
		return r.updater.wanted.item()
	})
}

func (r *storageRun) change(a *accountRun, slot common.Hash, pre, post []byte) {
	a.changes = append(a.changes, trie.Change{Key: slot, Value: post, Existed: pre != nil})
	r.out.Slots = append(r.out.Slots, state.SlotWrite{
		Account: a.target.Hash, Slot: slot, Pre: pre, Post: post,
	})
}

// roots updates all storage tries of the run.
func (r *storageRun) roots() error {
	for i := range r.accounts {
		a := &r.accounts[i]
		if len(a.changes) == 0 {
			continue
		}
		r.updater.sink.owners = append(r.updater.sink.owners, a.target.Hash)
		tag := uint32(len(r.updater.sink.owners) - 1)
		var err error
		reader := r.updater.reader(r.parent.StorageTrie(a.target.Hash))
		if a.trie, err = r.updater.Update(tag, reader, a.emptyStorage, a.changes); err != nil {
			return fmt.Errorf("account %s: storage trie: %w", nameOf(a.target), trieError(err))
		}
	}
	if len(r.updater.sink.owners) == 0 {
		return nil
	}
	if err := r.updater.Flush(); err != nil {
		return fmt.Errorf("storage tries: %w", trieError(err))
	}
	return nil
}

// finish sets the storage root and notes the account where it changed.
func (r *storageRun) finish(a *accountRun) error {
	t := a.target
	root := a.pre.StorageRoot
	if len(a.changes) > 0 {
		root = r.updater.Root(a.trie)
		r.out.Storage = append(r.out.Storage, t.Hash)
	}
	if t.Exact && root != a.post.StorageRoot {
		return fmt.Errorf("%w: storage root %s, the diff has %s",
			ErrDiffMismatch, root, a.post.StorageRoot)
	}
	if mutants.Active != mutants.StaleStorageRoot {
		a.post.StorageRoot = root
	}
	w := state.AccountWrite{Hash: t.Hash}
	if a.existed {
		w.Pre = a.pre.AppendSlim(r.arena.room(maxAccountLen))
	}
	c := trie.Change{Key: t.Hash, Existed: a.existed}
	if !a.absent {
		w.Post = a.post.AppendSlim(r.arena.room(maxAccountLen))
		c.Value = a.post.AppendFull(r.arena.room(maxAccountLen))
	}
	if bytes.Equal(w.Pre, w.Post) { // RLP is never empty: equal means both absent, or no change
		return nil
	}
	r.out.Accounts = append(r.out.Accounts, w)
	r.out.Changes = append(r.out.Changes, c)
	return nil
}

// maxAccountLen is the longest account RLP: list header 2, nonce 9, balance 33, two hashes 66.
const maxAccountLen = 110
