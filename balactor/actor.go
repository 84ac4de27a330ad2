package balactor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/telemetry"
	"github.com/balsa-sync/balsa/trie"
)

// Config is what a BalApplyActor works with.
type Config struct {
	System  *actors.System
	Store   *state.Store
	Tracer  trace.Tracer
	Logger  *slog.Logger
	Options Options
	// Monitor shows blocks and workers from outside. Nil: nothing is shown.
	Monitor *telemetry.Monitor
	// Shadow takes validated blocks. Nil: nobody does.
	Shadow *Shadow

	// Subscriptions take the change sets of blocks. Nil: nobody does.
	Subscriptions *Subscriptions

	// onMessage sees each message before its actor does; for tests, which panic in it.
	onMessage func(any)
}

// Name is the BalApplyActor's name below its supervisor.
const Name = "bal-apply"

// Spec says how the BalApplyActor is spawned.
func Spec(cfg Config) (actors.Spec, error) {
	if err := cfg.Options.Validate(); err != nil {
		return actors.Spec{}, fmt.Errorf("%s: %w", Name, err)
	}
	h := &hold{}
	incarnations := uint64(0)
	return actors.Spec{
		Name: Name,
		New: func() actor.Actor {
			a := &applyActor{
				cfg: &cfg, core: newCore(cfg.Options, incarnations), hold: h, updater: newUpdater(),
			}
			a.unshare()
			incarnations++
			return a
		},
		Children: cfg.Options.Restarts,
	}, nil
}

// hold is what the pass in hand has open. It outlives an incarnation that panicked, so that the
// next one can close it once the old one's children have stopped.
type hold struct {
	snapshot *state.Snapshot
	reader   *state.Reader
	span     trace.Span
	ctx      context.Context // of the span
}

func (h *hold) close(log *slog.Logger) {
	if h.reader != nil {
		if err := h.reader.Close(); err != nil {
			log.Warn("closing the parent's reader", "err", err)
		}
	}
	if h.snapshot != nil {
		if err := h.snapshot.Close(); err != nil {
			log.Warn("closing the parent's snapshot", "err", err)
		}
	}
	if h.span != nil {
		h.span.End()
	}
	*h = hold{}
}

// applyActor is the BalApplyActor: it does what its core says.
type applyActor struct {
	cfg      *Config
	core     *core
	hold     *hold
	updater  *updater
	upper    *upper       // at the state of the block before the one in hand
	world    *world.State // of ApplyJournaled
	children []*actor.PID
}

// Receive implements actor.Actor.
func (a *applyActor) Receive(c actor.Context) {
	if a.cfg.onMessage != nil {
		a.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		a.onRoom(c.Self())
		a.hold.failed()
		a.hold.close(a.cfg.Logger)
		a.children = make([]*actor.PID, a.cfg.Options.Workers)
		for i := range a.children {
			a.spawn(c, i)
		}
	case *actor.Stopped:
		a.hold.close(a.cfg.Logger)
	case *messages.ApplyBlock:
		a.run(c, request{apply: m, trace: actors.Ctx(c)})
	case *messages.Rewind:
		a.run(c, request{rewind: m, trace: actors.Ctx(c)})
	case *messages.StorageUpdated, *messages.AccountsUpdated, *messages.JobFailed,
		*messages.ParentRead, *messages.RoomMade:
		a.run(c, m)
	case actors.ChildRestarted:
		if i := a.index(m.Child); i >= 0 {
			a.hold.lost(telemetry.EventWorkerRestarted, i, m.Reason)
			a.unshare()
			a.run(c, workerLost{worker: i, reason: m.Reason})
		}
	case actors.ChildFailed:
		if i := a.index(m.Child); i >= 0 {
			a.hold.lost(telemetry.EventWorkerReplaced, i, m.Reason)
			a.unshare()
			a.spawn(c, i)
			a.run(c, workerLost{worker: i, reason: m.Reason})
		}
	}
}

// unshare takes memory that workers share with the actor anew: one that has died may have jobs of
// its last life in its queue, and be at them at any time.
func (a *applyActor) unshare() {
	a.upper = newUpper()
	if a.cfg.Options.Apply == ApplyJournaled {
		a.world = world.New(nil, lanes{})
	}
}

// spawn starts worker i. A worker that used up its restarts gets a successor: what bounds this is
// Options.JobAttempts, because every panic costs the block in hand an attempt.
func (a *applyActor) spawn(c actor.Context, i int) {
	pid, err := a.cfg.System.SpawnChild(c, actors.Spec{
		Name: "account-batch", Numbered: true,
		New: func() actor.Actor {
			return &accountBatch{
				cfg: a.cfg, updater: newUpdater(), show: a.cfg.Monitor.Slot("account-batch", i),
			}
		},
	})
	if err != nil {
		panic(fmt.Errorf("spawning account batch %d: %w", i, err))
	}
	a.children[i] = pid
}

