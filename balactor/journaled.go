package balactor

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// journal is a block on its way through the journaled world state.
type journal struct {
	list     *bal.AccessList
	accounts []messages.ParentAccount // that the list changes, ascending by hash
	slots    int
}

// decodeJournal checks a block access list against its header, as decodeBlock does, and works out
// what has to be read for it.
func decodeJournal(m *messages.ApplyBlock) (*journal, error) {
	w := &wanted{ctx: m.Ctx}
	list, err := decodeList(m, w)
	if err != nil {
		return nil, err
	}
	post := list.PostState()
	accountKeys, slotKeys, err := keysOf(post, w)
	if err != nil {
		return nil, err
	}
	j := &journal{list: list, slots: len(slotKeys)}
	j.accounts = make([]messages.ParentAccount, len(post))
	slab := make([]messages.ParentSlot, len(slotKeys))
	for i := range post {
		if err := w.item(); err != nil {
			return nil, err
		}
		own := slab[:len(post[i].Slots):len(post[i].Slots)]
		for n := range own {
			own[n] = messages.ParentSlot{Key: post[i].Slots[n].Slot, Hash: slotKeys[n]}
		}
		slab, slotKeys = slab[len(own):], slotKeys[len(own):]
		slices.SortFunc(own, func(a, b messages.ParentSlot) int {
			return bytes.Compare(a.Hash[:], b.Hash[:])
		})
		j.accounts[i] = messages.ParentAccount{
			Address: post[i].Address, Hash: accountKeys[i], Slots: own,
		}
	}
	slices.SortFunc(j.accounts, func(a, b messages.ParentAccount) int {
		return bytes.Compare(a.Hash[:], b.Hash[:])
	})
	return j, w.err()
}

// readParent does a ReadParent. The message's accounts are left as they are: a job may be done
// twice.
func readParent(p parent, m *messages.ReadParent) (*messages.ParentRead, error) {
	w := &wanted{ctx: m.Ctx}
	out := &messages.ParentRead{Job: m.Job, Accounts: slices.Clone(m.Accounts)}
	for i := range out.Accounts {
		a := &out.Accounts[i]
		if err := w.item(); err != nil {
			return nil, err
		}
		if err := readAccount(p, a, w); err != nil {
			return nil, fmt.Errorf("account %s: %w", a.Address, err)
		}
	}
	return out, nil
}

func readAccount(p parent, a *messages.ParentAccount, w *wanted) (err error) {
	if a.Account, a.Existed, err = p.Account(&a.Hash); err != nil {
		return err
	}
	if !a.Existed {
		a.Account = state.NewAccount()
	}
	if a.Account.StorageRoot == trie.EmptyRoot || len(a.Slots) == 0 {
		return nil
	}
	a.Slots = slices.Clone(a.Slots)
	for i := range a.Slots {
		if err := w.item(); err != nil {
			return err
		}
		row, err := p.Slot(&a.Hash, &a.Slots[i].Hash)
		if err == nil && row != nil {
			a.Slots[i].Value, err = state.DecodeSlot(row)
		}
		if err != nil {
			return fmt.Errorf("slot with hash %s: %w", a.Slots[i].Hash, err)
		}
	}
	return nil
}

// applyJournal brings a world state from what was read of the parent to what the list says. The
// changes are the state's until it is Reset.
func applyJournal(s *world.State, p parent, b *block) (*world.Changes, error) {
	w := &wanted{ctx: b.request.ctx()}
	s.Reset(journalParent{p})
	s.Grow(len(b.journal.accounts), b.journal.slots)
	for _, read := range b.reads {
		for i := range read.Accounts {
			a := &read.Accounts[i]
			if err := w.item(); err != nil {
				return nil, err
			}
			s.WarmAccount(a.Address, a.Hash, world.Account(a.Account), a.Existed)
			for n := range a.Slots {
				v := &a.Slots[n]
				s.WarmSlot(a.Address, v.Key, v.Hash, v.Value)
			}
		}
	}
	for i := range b.journal.list.Accounts {
		if err := w.item(); err != nil {
			return nil, err
		}
		if err := s.ApplyAccount(&b.journal.list.Accounts[i]); err != nil {
			return nil, err
		}
	}
	return s.Commit()
}

// journalTargets names the accounts of changes for what comes behind the journal.
func journalTargets(c *world.Changes) []messages.AccountTarget {
	targets := make([]messages.AccountTarget, len(c.Accounts))
	for i := range targets {
		targets[i].Hash, targets[i].Address = c.Accounts[i].Hash, c.Accounts[i].Address
	}
	return targets
}

