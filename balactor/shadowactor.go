package balactor

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/telemetry"
)

// ShadowName is the ShadowRootActor's name below its supervisor.
const ShadowName = "shadow-root"

// ShadowConfig is what a ShadowRootActor works with.
type ShadowConfig struct {
	System *actors.System
	Shadow *Shadow
	Tracer trace.Tracer
	Logger *slog.Logger

	// onMessage sees each message before its actor does; for tests, which panic in it.
	onMessage func(any)
}

// ShadowSpec says how the ShadowRootActor is spawned.
func ShadowSpec(cfg ShadowConfig) actors.Spec {
	core := &shadowCore{}
	return actors.Spec{
		Name: ShadowName,
		New: func() actor.Actor {
			// The numbers of mismatches and failures go on, what was in hand and waited is lost.
			core = &shadowCore{mismatches: core.mismatches, failures: core.failures}
			return &shadowActor{cfg: &cfg, core: core}
		},
	}
}

// shadowActor is the ShadowRootActor: it does what its core says.
type shadowActor struct {
	cfg   *ShadowConfig
	core  *shadowCore
	child *actor.PID
}

// Receive implements actor.Actor.
func (a *shadowActor) Receive(c actor.Context) {
	if a.cfg.onMessage != nil {
		a.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		a.spawn(c)
		a.noted(a.cfg.Shadow.begin())
	case *actor.Stopped:
		a.noted(a.cfg.Shadow.Drain())
	case *messages.CompareRoot:
		if a.cfg.Shadow.take(m.Request) {
			a.run(c, m)
		}
	case *messages.BlockReplayed:
		a.run(c, m)
	case actors.ChildRestarted:
		a.run(c, replayLost{m.Reason})
	case actors.ChildFailed:
		a.spawn(c)
		a.run(c, replayLost{m.Reason})
	}
}

// spawn starts the child. One that used up its restarts gets a successor: a panic costs one
// comparison, and there are no more of those than blocks.
func (a *shadowActor) spawn(c actor.Context) {
	pid, err := a.cfg.System.SpawnChild(c, actors.Spec{
		Name: "shadow-replay", Numbered: true,
		New: func() actor.Actor { return newShadowReplay(a.cfg) },
	})
	if err != nil {
		panic(fmt.Errorf("spawning the shadow's replay: %w", err))
	}
	a.child = pid
}

func (a *shadowActor) run(c actor.Context, m any) {
	for _, e := range a.core.step(a.cfg.System.Clock().Now(), m) {
		switch e := e.(type) {
		case replay:
			c.Send(a.child, &messages.ReplayBlock{
				Compare: e.m, Ctx: a.cfg.Shadow.open, ReplyTo: c.Self(),
			})
		case settle:
			a.noted(a.cfg.Shadow.settle(e.m.Request, e.what, e.took))
		case report:
			a.report(e)
		}
	}
}

func (a *shadowActor) noted(err error) {
	if err != nil {
		a.cfg.Logger.Warn("closing a parent's snapshot", "err", err)
	}
}

// report logs what a look at both sides begins with.
func (a *shadowActor) report(e report) {
	log := a.cfg.Logger.With("number", e.m.Header.Number, "hash", e.m.Hash, "nth", e.nth)
	switch {
	case e.what == outcomeFailure:
		log.Error("the shadow could not compute a block's root", "err", e.got.Err)
	case e.got.Refused != nil:
		log.Error("the shadow refuses a block that was applied", "canonical", e.m.Root,
			"err", e.got.Refused)
	case e.got.Differs == nil:
		log.Error("the shadow has another root, and no account differs: the tries do",
			"canonical", e.m.Root, "shadow", e.got.Root)
	default:
		d := e.got.Differs
		log.Error("the shadow has another root", "canonical", e.m.Root, "shadow", e.got.Root,
			"account", d.Address, "account_hash", d.Hash,
			"canonical_account", hexutil.Encode(d.Canonical),
			"shadow_account", hexutil.Encode(d.Shadow))
	}
}

// shadowReplay is the ShadowReplay actor: one block a message, nothing but memory between blocks.
type shadowReplay struct {
	cfg *ShadowConfig
	run replayer
}

func newShadowReplay(cfg *ShadowConfig) *shadowReplay {
	return &shadowReplay{cfg: cfg, run: replayer{fault: cfg.Shadow.opts.Faults.Shadow}}
}

// Receive implements actor.Actor.
func (r *shadowReplay) Receive(c actor.Context) {
	if r.cfg.onMessage != nil {
		r.cfg.onMessage(c.Message())
	}
	if m, ok := c.Message().(*messages.ReplayBlock); ok {
		c.Send(m.ReplyTo, r.replay(c, m))
	}
}

func (r *shadowReplay) replay(c actor.Context, m *messages.ReplayBlock) *messages.BlockReplayed {
	clock := r.cfg.System.Clock()
	start := clock.Now()
	_, span := r.cfg.Tracer.Start(actors.Ctx(c), telemetry.SpanShadow, trace.WithAttributes(
		attribute.Int64(telemetry.AttrBlockNumber, m.Compare.Header.Number.Int64()),
		attribute.String(telemetry.AttrBlockHash, m.Compare.Hash.Hex())))
	defer span.End()
	out := r.run.replay(m.Ctx, m.Compare)
	out.Took = clock.Now().Sub(start)
	if out.Err != nil {
		span.SetStatus(codes.Error, out.Err.Error())
	}
	return out
}
