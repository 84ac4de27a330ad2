package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Timers are an incarnation's timers, by key. A timer that falls due becomes a TimerFired in the
// actor's own queue, which the actor shows to Accept before it acts on it:
//
//	case actors.TimerFired:
//		if msg, ok := a.timers.Accept(m); ok { ... }
//
// A message of a timer that was stopped, started again or left behind by an earlier incarnation may
// be in the queue already; Accept tells. All methods are called by the actor alone, within Receive.
type Timers struct {
	sys    *System
	self   *actor.PID
	cell   *cell // nil: self is no actor of the kit's
	gen    uint64
	active map[any]timer
	closed bool
}

type timer struct {
	gen  uint64
	stop func() bool
}

// TimerFired is the message of a timer that fell due.
type TimerFired struct {
	owner *Timers
	gen   uint64
	key   any
	msg   any
}

// NewTimers makes the timers of the incarnation that calls it, at *actor.Started. They stop with
// it.
func NewTimers(s *System, self *actor.PID) *Timers {
	t := &Timers{sys: s, self: self, cell: s.lookup(self), active: make(map[any]timer)}
	if t.cell != nil {
		t.cell.timers = append(t.cell.timers, t)
	}
	return t
}

// Start has msg delivered after d, in the trace of the current message. It takes the place of the
// timer of the same key. The key is comparable.
func (t *Timers) Start(key any, d time.Duration, msg any) {
	if t.closed {
		return // an earlier incarnation's
	}
	t.Stop(key)
	t.gen++
	fired := TimerFired{owner: t, gen: t.gen, key: key, msg: msg}
	ctx := t.context()
	t.active[key] = timer{
		gen:  t.gen,
		stop: t.sys.options.Clock.AfterFunc(d, func() { t.sys.Send(ctx, t.self, fired) }),
	}
}

// Stop stops the timer of a key and tells whether it was running: started, and not yet accepted.
func (t *Timers) Stop(key any) bool {
	old, ok := t.active[key]
	if ok {
		old.stop()
		delete(t.active, key)
	}
	return ok
}

// Accept gives the message that the timer was started with, once; false: the timer has been stopped
// or started again since, or is an earlier incarnation's.
func (t *Timers) Accept(m TimerFired) (msg any, ok bool) {
	if m.owner != t || t.active[m.key].gen != m.gen || t.closed {
		return nil, false
	}
	delete(t.active, m.key)
	return m.msg, true
}

func (t *Timers) close() {
	for key := range t.active {
		t.Stop(key)
	}
	t.closed = true
}
