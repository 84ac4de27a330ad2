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
	"github.com/balsa-sync/balsa/storageactor"
	"github.com/balsa-sync/balsa/telemetry"
)

// ErrGaveUp says that an actor failed more often than its restarts allow.
var ErrGaveUp = errors.New("the supervisor gave up")

// stopTimeout bounds how long a tree that did not start is waited for. Its actors are idle.
const stopTimeout = 10 * time.Second

// Config is what the tree is made of.
type Config struct {
	// Actors configures the actor system. Its OnFatal is the supervisor's own.
	Actors actors.Options
	// Store is what the BalApplyActor works on. Nil: there is none.
	Store  *state.Store
	Tracer trace.Tracer
	Logger *slog.Logger
	// BalApply configures the BalApplyActor.
	BalApply balactor.Options
	// Shadow takes the BalApplyActor's validated blocks; if it is enabled, there is an actor behind
	// it. Nil: there is none.
	Shadow *balactor.Shadow
	// Subscriptions take the change sets of blocks. Nil: nobody does.
	Subscriptions *balactor.Subscriptions
	// Build is what the StorageActor builds from and into. Nil: there is none.
	Build storageactor.Store
	// Storage configures the StorageActor.
	Storage storageactor.Options
	// Monitor shows the tree from outside. Nil: nothing is shown.
	Monitor *telemetry.Monitor
	// OnFatal is called at most once, from a goroutine of the tree, when an actor cannot be kept
	// running. The tree is still to be stopped, but not from within the call. Default: nothing.
	OnFatal func(error)
}

// Tree is a running actor tree. What it was started without is nil.
type Tree struct {
	System   *actors.System
	BalApply *actor.PID
	Storage  *actor.PID
	Shadow   *actor.PID
	hide     func() // from the monitor
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
	if cfg.Monitor != nil {
		o.Waited = cfg.Monitor.Waited
	}
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
	t.hide = cfg.Monitor.Actors(sys)
	return t, nil
}

func start(ctx context.Context, sys *actors.System, cfg *Config, giveUp func(error)) (
	*Tree, error) {
	r := &root{sys: sys, log: cfg.Logger, giveUp: giveUp}
	if err := r.specify(sys, cfg); err != nil {
		return nil, err
	}
	pid, err := sys.Spawn(actors.Spec{
		Name: "supervisor",
		New:  func() actor.Actor { return r },
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
	return &Tree{
		System: sys, BalApply: found.BalApply, Storage: found.Storage, Shadow: found.Shadow,
	}, nil
}

// Stop stops the tree, the last started first. ctx bounds how long it waits.
func (t *Tree) Stop(ctx context.Context) error {
	if t.hide != nil {
		t.hide()
	}
	return t.System.Shutdown(ctx)
}

// specify makes the children's specs, in the order in which they are started.
func (r *root) specify(sys *actors.System, cfg *Config) error {
	if cfg.Build != nil {
		spec, err := storageactor.Spec(storageactor.Config{
			System: sys, Store: cfg.Build, Tracer: cfg.Tracer, Logger: cfg.Logger,
			Options: cfg.Storage, Monitor: cfg.Monitor,
		})
		if err != nil {
			return err
		}
		r.children = append(r.children, child{spec: spec, pid: &r.found.Storage})
	}
	if cfg.Store != nil {
		spec, err := balactor.Spec(balactor.Config{
			System: sys, Store: cfg.Store, Tracer: cfg.Tracer, Logger: cfg.Logger,
			Subscriptions: cfg.Subscriptions,
			Options:       cfg.BalApply, Monitor: cfg.Monitor, Shadow: cfg.Shadow,
		})
		if err != nil {
			return err
		}
		r.children = append(r.children, child{spec: spec, pid: &r.found.BalApply})
	}
	if cfg.Store != nil && cfg.Shadow != nil && cfg.Shadow.Enabled() {
		spec := balactor.ShadowSpec(balactor.ShadowConfig{
			System: sys, Shadow: cfg.Shadow, Tracer: cfg.Tracer, Logger: cfg.Logger,
		})
		r.children = append(r.children, child{
			spec: spec, pid: &r.found.Shadow, lost: cfg.Shadow.Lost,
			started: func(pid *actor.PID) {
				cfg.Shadow.Attach(func(m *messages.CompareRoot) {
					sys.Send(context.Background(), pid, m)
				})
			},
		})
	}
	return nil
}

// root is the supervisor actor. It has no second incarnation: nothing of it can panic but a spawn,
// after which the tree does not start.
type root struct {
	sys      *actors.System
	log      *slog.Logger
	giveUp   func(error)
	children []child
	found    messages.ActorsFound
}

// child is a child to start, and where its PID goes.
type child struct {
	spec actors.Spec
	pid  **actor.PID
	// started is called when the child is there. Nil: nobody wants to know.
	started func(*actor.PID)
	// lost is called where the child cannot be kept running and the tree does without it (I6). Nil:
	// the tree cannot.
	lost func() error
}

// Receive implements actor.Actor.
func (r *root) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.start(c)
	case *messages.FindActors:
		found := r.found
		c.Send(m.ReplyTo, &found)
	case actors.ChildFailed:
		r.failed(m)
	}
}

// failed deals with a child that used up its restarts.
func (r *root) failed(m actors.ChildFailed) {
	for _, ch := range r.children {
		if ch.lost != nil && m.Child.Equal(*ch.pid) {
			err := ch.lost()
			r.log.Error("going on without an actor", "actor", m.Child.Id, "reason", m.Reason,
				"err", err)
			return
		}
	}
	r.giveUp(fmt.Errorf("%w: %s: %v", ErrGaveUp, m.Child.Id, m.Reason))
}

func (r *root) start(c actor.Context) {
	for _, ch := range r.children {
		pid, err := r.sys.SpawnChild(c, ch.spec)
		if err != nil {
			panic(fmt.Errorf("starting %s: %w", ch.spec.Name, err))
		}
		*ch.pid = pid
		if ch.started != nil {
			ch.started(pid)
		}
	}
}
