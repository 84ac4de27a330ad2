package storageactor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/telemetry"
)

// Config is what a StorageActor works with.
type Config struct {
	System  *actors.System
	Store   Store
	Tracer  trace.Tracer
	Logger  *slog.Logger
	Options Options
	// Monitor shows workers and reports from outside. Nil: nothing is shown.
	Monitor *telemetry.Monitor

	// onMessage sees each message before its actor does; for tests, which panic in it.
	onMessage func(any)
}

// Name is the StorageActor's name below its supervisor.
const Name = "storage"

// Spec says how the StorageActor is spawned.
func Spec(cfg Config) (actors.Spec, error) {
	if err := cfg.Options.Validate(); err != nil {
		return actors.Spec{}, fmt.Errorf("%s: %w", Name, err)
	}
	instruments, err := newInstruments(cfg.Options.Meter)
	if err != nil {
		return actors.Spec{}, fmt.Errorf("%s: %w", Name, err)
	}
	h := &hold{instruments: instruments, requesters: map[string]*actor.PID{}}
	return actors.Spec{
		Name:     Name,
		New:      func() actor.Actor { return &storageActor{cfg: &cfg, hold: h} },
		Children: cfg.Options.Restarts,
	}, nil
}

// hold is what outlives an incarnation. The buffers are given out by the core, one owner each; the
// next incarnation has them when the old one's children have stopped.
type hold struct {
	instruments *instruments
	rows        []Rows
	incarnation uint64
	requesters  map[string]*actor.PID
	phase       trace.Span
}

// storageActor is the StorageActor: it does what its core says.
type storageActor struct {
	cfg      *Config
	hold     *hold
	core     *core
	timers   *actors.Timers
	workers  []*actor.PID
	flushers []*actor.PID
	phase    context.Context // of the phase's span
	accounts bool            // which phase that is
}

// Receive implements actor.Actor.
func (a *storageActor) Receive(c actor.Context) {
	if a.cfg.onMessage != nil {
		a.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		a.started(c)
	case *actor.Restarting:
		if a.hold.phase != nil {
			a.hold.phase.AddEvent(telemetry.EventActorRestarted)
		}
		a.endPhase()
	case *actor.Stopped:
		a.endPhase()
		for _, r := range a.hold.rows {
			r.Discard() // which nobody will flush any more
		}
	case *messages.FindCredit:
		if m.ReplyTo != nil {
			a.hold.requesters[m.ReplyTo.Id] = m.ReplyTo
			a.run(c, m)
		}
	case *messages.BuildStorage:
		a.begin(c, false)
		a.run(c, m)
	case *messages.BuildAccounts:
		a.begin(c, true)
		a.run(c, m)
	case *messages.FindReport:
		a.run(c, sampled{processUsage()})
		a.run(c, m)
	case *messages.TriesBuilt, *messages.TrieSurveyed, *messages.RowsWritten,
		*messages.RowsFlushed, *messages.Confirmed:
		a.run(c, m)
	case actors.ChildRestarted:
		a.childRestarted(c, m.Child)
	case actors.ChildFailed:
		a.childFailed(c, m.Child)
	case actors.TimerFired:
		if _, ok := a.timers.Accept(m); ok {
			a.run(c, sampled{processUsage()})
			a.showReports()
			a.timers.Start(sampleTimer, a.cfg.Options.SampleEvery, sampleTimer)
		}
	}
}

const sampleTimer = "sample"

func (a *storageActor) started(c actor.Context) {
	h := a.hold
	for len(h.rows) < a.cfg.Options.Buffers {
		h.rows = append(h.rows, a.cfg.Store.NewRows())
	}
	h.incarnation++
	a.phase = context.Background()
	a.core = newCore(a.cfg.Options, h.incarnation)
	a.workers = make([]*actor.PID, a.cfg.Options.Workers)
	for i := range a.workers {
		a.spawnWorker(c, i)
	}
	a.flushers = make([]*actor.PID, a.cfg.Options.Flushers)
	for i := range a.flushers {
		a.spawnFlusher(c, i)
	}
	a.timers = actors.NewTimers(a.cfg.System, c.Self())
	a.timers.Start(sampleTimer, a.cfg.Options.SampleEvery, sampleTimer)
	for _, pid := range h.requesters {
		if mutants.Active == mutants.ForgetResend && h.incarnation > 1 {
			continue
		}
		a.run(c, &messages.FindCredit{ReplyTo: pid})
	}
}

func (a *storageActor) spawnWorker(c actor.Context, i int) {
	a.workers[i] = a.spawn(c, "trie-build", func() actor.Actor {
		t := &trieBuild{
			cfg: a.cfg, slot: i, hold: a.hold, show: a.cfg.Monitor.Slot("trie-build", i),
			builder: newBuilder(a.cfg.Store, a.cfg.System.Clock().Now),
		}
		t.builder.yield = t.yield
		return t
	})
}

