package balactor

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/telemetry"
)

// accountBatch is the AccountBatch actor: one job a message, nothing but buffers between jobs.
type accountBatch struct {
	cfg     *Config
	updater *updater
	show    func(telemetry.Job)
	idle    time.Time // since its answer before
}

// Receive implements actor.Actor.
func (a *accountBatch) Receive(c actor.Context) {
	if a.cfg.onMessage != nil {
		a.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *messages.ReadParent:
		start := a.cfg.System.Clock().Now()
		out := a.readParent(c, m)
		a.shown(start, "parent", len(m.Accounts))
		c.Send(m.ReplyTo, out)
	case *messages.UpdateStorage:
		start := a.cfg.System.Clock().Now()
		out := a.updateStorage(c, m)
		a.shown(start, "storage", len(m.Targets))
		c.Send(m.ReplyTo, out)
	case *messages.UpdateAccounts:
		start := a.cfg.System.Clock().Now()
		out := a.updateAccounts(c, m)
		a.shown(start, "accounts", len(m.Runs))
		c.Send(m.ReplyTo, out)
	}
}

// shown has a job on the worker's timeline.
func (a *accountBatch) shown(start time.Time, kind string, items int) {
	if !a.cfg.Monitor.Measuring() {
		return
	}
	now := a.cfg.System.Clock().Now()
	j := telemetry.Job{At: start, Took: now.Sub(start).Seconds(), Kind: kind, Items: items}
	if !a.idle.IsZero() {
		j.Wait = start.Sub(a.idle).Seconds()
	}
	a.show(j)
	a.idle = now
}

func (a *accountBatch) updateStorage(c actor.Context, m *messages.UpdateStorage) any {
	r, err := m.Snapshot.NewReader()
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	defer r.Close()
	clock := a.cfg.System.Clock()
	start := clock.Now()
	done, err := updateStorage(a.updater, storeParent{r, m.Snapshot}, m, clock.Now)
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	a.spans(c, start, done, m.Journaled == nil)
	return done
}

func (a *accountBatch) readParent(c actor.Context, m *messages.ReadParent) any {
	r, err := m.Snapshot.NewReader()
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	defer r.Close()
	clock := a.cfg.System.Clock()
	start := clock.Now()
	done, err := readParent(storeParent{r, m.Snapshot}, m)
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	end := clock.Now()
	done.Warmup = end.Sub(start)
	_, span := a.cfg.Tracer.Start(actors.Ctx(c), telemetry.SpanBALWarmup, trace.WithTimestamp(start),
		trace.WithAttributes(attribute.Int(telemetry.AttrAccounts, len(done.Accounts))))
	span.End(trace.WithTimestamp(end))
	return done
}

// spans writes the job's spans once it is done: its parts are told apart by what it measured.
func (a *accountBatch) spans(c actor.Context, start time.Time, done *messages.StorageUpdated,
	read bool) {
	ctx := actors.Ctx(c)
	if !trace.SpanFromContext(ctx).IsRecording() && !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	attrs := trace.WithAttributes(
		attribute.Int(telemetry.AttrAccounts, len(done.Accounts)),
		attribute.Int(telemetry.AttrSlots, len(done.Slots)))
	for _, part := range [...]struct {
		name string
		took time.Duration
	}{
		{telemetry.SpanBALWarmup, done.Warmup}, {telemetry.SpanBALApply, done.Apply},
		{telemetry.SpanStorageRoots, done.Roots},
	} {
		if part.name == telemetry.SpanBALWarmup && !read {
			continue // it was a job of its own
		}
		_, span := a.cfg.Tracer.Start(ctx, part.name, trace.WithTimestamp(start), attrs)
		start = start.Add(part.took)
		span.End(trace.WithTimestamp(start))
	}
}

func (a *accountBatch) updateAccounts(_ actor.Context, m *messages.UpdateAccounts) any {
	r, err := m.Snapshot.NewReader()
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	defer r.Close()
	accounts := r.AccountTrie()
	if m.Over != nil {
		accounts = m.Over(accounts)
	}
	done, err := updateParts(a.updater, accounts, m)
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	return done
}

// storeParent is the parent's state as the store has it.
type storeParent struct {
	*state.Reader
	snapshot *state.Snapshot
}

// HasCode implements parent.
func (p storeParent) HasCode(hash common.Hash) (bool, error) { return p.snapshot.HasCode(hash) }

// EachSlot implements parent.
func (p storeParent) EachSlot(account common.Hash, f func(common.Hash, []byte) error) error {
	it := p.snapshot.Slots(account, common.Hash{})
	defer it.Close()
	for it.Next() {
		if err := f(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}