func (a *applyActor) index(child *actor.PID) int {
	for i, pid := range a.children {
		if pid.Equal(child) {
			return i
		}
	}
	return -1
}

// run lets the core step and does what it asks for, until nothing is left to do now.
func (a *applyActor) run(c actor.Context, m any) {
	todo := []any{m}
	for len(todo) > 0 {
		effects := a.core.step(a.cfg.System.Clock().Now(), todo[0])
		todo = todo[1:]
		for _, e := range effects {
			if result := a.do(c, e); result != nil {
				todo = append(todo, result)
			}
		}
	}
}

func (a *applyActor) do(c actor.Context, effect any) any {
	switch e := effect.(type) {
	case openParent:
		return a.openParent(e)
	case prepare:
		return a.prepare(e.block)
	case handOut:
		a.handOut(c, e)
	case journalBlock:
		return a.journal(e.block)
	case updateWhole:
		done, err := updateAccounts(e.block.request.ctx(), a.updater, a.accountTrie(),
			e.block.parent.cursor.Root == trie.EmptyRoot, e.block.changes)
		return accountsReady{done, err}
	case join:
		done, err := joinParts(e.block.request.ctx(), a.updater, a.accountTrie(),
			e.block.parent.root, e.block.accounts)
		return accountsReady{done, err}
	case handOver:
		a.handOver(e.block)
	case store:
		return a.store(e.block)
	case release:
		a.release(e.block)
	case answer:
		a.show(&e)
		c.Send(e.to, e.msg)
	}
	return nil
}

func (a *applyActor) handOut(c actor.Context, e handOut) {
	switch m := e.msg.(type) {
	case *messages.ReadParent:
		m.ReplyTo = c.Self()
	case *messages.UpdateStorage:
		m.ReplyTo = c.Self()
	case *messages.UpdateAccounts:
		m.ReplyTo = c.Self()
		if m.Job.Attempt == 1 { // after that, another may be at the same nibbles
			m.Over = a.upper.over
		}
	}
	a.cfg.System.Send(a.hold.ctx, a.children[e.worker], e.msg)
}

// openParent takes the snapshot that the pass works on and looks up what it has to know.
func (a *applyActor) openParent(e openParent) parentOpened {
	name := telemetry.SpanBlockApply
	if e.request.rewind != nil {
		name = telemetry.SpanBlockRewind
	}
	a.hold.ctx, a.hold.span = a.cfg.Tracer.Start(e.request.trace, name)
	p, err := a.lookUp(e)
	p.err = err
	return p
}

func (a *applyActor) lookUp(e openParent) (p parentOpened, err error) {
	sn := a.cfg.Store.NewSnapshot()
	a.hold.snapshot, p.snapshot = sn, sn
	if err := sn.Err(); err != nil {
		return p, err
	}
	var ok bool
	if p.cursor, ok = sn.Cursor(); !ok {
		return p, ErrNoState
	}
	w := &wanted{ctx: e.request.ctx()}
	if err := w.err(); err != nil {
		return p, err
	}
	if a.hold.reader, err = sn.NewReader(); err != nil {
		return p, err
	}
	if e.request.rewind != nil {
		if p.undo, err = undoOf(w, sn, p.cursor, e.hash, e.first); err != nil {
			return p, err
		}
	} else if _, p.known, err = sn.HeaderNumber(e.hash); err != nil || p.known {
		return p, err
	}
	a.upper.stand(p.cursor.Hash)
	path, b, ok, err := a.accountTrie().FirstBranch(trie.Path{})
	if err == nil && ok && path.Len == 0 {
		b.Refs = bytes.Clone(b.Refs)
		p.root, p.hasRoot = b, true
	}
	return p, err
}

// accountTrie is the parent's account trie.
func (a *applyActor) accountTrie() trie.Reader { return a.upper.over(a.hold.reader.AccountTrie()) }

func (a *applyActor) prepare(b *block) prepared {
	_, span := a.cfg.Tracer.Start(a.hold.ctx, telemetry.SpanBALDecode)
	defer span.End()
	var p prepared
	switch {
	case b.request.apply != nil && a.world != nil:
		p.journal, p.err = decodeJournal(b.request.apply)
		return p
	case b.request.apply != nil:
		p.targets, p.err = decodeBlock(b.request.apply)
		return p
	}
	diff, err := b.parent.snapshot.ReverseDiff(b.parent.cursor.Number, b.parent.cursor.Hash)
	if err != nil {
		return prepared{err: err}
	}
	p.targets, p.err = targetsOfDiff(diff)
	return p
}

