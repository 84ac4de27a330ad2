package balactor

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/internal/invariants"
	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

func (c *core) storageUpdated(now time.Time, m *messages.StorageUpdated) []any {
	w, ok := c.answered(m.Job)
	if !ok {
		return nil
	}
	b := c.cur
	b.storage[m.Job.Index] = m
	spent := &b.spent[w]
	spent.Warmup, spent.Apply = spent.Warmup+m.Warmup, spent.Apply+m.Apply
	spent.StorageRoots += m.Roots
	return c.jobDone(now, m.Job.Index, c.storageDone)
}

func (c *core) accountsUpdated(now time.Time, m *messages.AccountsUpdated) []any {
	if _, ok := c.answered(m.Job); !ok {
		return nil
	}
	c.cur.accounts[m.Job.Index] = m
	return c.jobDone(now, m.Job.Index, func(time.Time) []any { return []any{join{c.cur}} })
}

// jobDone counts a job off and goes on: with the next job, or with what follows the last.
func (c *core) jobDone(now time.Time, index int, then func(time.Time) []any) []any {
	b := c.cur
	b.jobs[index].done = true
	b.left--
	invariants.Check(b.out >= 0 && b.out <= b.left, "%d jobs out of %d are handed out", b.out, b.left)
	if b.failed != nil {
		return c.drained(now)
	}
	if b.left == 0 {
		return then(now)
	}
	return c.handOut(nil)
}

func (c *core) jobFailed(now time.Time, m *messages.JobFailed) []any {
	if _, ok := c.answered(m.Job); !ok {
		return nil
	}
	return c.fail(now, m.Err)
}

// workerLost hands the lost job out again, a few times.
func (c *core) workerLost(now time.Time, m workerLost) []any {
	w := &c.workers[m.worker]
	if !w.busy || c.cur == nil {
		return nil
	}
	b := c.cur
	w.busy = false
	b.out--
	if b.failed != nil {
		return c.drained(now)
	}
	if j := &b.jobs[w.job]; j.attempt >= c.opts.JobAttempts {
		return c.fail(now, fmt.Errorf("%w: job %d, attempt %d: %v",
			ErrWorkerFailed, w.job, j.attempt, m.reason))
	}
	if mutants.Active != mutants.LoseJob {
		b.again = append(b.again, w.job)
	}
	return c.handOut(nil)
}

// fail gives the pass up. The workers' snapshot stays open until the last of them has answered.
func (c *core) fail(now time.Time, err error) []any {
	if c.cur.failed == nil {
		c.cur.failed = err
	}
	return c.drained(now)
}

func (c *core) drained(now time.Time) []any {
	if c.cur.out > 0 {
		return nil
	}
	return c.finish(now, c.cur.failed)
}

// storageDone makes the layer's flat rows and turns to the account trie.
func (c *core) storageDone(now time.Time) []any {
	b := c.cur
	b.mark = now
	b.sideBySide()
	type done = messages.StorageUpdated
	b.layer.Accounts = joined(b.storage, func(d *done) []state.AccountWrite { return d.Accounts })
	b.layer.Slots = joined(b.storage, func(d *done) []state.SlotWrite { return d.Slots })
	b.layer.Codes = joined(b.storage, func(d *done) []state.CodeWrite { return d.Codes })
	b.changes = joined(b.storage, func(d *done) []trie.Change { return d.Changes })
	slices.SortFunc(b.layer.Codes, func(x, y state.CodeWrite) int {
		return bytes.Compare(x.Hash[:], y.Hash[:])
	})
	b.layer.Codes = slices.CompactFunc(b.layer.Codes, func(x, y state.CodeWrite) bool {
		return x.Hash == y.Hash
	})
	if len(b.changes) == 0 {
		return c.accountsReady(now, accountsReady{done: accountsDone{root: b.parent.cursor.Root}})
	}
	if len(c.workers) == 1 || !b.parent.hasRoot || len(b.changes) < c.opts.ParallelAccounts {
		return []any{updateWhole{b}}
	}
	c.newRound()
	for i, runs := range partition(b.changes, len(c.workers)) {
		b.jobs = append(b.jobs, job{account: &messages.UpdateAccounts{
			Job:      messages.Job{Round: b.round, Index: i},
			Ctx:      b.request.ctx(),
			Snapshot: b.parent.snapshot, Root: b.parent.root, Runs: runs,
		}})
	}
	b.left = len(b.jobs)
	b.accounts = make([]*messages.AccountsUpdated, len(b.jobs))
	return c.handOut(nil)
}

// sideBySide adds what the workers did to the block's phases.
func (b *block) sideBySide() {
	var most messages.Phases
	for i := range b.spent {
		s := &b.spent[i]
		most.Warmup = max(most.Warmup, s.Warmup)
		most.Apply = max(most.Apply, s.Apply)
		most.StorageRoots = max(most.StorageRoots, s.StorageRoots)
	}
	b.phases.Warmup += most.Warmup
	b.phases.Apply += most.Apply
	b.phases.StorageRoots += most.StorageRoots
}

