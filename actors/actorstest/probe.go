package actorstest

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
)

// Probe is a process that collects what is sent to its PID. It is not an actor: it has no parent,
// it cannot fail, and it never blocks who sends to it. Its methods are safe for concurrent use.
type Probe struct {
	PID *actor.PID

	sys    *actors.System
	queue  queue
	notify chan struct{} // holds one token while the queue may have something
}

var _ actor.Process = (*Probe)(nil)

// NewProbe makes a probe that is removed at the end of the test.
func NewProbe(t testing.TB, s *actors.System) *Probe {
	t.Helper()
	p := &Probe{sys: s, notify: make(chan struct{}, 1)}
	registry := s.ActorSystem().ProcessRegistry
	var ok bool
	p.PID, ok = registry.Add(p, "$probe"+registry.NextId())
	if !ok {
		t.Fatalf("probe %s exists", p.PID.Id)
	}
	t.Cleanup(func() { registry.Remove(p.PID) })
	return p
}

// SendUserMessage collects a message, without its envelope.
func (p *Probe) SendUserMessage(_ *actor.PID, msg any) {
	p.collect(actor.UnwrapEnvelopeMessage(msg))
}

// SendSystemMessage collects a system message: *actor.Terminated after Watch.
func (p *Probe) SendSystemMessage(_ *actor.PID, msg any) { p.collect(msg) }

// Stop does nothing: a probe ends with its test.
func (p *Probe) Stop(*actor.PID) {}

func (p *Probe) collect(msg any) {
	p.queue.push(msg)
	select {
	case p.notify <- struct{}{}:
	default:
	}
}

// Watch has *actor.Terminated collected when who stops; at once where it does not exist.
func (p *Probe) Watch(who *actor.PID) {
	process, ok := p.sys.ActorSystem().ProcessRegistry.Get(who)
	if !ok {
		p.collect(&actor.Terminated{Who: who, Why: actor.TerminatedReason_NotFound})
		return
	}
	process.SendSystemMessage(who, &actor.Watch{Watcher: p.PID})
}

// next waits for a message.
func (p *Probe) next() (any, bool) {
	deadline := time.After(patience)
	for {
		if msg, ok := p.queue.pop(); ok {
			return msg, true
		}
		select {
		case <-p.notify:
		case <-deadline:
			return nil, false
		}
	}
}

// Expect waits for the next message, which has to be a T, and returns it.
func Expect[T any](t testing.TB, p *Probe) T {
	t.Helper()
	msg, ok := p.next()
	if !ok {
		t.Fatalf("no message came, want %T", *new(T))
	}
	want, ok := msg.(T)
	if !ok {
		t.Fatalf("got %T %v, want %T", msg, msg, *new(T))
	}
	return want
}

// ExpectNone fails the test where something has been collected. It does not wait: call it when it
// is proven that whoever could have sent something has come past that point.
func ExpectNone(t testing.TB, p *Probe) {
	t.Helper()
	if msg, ok := p.queue.pop(); ok {
		t.Fatalf("got %T %v, want nothing", msg, msg)
	}
}
