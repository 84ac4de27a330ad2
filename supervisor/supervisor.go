package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// ErrGaveUp says that an actor failed more often than its restarts allow.
var ErrGaveUp = errors.New("the supervisor gave up")

// stopTimeout bounds how long a tree that did not start is waited for. Its actors are idle.
const stopTimeout = 10 * time.Second

// Config is what the tree is made of.
type Config struct {
	// Actors configures the actor system. Its OnFatal is the supervisor's own.
	Actors actors.Options
	Store  *state.Store
	Tracer trace.Tracer
	Logger *slog.Logger
	// BalApply configures the BalApplyActor.
	BalApply balactor.Options
	// OnFatal is called at most once, from a goroutine of the tree, when an actor cannot be kept
	// running. The tree is still to be stopped, but not from within the call. Default: nothing.
	OnFatal func(error)
}

// Tree is a running actor tree.
type Tree struct {
	System   *actors.System
	BalApply *actor.PID
}

// Start starts the tree. It returns when every actor is there.
func Start(ctx context.Context, cfg Config) (*Tree, error) {
	var once sync.Once
	giveUp := func(err error) {
		once.Do(func() {
			cfg.Logger.Error("giving up", "err", err)
			if cfg.OnFatal != nil {
				cfg.OnFatal(err)
			}
		})
	}
	o := cfg.Actors
	o.Logger, o.Tracer, o.OnFatal = cfg.Logger, cfg.Tracer, giveUp
	sys, err := actors.NewSystem(o)
	if err != nil {
		return nil, err
	}
	t, err := start(ctx, sys, &cfg, giveUp)
	if err != nil {
		// Not ctx itself, whose end may be what went wrong.
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, sys.Shutdown(stopping))
	}
	return t, nil
}

func start(ctx context.Context, sys *actors.System, cfg *Config, giveUp func(error)) (
	*Tree, error) {
	spec, err := balactor.Spec(balactor.Config{
		System: sys, Store: cfg.Store, Tracer: cfg.Tracer, Logger: cfg.Logger,
		Options: cfg.BalApply,
	})
	if err != nil {
		return nil, err
	}
	pid, err := sys.Spawn(actors.Spec{
		Name: "supervisor",
		New:  func() actor.Actor { return &root{sys: sys, balApply: spec, giveUp: giveUp} },
	})
	if err != nil {
		return nil, err
	}
	m, err := sys.Ask(ctx, pid, func(to *actor.PID) any { return &messages.FindActors{ReplyTo: to} })
	if err != nil {
		return nil, fmt.Errorf("starting the actors: %w", err)
	}
	found, ok := m.(*messages.ActorsFound)
	if !ok {
		return nil, fmt.Errorf("starting the actors: the supervisor answered with %T", m)
	}
	return &Tree{System: sys, BalApply: found.BalApply}, nil
}

// Stop stops the tree, the last started first. ctx bounds how long it waits.
func (t *Tree) Stop(ctx context.Context) error { return t.System.Shutdown(ctx) }

// root is the supervisor actor.
type root struct {
	sys      *actors.System
	balApply actors.Spec
	giveUp   func(error)
	pid      *actor.PID // of the BalApplyActor
}

// Receive implements actor.Actor.
func (r *root) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.start(c)
	case *messages.FindActors:
		c.Send(m.ReplyTo, &messages.ActorsFound{BalApply: r.pid})
	case actors.ChildFailed:
		r.giveUp(fmt.Errorf("%w: %s: %v", ErrGaveUp, m.Child.Id, m.Reason))
	}
}

func (r *root) start(c actor.Context) {
	pid, err := r.sys.SpawnChild(c, r.balApply)
	if err != nil {
		panic(fmt.Errorf("starting %s: %w", r.balApply.Name, err))
	}
	r.pid = pid
}