// joined puts one list of every answer side by side.
func joined[A, T any](answers []*A, list func(*A) []T) []T {
	if len(answers) == 1 {
		return list(answers[0])
	}
	n := 0
	for _, a := range answers {
		n += len(list(a))
	}
	all := make([]T, 0, n)
	for _, a := range answers {
		all = append(all, list(a)...)
	}
	return all
}

// accountsReady completes the layer and checks the root (I3).
func (c *core) accountsReady(now time.Time, m accountsReady) []any {
	b := c.cur
	b.phases.AccountRoot = now.Sub(b.mark)
	b.mark = now
	if m.err != nil {
		return c.finish(now, m.err)
	}
	b.root = m.done.root
	b.layer.Branches = slices.Concat(m.done.branches, joined(b.storage,
		func(d *messages.StorageUpdated) []state.BranchWrite { return d.Branches }))
	if err := b.checkRoot(); err != nil {
		return c.finish(now, err)
	}
	if b.request.rewind != nil {
		return []any{store{b}}
	}
	return []any{handOver{b}, store{b}}
}

func (b *block) checkRoot() error {
	if b.request.rewind != nil {
		if want := b.parent.undo.to.Root; b.root != want {
			return fmt.Errorf("%w: undoing block %d (%s) gives root %s, its parent has %s",
				ErrDiffMismatch, b.parent.cursor.Number, b.parent.cursor.Hash, b.root, want)
		}
		return nil
	}
	h := b.request.apply.Header
	if b.root == h.Root || mutants.Active == mutants.RootUnchecked {
		return nil
	}
	e := &WrongRootError{Number: h.Number.Uint64(), Hash: b.hash, Want: h.Root, Got: b.root}
	changed := map[common.Hash]bool{}
	for _, s := range b.storage {
		e.Changed += len(s.Storage)
		for _, hash := range s.Storage {
			changed[hash] = true
		}
	}
	for i := range b.targets {
		if t := &b.targets[i]; changed[t.Hash] && len(e.Accounts) < MaxNamedAccounts {
			e.Accounts = append(e.Accounts, t.Address)
		}
	}
	return e
}

func (c *core) stored(now time.Time, m stored) []any {
	b := c.cur
	b.phases.Commit = now.Sub(b.mark)
	if m.err != nil {
		return c.finish(now, m.err)
	}
	if b.full = m.full; b.full {
		return nil
	}
	return c.delivered(now)
}

// roomMade goes on with a block that is stored and waits for its subscribers.
func (c *core) roomMade(now time.Time) []any {
	if c.cur == nil || !c.cur.full {
		return nil // of an incarnation before
	}
	c.cur.full = false
	return c.delivered(now)
}

// delivered goes on behind a block that is stored, and whose change set is delivered.
func (c *core) delivered(now time.Time) []any {
	b := c.cur
	if b.request.apply != nil {
		return c.finish(now, nil)
	}
	// A rewind goes on with the block that is the cursor now.
	return append([]any{release{b}}, c.start(now, b.request, b.undone+1)...)
}

// finish answers the request in hand and takes the next.
func (c *core) finish(now time.Time, err error) []any {
	b := c.cur
	c.cur = nil
	b.phases.Total = now.Sub(b.started)
	effects := []any{release{b}}
	if err != nil {
		b.failed = err
		no := rejection(b.request, b.cursor(), err)
		no.took = b.phases.Total
		effects = append(effects, no)
	} else {
		effects = append(effects, b.success())
	}
	if len(c.queue) > 0 {
		r := c.queue[0]
		c.queue = c.queue[1:]
		effects = append(effects, c.start(now, r, 0)...)
	}
	return effects
}

// cursor is where the store stands as far as this pass has seen.
func (b *block) cursor() state.Cursor {
	if b.parent == nil {
		return state.Cursor{}
	}
	return b.parent.cursor
}

func (b *block) success() answer {
	if r := b.request.rewind; r != nil {
		return answer{to: r.ReplyTo, msg: &messages.Rewound{
			Request: r.Request, Cursor: b.parent.cursor, Blocks: b.undone,
		}}
	}
	r := b.request.apply
	return answer{to: r.ReplyTo, msg: &messages.BlockApplied{
		Request: r.Request, Number: r.Header.Number.Uint64(), Hash: b.hash, Root: r.Header.Root,
		Known: b.parent.known, Accounts: len(b.layer.Accounts), Slots: len(b.layer.Slots),
		Rows: len(b.layer.Branches), Phases: b.phases,
	}}
}

// rejection answers a request with an error that names its block.
func rejection(r request, at state.Cursor, err error) answer {
	if r.rewind != nil {
		return answer{to: r.rewind.ReplyTo, msg: &messages.RewindRejected{
			Request: r.rewind.Request, Cursor: at,
			Err: fmt.Errorf("rewind to %s: %w", r.rewind.To, err),
		}}
	}
	m := &messages.BlockRejected{Request: r.apply.Request, Err: err}
	if h := r.apply.Header; checkHeader(h) == nil {
		m.Number, m.Hash = h.Number.Uint64(), h.Hash()
		if _, named := err.(*WrongRootError); !named {
			m.Err = fmt.Errorf("block %d (%s): %w", m.Number, m.Hash, err)
		}
	}
	return answer{to: r.apply.ReplyTo, msg: m}
}
