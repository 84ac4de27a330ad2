package balactor

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/internal/invariants"
	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// core is BalApplyActor without actors (D9): step takes a message or the result of an effect, and
// says what is to be done. It never reads, waits or measures; now comes from outside.
//
// One request is in hand at a time and goes through
//
//	open -> prepare -> storage jobs -> account jobs | whole -> join -> root check -> hand over
//	     -> commit -> reply
//
// With ApplyJournaled a block goes from prepare through read jobs and the journal to its storage
// jobs.
//
// A Rewind goes from open to commit once a block.
type core struct {
	opts    Options
	queue   []request
	cur     *block
	rounds  uint64 // numbers the rounds of jobs, so that late answers are told apart
	workers []worker
}

// request is a command with the trace it belongs to.
type request struct {
	apply  *messages.ApplyBlock
	rewind *messages.Rewind
	trace  context.Context // of the command's message
}

// ctx says how long the request is wanted; nil: always.
func (r *request) ctx() context.Context {
	if r.rewind != nil {
		return r.rewind.Ctx
	}
	return r.apply.Ctx
}

// worker is an AccountBatch child as the core sees it.
type worker struct {
	busy bool
	job  int // index into the block's jobs
}

// job is one message for a worker.
type job struct {
	attempt int
	done    bool
	read    *messages.ReadParent
	storage *messages.UpdateStorage
	account *messages.UpdateAccounts
}

// block is the pass in hand: one block applied, or one undone.
type block struct {
	request request
	started time.Time
	hash    common.Hash // of the block in question
	parent  *parentOpened

	targets  []messages.AccountTarget
	journal  *journal // of a block that goes through the journal
	round    uint64   // of jobs
	jobs     []job
	next     int // first job not handed out yet
	again    []int
	out      int // handed out and not answered
	left     int // not done
	reads    []*messages.ParentRead
	storage  []*messages.StorageUpdated
	accounts []*messages.AccountsUpdated
	changes  []trie.Change

	root   common.Hash
	layer  state.Layer
	phases messages.Phases
	spent  []messages.Phases // by worker: what they do side by side
	mark   time.Time         // start of the phase in hand
	failed error
	full   bool // stored, and waits for room
	undone int  // blocks undone by the request before this pass
}

// Effects: what the shell is asked to do. Those that say "answers" give a message to step.
type (
	// openParent takes a snapshot and looks up what the request needs. Answers parentOpened.
	openParent struct {
		request request
		hash    common.Hash
		first   bool // of the request's passes
	}
	// prepare decodes a block access list or reads a reverse diff. Answers prepared.
	prepare struct{ block *block }
	// handOut sends a job to a worker.
	handOut struct {
		worker int
		msg    any
	}
	// journalBlock takes a block through the journaled world state. Answers journaled.
	journalBlock struct{ block *block }
	// updateWhole updates the account trie in the actor itself. Answers accountsReady.
	updateWhole struct{ block *block }
	// join puts the parts of the account trie together. Answers accountsReady.
	join struct{ block *block }
	// handOver gives a validated block to the shadow, before it is committed.
	handOver struct{ block *block }
	// store commits or reverts. Answers stored.
	store struct{ block *block }
	// release closes the pass's snapshot and its span.
	release struct{ block *block }
	// answer sends a reply.
	answer struct {
		to   *actor.PID
		msg  any
		took time.Duration // of a rejected block
	}
)

// Results of effects, and what supervision says.
type (
	parentOpened struct {
		snapshot *state.Snapshot
		cursor   state.Cursor
		known    bool        // the block is in the store already
		undo     *undoStep   // rewinds: the cursor's block; nil: the cursor is the target
		root     trie.Branch // the account trie's root branch
		hasRoot  bool        // there is one at depth 0
		err      error
	}
	undoStep struct {
		header *types.Header // the cursor's block
		to     state.Cursor  // its parent
	}
	prepared struct {
		targets []messages.AccountTarget
		journal *journal // in place of targets: the block goes through the journal
		err     error
	}
	journaled struct {
		changes *world.Changes
		took    time.Duration
		err     error
	}
	accountsReady struct {
		done accountsDone
		err  error
	}
	stored struct {
		err  error
		full bool // subscribers have no room for another change set: RoomMade follows
	}
	// workerLost says that the worker's job in hand is lost; the worker itself goes on.
	workerLost struct {
		worker int
		reason any
	}
)

// incarnationShift leaves an incarnation 2^40 passes.
const incarnationShift = 40

// newCore makes the core of an incarnation, the first being 0. Answers to the incarnation before
// may still be in the mailbox, so no pass has a number that one of theirs had.
func newCore(o Options, incarnation uint64) *core {
	return &core{
		opts: o, workers: make([]worker, o.Workers), rounds: incarnation << incarnationShift,
	}
}

// step is the whole protocol.
func (c *core) step(now time.Time, m any) []any {
	switch m := m.(type) {
	case request:
		return c.enqueue(now, m)
	case parentOpened:
		return c.opened(now, &m)
	case prepared:
		return c.prepared(now, m)
	case *messages.ParentRead:
		return c.parentRead(now, m)
	case journaled:
		return c.journaled(now, m)
	case *messages.StorageUpdated:
		return c.storageUpdated(now, m)
	case *messages.AccountsUpdated:
		return c.accountsUpdated(now, m)
	case *messages.JobFailed:
		return c.jobFailed(now, m)
	case workerLost:
		return c.workerLost(now, m)
	case accountsReady:
		return c.accountsReady(now, m)
	case stored:
		return c.stored(now, m)
	case *messages.RoomMade:
		return c.roomMade(now)
	}
	panic(fmt.Sprintf("balactor: the core does not know %T", m))
}