// journaled gives what takes accounts as the journal left them, in the order of cs.
func (r *storageRun) journaled(cs []world.AccountChange) func(*accountRun) error {
	return func(a *accountRun) error {
		c := &cs[0]
		cs = cs[1:]
		a.pre, a.post = state.Account(c.Pre), state.Account(c.Post)
		a.existed, a.absent = c.Existed, !c.Exists
		a.emptyStorage = a.pre.StorageRoot == trie.EmptyRoot
		for i := range c.Slots {
			v := &c.Slots[i]
			if err := r.updater.wanted.item(); err != nil {
				return err
			}
			r.change(a, v.Hash, r.slotRow(&v.Pre), r.slotRow(&v.Post))
		}
		if c.Code == nil {
			return nil
		}
		return r.code(c.Post.CodeHash, c.Code)
	}
}

// slotRow encodes a slot's value; zero has no row.
func (r *storageRun) slotRow(v *common.Hash) []byte {
	if *v == (common.Hash{}) {
		return nil
	}
	return state.AppendSlot(r.arena.room(maxSlotLen), v)
}

// maxSlotLen is the longest slot row.
const maxSlotLen = 1 + common.HashLength

// journalParent is the parent's state for a world state.
type journalParent struct{ parent }

// Account implements world.Parent.
func (p journalParent) Account(hash common.Hash) (world.Account, bool, error) {
	a, ok, err := p.parent.Account(&hash)
	return world.Account(a), ok, err
}

// Slot implements world.Parent.
func (p journalParent) Slot(account, slot common.Hash) (v common.Hash, err error) {
	row, err := p.parent.Slot(&account, &slot)
	if err == nil && row != nil {
		v, err = state.DecodeSlot(row)
	}
	return v, err
}

// EachSlot implements world.Parent.
func (p journalParent) EachSlot(account common.Hash, f func(slot, value common.Hash) error) error {
	return p.parent.EachSlot(account, func(slot common.Hash, row []byte) error {
		v, err := state.DecodeSlot(row)
		if err != nil {
			return err
		}
		return f(slot, v)
	})
}

// lanes hashes for a world state, side by side where there is more than one message.
type lanes struct{}

func (lanes) Sum(data []byte) common.Hash           { return keccak.Sum(data) }
func (lanes) SumSlots(out, in []common.Hash)        { keccak.SumSlots(out, in) }
func (lanes) SumAll(out []common.Hash, in [][]byte) { keccak.SumAll(out, in) }

// parentRead goes from one ReadParent to the next, and from the last to the journal.
func (c *core) parentRead(now time.Time, m *messages.ParentRead) []any {
	w, ok := c.answered(m.Job)
	if !ok {
		return nil
	}
	b := c.cur
	b.reads[m.Job.Index] = m
	b.spent[w].Warmup += m.Warmup
	return c.jobDone(now, m.Job.Index, func(time.Time) []any { return []any{journalBlock{b}} })
}

// readJobs are the first jobs of a block that goes through the journal.
func (c *core) readJobs(now time.Time) []any {
	b := c.cur
	c.newRound()
	slots := func(a *messages.ParentAccount) int { return len(a.Slots) }
	for i, run := range cut(b.journal.accounts, slots, len(c.workers), c.opts.BatchSlots) {
		b.jobs = append(b.jobs, job{read: &messages.ReadParent{
			Job: messages.Job{Round: b.round, Index: i}, Ctx: b.request.ctx(),
			Snapshot: b.parent.snapshot, Accounts: run,
		}})
	}
	b.left = len(b.jobs)
	b.reads = make([]*messages.ParentRead, len(b.jobs))
	if b.left == 0 {
		return c.storageDone(now)
	}
	return c.handOut(nil)
}

// journaled hands out the storage jobs of a block that went through the journal.
func (c *core) journaled(now time.Time, m journaled) []any {
	b := c.cur
	b.phases.Apply = m.took
	if m.err != nil {
		return c.finish(now, m.err)
	}
	b.targets = journalTargets(m.changes)
	c.newRound()
	changes := m.changes.Accounts
	slots := func(a *world.AccountChange) int { return len(a.Slots) }
	from := 0
	for i, run := range cut(changes, slots, len(c.workers), c.opts.BatchSlots) {
		b.jobs = append(b.jobs, job{storage: &messages.UpdateStorage{
			Job: messages.Job{Round: b.round, Index: i}, Ctx: b.request.ctx(),
			Snapshot: b.parent.snapshot, Targets: b.targets[from : from+len(run)], Journaled: run,
		}})
		from += len(run)
	}
	return c.storageJobs(now)
}
