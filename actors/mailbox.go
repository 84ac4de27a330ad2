package actors

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox is a queue of many senders and one reader, without locks: a sender that loses the
// processor in the midst of posting holds nobody up. System messages come first, then urgent user
// messages, then the others.
//
// Senders push onto a stack, whose head also says whether a reader is at work:
//
//	nil        a reader is at work (or the mailbox has not started), and has seen everything
//	a message  a reader is at work, or has been scheduled, and will see it
//	asleep     no reader is at work: whoever pushes now schedules one
//	dozing     no reader is at work, as the mailbox is suspended: whoever pushes a system message
//	           schedules one, a user message waits (and dozes too, so that the next pusher knows)
//
// The reader takes the whole stack and sorts it into queues of its own. It goes to sleep by
// replacing nil with asleep or dozing: that fails where something has been pushed since it last
// looked. So a message is either seen by the reader that is at work, or its sender sees that there
// is none. No message falls between, and nobody spins.
type mailbox struct {
	dispatcher actor.Dispatcher
	invoker    actor.MessageInvoker
	run        func() // process, bound once

	head     atomic.Pointer[letter]
	users    atomic.Int64 // user messages that have not been handed over
	usersMax atomic.Int64
	probe    atomic.Bool // the next user message is timed; see latency.go

	// The reader's own. What one reader wrote the next one sees: they follow each other through
	// head.
	suspended bool // only system messages are handed over
	system    fifo
	urgent    fifo
	user      fifo
	timing    timing
}

// letter is a message on the stack. Once it is pushed only the reader changes it, and of it next.
type letter struct {
	next   *letter // pushed before
	msg    any
	kind   kind
	dozing bool  // no reader is at work; see mailbox
	posted int64 // Unix nanoseconds; 0: not timed
}

type kind uint8

const (
	kindSystem kind = iota
	kindUrgent
	kindUser
)

// The heads of a stack that is empty and has no reader at work. They are never written.
var (
	asleep = &letter{}
	dozing = &letter{dozing: true}
)

var _ actor.Mailbox = (*mailbox)(nil)

func newMailbox() *mailbox {
	m := &mailbox{}
	m.run = m.process
	return m
}

// PostUserMessage queues a message; never nil, see gate. A batch is one message like any other.
func (m *mailbox) PostUserMessage(msg any) {
	k := kindUser
	if _, ok := actor.UnwrapEnvelopeMessage(msg).(Urgent); ok {
		k = kindUrgent
	}
	n := m.users.Add(1)
	for top := m.usersMax.Load(); n > top; top = m.usersMax.Load() {
		if m.usersMax.CompareAndSwap(top, n) {
			break
		}
	}
	m.push(msg, k)
}

// PostSystemMessage queues a message before all user messages.
func (m *mailbox) PostSystemMessage(msg any) { m.push(msg, kindSystem) }

func (m *mailbox) push(msg any, k kind) {
	l := &letter{msg: msg, kind: k}
	if k == kindUser && m.probe.Load() && m.probe.CompareAndSwap(true, false) {
		l.posted = time.Now().UnixNano()
	}
	for {
		head := m.head.Load()
		l.next, l.dozing = head, false
		wake := false
		switch {
		case head == nil:
		case head == asleep:
			l.next, wake = nil, true
		case head.dozing:
			if head == dozing {
				l.next = nil
			}
			l.dozing = k != kindSystem
			wake = !l.dozing
		}
		if m.head.CompareAndSwap(head, l) {
			if wake {
				m.dispatcher.Schedule(m.run)
			}
			return
		}
	}
}

// RegisterHandlers connects the mailbox to its actor.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.invoker, m.dispatcher = invoker, dispatcher
}

// Start schedules the first reader. What was posted before has waited for it.
func (m *mailbox) Start() { m.dispatcher.Schedule(m.run) }

// UserMessageCount is the number of user messages that have not been handed over.
func (m *mailbox) UserMessageCount() int { return int(m.users.Load()) }

// MaxDepth is the most user messages that ever waited.
func (m *mailbox) MaxDepth() int { return int(m.usersMax.Load()) }

func (m *mailbox) process() {
	for m.drain() {
	}
}

// drain hands messages over until none is due. It is true where a panic cut it off: the failure is
// escalated then, and the mailbox has to go on.
func (m *mailbox) drain() (again bool) {
	var msg any
	done := false
	defer func() {
		if done {
			return
		}
		if reason := recover(); reason != nil {
			m.invoker.EscalateFailure(reason, msg)
			again = true
			return
		}
		// runtime.Goexit: this goroutine ends, the mailbox must not.
		m.invoker.EscalateFailure(errGoexit, msg)
		m.dispatcher.Schedule(m.run)
	}()
	limit := max(m.dispatcher.Throughput(), 1)
	for left := limit; ; left-- {
		if left == 0 {
			runtime.Gosched()
			left = limit
		}
		var user, ok bool
		if msg, user, ok = m.next(); !ok {
			done = true // from here on the next reader may be at work
			return false
		}
		m.hand(msg, user)
	}
}

func (m *mailbox) hand(msg any, user bool) {
	if user {
		m.invoker.InvokeUserMessage(msg)
		return
	}
	switch msg.(type) {
	case *actor.SuspendMailbox:
		m.suspended = true
	case *actor.ResumeMailbox:
		m.suspended = false
	default:
		m.invoker.InvokeSystemMessage(msg)
	}
}

// next takes the message that is due; false: there is none, and the reader has gone to sleep.
func (m *mailbox) next() (msg any, user, ok bool) {
	for {
		if m.head.Load() != nil {
			m.collect()
		}
		as := asleep
		switch {
		case m.system.len() > 0:
			return m.system.pop(), false, true
		case m.suspended:
			as = dozing
		case m.urgent.len() > 0:
			m.users.Add(-1)
			return m.urgent.pop(), true, true
		case m.user.len() > 0:
			m.users.Add(-1)
			m.timed()
			return m.user.pop(), true, true
		}
		if m.sleep(as) {
			return nil, false, false
		}
	}
}

// sleep ends the reader's turn; false: something has been pushed since it last looked.
func (m *mailbox) sleep(as *letter) bool { return m.head.CompareAndSwap(nil, as) }

// collect sorts what was pushed into the reader's queues, the first pushed first.
func (m *mailbox) collect() {
	var first *letter
	for l := m.head.Swap(nil); l != nil; {
		l.next, first, l = first, l, l.next
	}
	for l := first; l != nil; l = l.next {
		switch l.kind {
		case kindUser:
			m.user.push(l.msg)
			m.timing.collected(l.posted, m.user.len())
		case kindUrgent:
			m.urgent.push(l.msg)
		default:
			m.collectSystem(l.msg)
		}
	}
}

// collectSystem puts Started before all: who knows the name may have sent something before it.
func (m *mailbox) collectSystem(msg any) {
	if _, first := msg.(*actor.Started); first {
		m.system.pushFront(msg)
		return
	}
	m.system.push(msg)
}