func (c *core) enqueue(now time.Time, r request) []any {
	if c.cur == nil {
		return c.start(now, r, 0)
	}
	if len(c.queue) >= c.opts.MaxQueued {
		return []any{rejection(r, state.Cursor{}, ErrBusy)}
	}
	c.queue = append(c.queue, r)
	return nil
}

// start takes a request in hand. Workers of an earlier pass are idle by then.
func (c *core) start(now time.Time, r request, undone int) []any {
	for w := range c.workers {
		invariants.Check(!c.workers[w].busy, "worker %d is busy between two passes", w)
	}
	b := &block{request: r, started: now, mark: now, undone: undone,
		spent: make([]messages.Phases, len(c.workers))}
	c.cur = b
	if r.apply != nil {
		if err := checkHeader(r.apply.Header); err != nil {
			return c.finish(now, err)
		}
		b.hash = r.apply.Header.Hash()
	} else {
		b.hash = r.rewind.To
	}
	return []any{openParent{request: r, hash: b.hash, first: undone == 0}}
}

func (c *core) opened(now time.Time, m *parentOpened) []any {
	b := c.cur
	b.parent, b.mark = m, now
	if m.err != nil {
		return c.finish(now, m.err)
	}
	if b.request.rewind != nil {
		if m.undo == nil {
			return c.finish(now, nil)
		}
		b.hash = m.cursor.Hash
		return []any{prepare{b}}
	}
	h := b.request.apply.Header
	if m.known && mutants.Active != mutants.ApplyTwice {
		return c.finish(now, nil)
	}
	if h.ParentHash != m.cursor.Hash || h.Number.Uint64() != m.cursor.Number+1 {
		return c.finish(now, fmt.Errorf("%w: its parent is %s, the cursor is block %d (%s)",
			ErrUnknownParent, h.ParentHash, m.cursor.Number, m.cursor.Hash))
	}
	return []any{prepare{b}}
}

func (c *core) prepared(now time.Time, m prepared) []any {
	b := c.cur
	b.phases.Decode = now.Sub(b.mark)
	b.mark = now
	if m.err != nil {
		return c.finish(now, m.err)
	}
	if b.journal = m.journal; b.journal != nil {
		return c.readJobs(now)
	}
	b.targets = m.targets
	c.newRound()
	for i, run := range split(m.targets, len(c.workers), c.opts.BatchSlots) {
		b.jobs = append(b.jobs, job{storage: &messages.UpdateStorage{
			Job:      messages.Job{Round: b.round, Index: i},
			Ctx:      b.request.ctx(),
			Snapshot: b.parent.snapshot, Targets: run,
		}})
	}
	return c.storageJobs(now)
}

// newRound begins a round of jobs. No round has a number that another had, of the same block
// either: a worker that died may still have a job of an earlier one in its queue, and answers it
// at any time.
func (c *core) newRound() {
	b := c.cur
	c.rounds++
	b.round = c.rounds
	b.jobs, b.next, b.again = nil, 0, nil
}

// storageJobs hands the block's storage jobs out.
func (c *core) storageJobs(now time.Time) []any {
	b := c.cur
	b.left = len(b.jobs)
	b.storage = make([]*messages.StorageUpdated, len(b.jobs))
	if b.left == 0 {
		return c.storageDone(now)
	}
	return c.handOut(nil)
}

// handOut gives jobs to idle workers.
func (c *core) handOut(effects []any) []any {
	b := c.cur
	if b.failed != nil {
		return effects
	}
	for w := range c.workers {
		if c.workers[w].busy {
			continue
		}
		var i int
		switch {
		case len(b.again) > 0:
			i, b.again = b.again[0], b.again[1:]
		case b.next < len(b.jobs):
			i = b.next
			b.next++
		default:
			return effects
		}
		j := &b.jobs[i]
		j.attempt++
		c.workers[w] = worker{busy: true, job: i}
		b.out++
		effects = append(effects, handOut{worker: w, msg: j.message()})
	}
	return effects
}

// message makes the job's message; a job handed out again is a new message.
func (j *job) message() any {
	switch {
	case j.read != nil:
		m := *j.read
		m.Job.Attempt = j.attempt
		return &m
	case j.storage != nil:
		m := *j.storage
		m.Job.Attempt = j.attempt
		return &m
	}
	m := *j.account
	m.Job.Attempt = j.attempt
	return &m
}

// answered settles a job's answer with its worker. ok is false for answers of an earlier pass or
// attempt, which mean nothing any more.
func (c *core) answered(of messages.Job) (worker int, ok bool) {
	b := c.cur
	if b == nil || of.Round != b.round || of.Index >= len(b.jobs) {
		return 0, false
	}
	j := &b.jobs[of.Index]
	if j.done || j.attempt != of.Attempt {
		return 0, false
	}
	for w := range c.workers {
		if c.workers[w].busy && c.workers[w].job == of.Index {
			c.workers[w].busy = false
			b.out--
			return w, true
		}
	}
	return 0, false
}
