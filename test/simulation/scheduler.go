package simulation

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
)

// scheduler delivers one message at a time. Who gets the next one is drawn, among the actors that
// have one.
type scheduler struct {
	run      *run
	rng      *rand.Rand
	runnable []*mailbox // in the order in which they became so
	steps    int
	inside   *mailbox // the step under way
	inline   bool     // who posts from outside has everything delivered before post returns
	dead     bool     // an ended process is taken down: in order, without faults and trace
	deepest  int      // messages that waited in one mailbox
}

var _ actor.Dispatcher = (*scheduler)(nil)

// Schedule implements actor.Dispatcher: it runs f at once.
func (s *scheduler) Schedule(f func()) { f() }

// Throughput implements actor.Dispatcher.
func (s *scheduler) Throughput() int { return 1 }

func (s *scheduler) newMailbox() actor.Mailbox { return &mailbox{s: s} }

// step delivers a message; false: there is none.
func (s *scheduler) step() bool {
	n := len(s.runnable)
	i := 0
	if !s.dead {
		behind := min(len(s.run.node.behind), 1)
		if n+behind == 0 {
			return false
		}
		i = s.rng.IntN(n + behind)
		s.steps++
		s.run.clock.now = s.run.clock.now.Add(time.Duration(1+s.steps%7) * time.Microsecond)
		if i == n {
			s.checkpoint(n + 1)
			return true
		}
	}
	if n == 0 {
		return false
	}
	m := s.runnable[i]
	s.runnable = slices.Delete(s.runnable, i, i+1)
	m.queued = false
	s.inside = m
	m.deliver(i, n)
	s.inside = nil
	m.wake()
	return true
}

// checkpoint goes on with what the store does behind the blocks.
func (s *scheduler) checkpoint(of int) {
	node := s.run.node
	do := node.behind[0]
	node.behind = node.behind[1:]
	s.run.trace.step(s.steps, s.run.clock.now, "store", "checkpoint", of-1, of)
	do()
}

// settle delivers all there is.
func (s *scheduler) settle() {
	for s.inside == nil && s.step() {
	}
}

// mailbox is an actor's queue. It keeps the order of the kit's own: system messages, urgent ones,
// all others.
type mailbox struct {
	s                  *scheduler
	path               string
	system, urgent     []any
	user               []any
	suspended, started bool
	queued             bool
	invoker            actor.MessageInvoker
}

var _ actor.Mailbox = (*mailbox)(nil)

// Named takes the actor's path; the kit calls it.
func (m *mailbox) Named(path string) { m.path = path }

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(msg any) {
	if _, ok := actor.UnwrapEnvelopeMessage(msg).(actors.Urgent); ok {
		m.urgent = append(m.urgent, msg)
	} else {
		m.user = append(m.user, msg)
	}
	m.s.deepest = max(m.s.deepest, len(m.user)+len(m.urgent))
	m.wake()
}

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(msg any) {
	if _, first := msg.(*actor.Started); first {
		m.system = slices.Insert(m.system, 0, msg)
	} else {
		m.system = append(m.system, msg)
	}
	m.wake()
}

// RegisterHandlers implements actor.Mailbox.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

// Start implements actor.Mailbox.
func (m *mailbox) Start() {
	m.started = true
	m.wake()
}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int { return len(m.user) + len(m.urgent) }

func (m *mailbox) ready() bool {
	return m.started && (len(m.system) > 0 || !m.suspended && m.UserMessageCount() > 0)
}

func (m *mailbox) wake() {
	if !m.queued && m.s.inside != m && m.ready() {
		m.queued = true
		m.s.runnable = append(m.s.runnable, m)
	}
	if m.s.inline {
		m.s.settle()
	}
}

// deliver hands over the message that is due. A panic goes to the supervisor, as the kit's own
// mailbox has it.
func (m *mailbox) deliver(k, of int) {
	if len(m.system) > 0 {
		msg := m.system[0]
		m.system = m.system[1:]
		m.note(msg, k, of)
		switch msg.(type) {
		case *actor.SuspendMailbox:
			m.suspended = true
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			m.guard(msg, func() {
				m.s.run.faults.before(m.path, msg)
				m.invoker.InvokeSystemMessage(msg)
			})
		}
		return
	}
	if m.suspended || m.UserMessageCount() == 0 {
		return
	}
	from := &m.user
	if len(m.urgent) > 0 {
		from = &m.urgent
	}
	msg := (*from)[0]
	*from = (*from)[1:]
	m.note(msg, k, of)
	if m.s.run.faults.drops(m.path, msg) {
		return
	}
	m.guard(msg, func() {
		m.s.run.faults.before(m.path, msg)
		m.invoker.InvokeUserMessage(msg)
		m.s.run.faults.after(m.path, msg)
	})
}

func (m *mailbox) guard(msg any, f func()) {
	defer func() {
		m.s.run.faults.over()
		if reason := recover(); reason != nil {
			m.s.run.panicked(m.path, reason)
			m.invoker.EscalateFailure(reason, msg)
		}
	}()
	f()
}

func (m *mailbox) note(msg any, k, of int) {
	if m.s.dead {
		return
	}
	s := m.s
	s.run.trace.step(s.steps, s.run.clock.now, m.path, describe(msg), k, of)
}

// describe names a message, with what tells it from others of its kind.
func describe(msg any) string {
	msg = actor.UnwrapEnvelopeMessage(msg)
	name := reflect.TypeOf(msg).String()
	name = name[strings.LastIndexByte(name, '.')+1:]
	v := reflect.Indirect(reflect.ValueOf(msg))
	if v.Kind() != reflect.Struct {
		return name
	}
	for _, field := range []string{"Request", "Job", "Segment", "Token"} {
		f := v.FieldByName(field)
		if !f.IsValid() {
			continue
		}
		switch f.Kind() {
		case reflect.Uint64:
			name += fmt.Sprintf(" %s %d", field, f.Uint())
		case reflect.Int:
			name += fmt.Sprintf(" %s %d", field, f.Int())
		case reflect.Struct:
			name += fmt.Sprintf(" %s %v", field, f.Interface())
		}
	}
	return name
}