func (a *storageActor) spawnFlusher(c actor.Context, i int) {
	a.flushers[i] = a.spawn(c, "row-flush", func() actor.Actor {
		return &rowFlush{cfg: a.cfg, hold: a.hold, show: a.cfg.Monitor.Slot("row-flush", i)}
	})
}

func (a *storageActor) spawn(c actor.Context, name string, make func() actor.Actor) *actor.PID {
	pid, err := a.cfg.System.SpawnChild(c, actors.Spec{Name: name, Numbered: true, New: make})
	if err != nil {
		panic(fmt.Errorf("spawning %s: %w", name, err))
	}
	return pid
}

func index(pids []*actor.PID, pid *actor.PID) int {
	return slices.IndexFunc(pids, func(p *actor.PID) bool { return p.Equal(pid) })
}

func (a *storageActor) childRestarted(c actor.Context, child *actor.PID) {
	if i := index(a.workers, child); i >= 0 {
		a.event(telemetry.EventWorkerRestarted, i)
		a.run(c, workerRestarted{i})
	} else if i := index(a.flushers, child); i >= 0 {
		a.event(telemetry.EventFlusherRestarted, i)
		a.run(c, flusherRestarted{i})
	}
}

// childFailed gives a child that used up its restarts a successor: what bounds this is
// Options.JobAttempts, because every panic costs a job an attempt.
func (a *storageActor) childFailed(c actor.Context, child *actor.PID) {
	if i := index(a.workers, child); i >= 0 {
		a.event(telemetry.EventWorkerReplaced, i)
		a.spawnWorker(c, i)
		a.run(c, workerReplaced{i})
	} else if i := index(a.flushers, child); i >= 0 {
		a.event(telemetry.EventFlusherReplaced, i)
		a.spawnFlusher(c, i)
		a.run(c, flusherReplaced{i})
	}
}

// begin begins a phase's span, in the trace of the request that begins it.
func (a *storageActor) begin(c actor.Context, accounts bool) {
	a.run(c, sampled{processUsage()})
	if a.hold.phase != nil && a.accounts == accounts {
		return
	}
	a.endPhase()
	name := "storage"
	if accounts {
		name = "accounts"
	}
	a.accounts = accounts
	a.phase, a.hold.phase = a.cfg.Tracer.Start(actors.Ctx(c), telemetry.SpanStoragePhase,
		trace.WithAttributes(attribute.String(telemetry.AttrPhase, name)))
}

// event notes on the phase's span what happened to a child.
func (a *storageActor) event(name string, child int) {
	if a.hold.phase != nil {
		a.hold.phase.AddEvent(name, trace.WithAttributes(attribute.Int(telemetry.AttrWorker, child)))
	}
}

func (a *storageActor) endPhase() {
	if a.hold.phase != nil {
		a.hold.phase.End()
		a.hold.phase = nil
	}
}

// run lets the core step and does what it asks for: jobs last, because who is woken last runs first
// where all cores are busy, and a worker shall not wait for a flush to use up its time slice.
func (a *storageActor) run(c actor.Context, m any) {
	effects := a.core.step(a.cfg.System.Clock().Now(), m)
	for _, jobs := range []bool{false, true} {
		for _, e := range effects {
			if _, isJob := e.(handOut); isJob == jobs {
				a.do(c, e)
			}
		}
	}
	if a.core.ending() {
		a.core.step(a.cfg.System.Clock().Now(), sampled{processUsage()})
		a.showReports()
	}
}

// showReports hands the reports as they stand to the monitor.
func (a *storageActor) showReports() {
	if !a.cfg.Monitor.Measuring() {
		return
	}
	for _, e := range a.core.step(a.cfg.System.Clock().Now(), &messages.FindReport{}) {
		if found, ok := e.(answer); ok {
			if m, ok := found.msg.(*messages.ReportFound); ok {
				a.cfg.Monitor.StorageReports(&m.Storage, &m.Accounts)
			}
		}
	}
}

func (a *storageActor) do(c actor.Context, effect any) {
	switch e := effect.(type) {
	case handOut:
		switch m := e.msg.(type) {
		case *messages.BuildTries:
			m.ReplyTo = c.Self()
		case *messages.SurveyTrie:
			m.ReplyTo = c.Self()
		case *messages.JoinTrie:
			m.ReplyTo = c.Self()
		case *messages.WriteRows:
			m.ReplyTo = c.Self()
		}
		a.cfg.System.Send(a.phase, a.workers[e.worker], e.msg)
	case flush:
		e.msg.ReplyTo = c.Self()
		ctx := actors.Ctx(c) // of the job that ended the segment, mostly
		if !trace.SpanContextFromContext(ctx).IsValid() {
			ctx = a.phase
		}
		a.cfg.System.Send(ctx, a.flushers[e.flusher], e.msg)
	case confirm:
		to := a.workers
		if e.flusher {
			to = a.flushers
		}
		c.Send(to[e.child], &messages.Confirm{Token: e.token, ReplyTo: c.Self()})
	case answer:
		if m, ok := e.msg.(*messages.StorageBuilt); ok {
			a.hold.instruments.answered(m.Results)
		}
		c.Send(e.to, e.msg)
	}
}
