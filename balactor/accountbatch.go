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
	upper   *upper // the parent's
}

// Receive implements actor.Actor.
func (a *accountBatch) Receive(c actor.Context) {
	if a.cfg.onMessage != nil {
		a.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *messages.UpdateStorage:
		c.Send(m.ReplyTo, a.updateStorage(c, m))
	case *messages.UpdateAccounts:
		c.Send(m.ReplyTo, a.updateAccounts(c, m))
	}
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
	a.spans(c, start, done)
	return done
}

// spans writes the job's two spans once it is done: its halves are told apart by what it measured.
func (a *accountBatch) spans(c actor.Context, start time.Time, done *messages.StorageUpdated) {
	ctx := actors.Ctx(c)
	if !trace.SpanFromContext(ctx).IsRecording() && !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	warm := start.Add(done.Warmup)
	attrs := trace.WithAttributes(
		attribute.Int(telemetry.AttrAccounts, len(done.Accounts)),
		attribute.Int(telemetry.AttrSlots, len(done.Slots)))
	_, span := a.cfg.Tracer.Start(ctx, telemetry.SpanBALWarmup, trace.WithTimestamp(start), attrs)
	span.End(trace.WithTimestamp(warm))
	_, span = a.cfg.Tracer.Start(ctx, telemetry.SpanStorageRoots, trace.WithTimestamp(warm), attrs)
	span.End(trace.WithTimestamp(warm.Add(done.Roots)))
}

func (a *accountBatch) updateAccounts(_ actor.Context, m *messages.UpdateAccounts) any {
	r, err := m.Snapshot.NewReader()
	if err != nil {
		return &messages.JobFailed{Job: m.Job, Err: err}
	}
	defer r.Close()
	done, err := updateParts(a.updater, a.upper.over(r.AccountTrie()), m)
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