// handOver offers the block to the shadow. The store still stands at the parent.
func (a *applyActor) handOver(b *block) {
	if a.cfg.Shadow == nil {
		return
	}
	m := b.request.apply
	a.cfg.Shadow.offer(&messages.CompareRoot{
		Header: m.Header, Hash: b.hash, BAL: m.BAL, Transactions: m.Transactions,
		Root: b.root, Accounts: b.layer.Accounts,
	}, a.cfg.Store)
}

// journal takes a block through the journaled world state.
func (a *applyActor) journal(b *block) (j journaled) {
	_, span := a.cfg.Tracer.Start(a.hold.ctx, telemetry.SpanBALApply)
	defer span.End()
	clock := a.cfg.System.Clock()
	start := clock.Now()
	j.changes, j.err = applyJournal(a.world, storeParent{a.hold.reader, b.parent.snapshot}, b)
	j.took = clock.Now().Sub(start)
	return j
}

func (a *applyActor) store(b *block) stored {
	_, span := a.cfg.Tracer.Start(a.hold.ctx, telemetry.SpanAccountRoot,
		trace.WithTimestamp(b.mark.Add(-b.phases.AccountRoot)))
	span.End(trace.WithTimestamp(b.mark))
	a.rootReady(b)
	_, span = a.cfg.Tracer.Start(a.hold.ctx, telemetry.SpanStateCommit)
	defer span.End()
	err := (&wanted{ctx: b.request.ctx()}).err()
	switch m := b.request.apply; {
	case err != nil:
	case m == nil:
		err = a.cfg.Store.Revert(b.parent.cursor, b.parent.undo.to, &b.layer)
	default:
		err = a.cfg.Store.Commit(b.parent.cursor,
			state.Block{Header: m.Header, Hash: b.hash, BAL: m.BAL}, &b.layer)
	}
	if err != nil {
		return stored{err: err}
	}
	to := b.hash
	if b.request.rewind != nil {
		to = b.parent.undo.to.Hash
	}
	a.upper.move(to, b.layer.Branches)
	return stored{full: a.publish(b)}
}

// publish delivers the change set of a block that is stored. It reports whether the next one has
// to wait.
func (a *applyActor) publish(b *block) (full bool) {
	if a.cfg.Subscriptions == nil || !a.cfg.Subscriptions.subscribed() {
		return false
	}
	c := &state.ChangeSet{Hash: b.hash, Accounts: b.layer.Accounts, Slots: b.layer.Slots}
	if h := b.header(); h != nil {
		c.Number, c.Parent = h.Number.Uint64(), h.ParentHash
	}
	c.Undone = b.request.rewind != nil
	return a.cfg.Subscriptions.publish(c)
}

// onRoom has subscribers tell the actor when a block that waits for them may go on.
func (a *applyActor) onRoom(self *actor.PID) {
	if a.cfg.Subscriptions != nil {
		a.cfg.Subscriptions.onRoom(func() {
			a.cfg.System.Send(context.Background(), self, &messages.RoomMade{})
		})
	}
}

func (a *applyActor) release(b *block) {
	if s := a.hold.span; s != nil && s.IsRecording() {
		s.SetAttributes(
			attribute.String(telemetry.AttrMode, a.cfg.Options.Apply.String()),
			attribute.String(telemetry.AttrBlockHash, b.hash.Hex()),
			attribute.Int(telemetry.AttrAccounts, len(b.layer.Accounts)),
			attribute.Int(telemetry.AttrSlots, len(b.layer.Slots)))
		s.SetAttributes(phaseAttributes(&b.phases)...)
		if h := b.header(); h != nil {
			s.SetAttributes(attribute.Int64(telemetry.AttrBlockNumber, h.Number.Int64()))
		}
		if b.failed != nil {
			s.SetStatus(codes.Error, b.failed.Error())
		}
	}
	if _, wrong := b.failed.(*WrongRootError); wrong {
		a.upper.forget() // should memory be at fault, the next attempt does not meet it again
	}
	a.hold.close(a.cfg.Logger)
}

// phaseAttributes say where a block's time went.
func phaseAttributes(p *messages.Phases) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 6)
	for _, x := range [...]struct {
		name string
		took time.Duration
	}{
		{telemetry.AttrDecode, p.Decode}, {telemetry.AttrWarmup, p.Warmup},
		{telemetry.AttrApplySeconds, p.Apply}, {telemetry.AttrStorageRoots, p.StorageRoots},
		{telemetry.AttrAccountRoot, p.AccountRoot}, {telemetry.AttrCommit, p.Commit},
	} {
		attrs = append(attrs, attribute.Float64(x.name, x.took.Seconds()))
	}
	return attrs
}
