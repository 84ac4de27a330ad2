package actors

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"
	"go.opentelemetry.io/otel/trace"
)

// System is a tree of actors with what they share: one for a process. Its methods are safe for
// concurrent use; which of them an actor may call is said at each.
type System struct {
	options    Options
	log        *slog.Logger
	system     *actor.ActorSystem
	dispatcher actor.Dispatcher
	pool       *pool // nil where the dispatcher is not the own one
	guardian   *guardian

	deadLetters atomic.Uint64
	dropped     atomic.Uint64
	refusedNils atomic.Uint64
	askSeq      atomic.Uint64
	nameSeq     atomic.Uint64
	asksOpen    atomic.Int64
	fatal       atomic.Bool
	closed      atomic.Bool

	mu      sync.RWMutex
	cells   map[string]*cell // by path
	top     []*cell          // in order of start
	closing chan struct{}    // made by the first Shutdown, closed when it is done
	err     error            // what Shutdown returned; valid once closing is closed
}

// NewSystem makes a system without actors. Only Shutdown ends it.
func NewSystem(o Options) (*System, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	s := &System{
		options:    o,
		log:        o.Logger.With(slog.String("system", o.Name)),
		dispatcher: o.Dispatcher,
		cells:      make(map[string]*cell),
	}
	if s.dispatcher == nil {
		s.pool = newPool(o.MaxIdle)
		s.dispatcher = s.pool
	}
	if s.system = o.Base; s.system == nil {
		s.system = actor.NewActorSystem(
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet(s.log) }))
	}
	// The stock stream logs dead letters through a throttle that starts a goroutine of a second.
	s.system.EventStream = eventstream.NewEventStream()
	s.system.EventStream.Subscribe(s.onEvent)
	s.guardian = newGuardian(s)
	return s, nil
}

// ActorSystem is proto.actor's system below, for test doubles. Spawning on it goes past the kit.
func (s *System) ActorSystem() *actor.ActorSystem { return s.system }

// Tracer is Options.Tracer.
func (s *System) Tracer() trace.Tracer { return s.options.Tracer }

// Clock is Options.Clock.
func (s *System) Clock() Clock { return s.options.Clock }

// Logger is Options.Logger with the system's name.
func (s *System) Logger() *slog.Logger { return s.log }

// Send sends a message from outside actors, or with another trace than the current message's. The
// trace of ctx goes with it, its deadline and cancellation do not. A message to an actor that does
// not exist, or after Shutdown, is a dead letter; a nil message is refused: both are counted.
func (s *System) Send(ctx context.Context, to *actor.PID, msg any) { s.post(ctx, to, msg, nil) }

func (s *System) post(ctx context.Context, to *actor.PID, msg any, sender *actor.PID) {
	if isNil(msg) {
		s.refuseNil(to.GetId())
		return
	}
	if to == nil || s.closed.Load() {
		s.countDeadLetter(to, msg)
		return
	}
	if env := wrap(ctx, msg, sender); env != nil {
		msg = env
	}
	s.system.Root.Send(to, msg)
}

// sendSystem sends a system message, past the queue.
func (s *System) sendSystem(to *actor.PID, msg any) {
	if process, ok := s.system.ProcessRegistry.Get(to); ok {
		process.SendSystemMessage(to, msg)
	}
}

// sender is the middleware behind Context.Send and its kin: it refuses nil, and has the current
// message's trace go along.
func (s *System) sender(next actor.SenderFunc) actor.SenderFunc {
	return func(c actor.SenderContext, to *actor.PID, env *actor.MessageEnvelope) {
		if isNil(env) {
			s.refuseNil(to.GetId())
			return
		}
		if to == nil || s.closed.Load() {
			s.countDeadLetter(to, env)
			return
		}
		inherit(c, env)
		next(c, to, env)
	}
}

func (s *System) refuseNil(to string) {
	if n := s.refusedNils.Add(1); isPowerOfTwo(n) {
		s.log.Error("nil message refused", slog.String("to", to), slog.Uint64("count", n))
	}
}

// lookup is the actor of a path, alive or not yet buried; nil where there is none.
func (s *System) lookup(pid *actor.PID) *cell {
	if pid == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cells[pid.Id]
}

// bury frees the name of a child of parent that has stopped, and returns it; nil where pid is none.
// The parent does so, no earlier than when proto.actor has forgotten the child: a successor of the
// same name that was born before would be forgotten in its place.
func (s *System) bury(pid *actor.PID, parent *cell) *cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[pid.Id]
	if c == nil || c.parent != parent || c.state.Load() != stateStopped {
		return nil
	}
	delete(s.cells, pid.Id)
	if i := slices.Index(s.top, c); i >= 0 {
		s.top = slices.Delete(s.top, i, i+1)
	}
	return c
}
