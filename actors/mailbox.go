package actors

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// maxSpare bounds the memory that a mailbox keeps after a burst: 1,024 slots of 16 bytes.
const maxSpare = 1024

// mailbox is a queue of many senders and one reader. System messages come first, then urgent user
// messages, then the others.
//
// The reader takes the user messages in batches, so that it takes the lock once a batch and not
// once a message. Whether the mailbox is scheduled changes under the same lock that guards the
// queues: a message is either seen by the reader before it goes idle, or its sender sees that the
// reader is idle and schedules it. No message falls between, and nobody spins.
type mailbox struct {
	dispatcher actor.Dispatcher
	invoker    actor.MessageInvoker
	run        func() // process, bound once

	ahead atomic.Int64 // system and urgent messages that wait
	users atomic.Int64 // user messages that have not been handed over

	mu        sync.Mutex
	system    fifo
	urgent    fifo
	user      []any
	maxUsers  int64
	started   bool
	scheduled bool // a reader runs, or will
	suspended bool // written by the reader, under mu; only system messages are handed over

	// The reader's own. Readers follow each other through mu.
	batch []any
	at    int
}

var _ actor.Mailbox = (*mailbox)(nil)

func newMailbox() *mailbox {
	m := &mailbox{}
	m.run = m.process
	return m
}

// PostUserMessage queues a message; never nil, see gate. A batch is one message like any other.
func (m *mailbox) PostUserMessage(msg any) {
	_, urgent := actor.UnwrapEnvelopeMessage(msg).(Urgent)
	m.mu.Lock()
	if n := m.users.Add(1); n > m.maxUsers {
		m.maxUsers = n
	}
	if urgent {
		m.urgent.push(msg)
		m.ahead.Add(1)
	} else {
		m.user = append(m.user, msg)
	}
	m.wake(!m.suspended)
}

// PostSystemMessage queues a message before all user messages.
func (m *mailbox) PostSystemMessage(msg any) {
	_, first := msg.(*actor.Started)
	m.mu.Lock()
	if first && !m.started {
		// Who knows the name can have sent something already. Started is still the first.
		m.system.pushFront(msg)
	} else {
		m.system.push(msg)
	}
	m.ahead.Add(1)
	m.wake(true)
}

// wake schedules the reader where it is idle and there is something for it. It releases mu: a
// dispatcher may run the reader on the caller's goroutine.
func (m *mailbox) wake(due bool) {
	schedule := due && m.started && !m.scheduled
	if schedule {
		m.scheduled = true
	}
	m.mu.Unlock()
	if schedule {
		m.dispatcher.Schedule(m.run)
	}
}

// RegisterHandlers connects the mailbox to its actor.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.invoker, m.dispatcher = invoker, dispatcher
}

// Start lets the reader run. Messages posted before have waited.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.started = true
	m.wake(m.system.len()+m.urgent.len()+len(m.user) > 0)
}

// UserMessageCount is the number of user messages that have not been handed over.
func (m *mailbox) UserMessageCount() int { return int(m.users.Load()) }

// MaxDepth is the most user messages that ever waited.
func (m *mailbox) MaxDepth() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int(m.maxUsers)
}

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
			done = true
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
		m.suspend(true)
	case *actor.ResumeMailbox:
		m.suspend(false)
	default:
		m.invoker.InvokeSystemMessage(msg)
	}
}

func (m *mailbox) suspend(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended = on
}

// next takes the message that is due, or else leaves the mailbox idle.
func (m *mailbox) next() (msg any, user, ok bool) {
	if m.at < len(m.batch) && m.ahead.Load() == 0 && !m.suspended {
		return m.fromBatch(), true, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.system.len() > 0 {
		m.ahead.Add(-1)
		return m.system.pop(), false, true
	}
	if m.suspended {
		m.scheduled = false
		return nil, false, false
	}
	if m.urgent.len() > 0 {
		m.ahead.Add(-1)
		m.users.Add(-1)
		return m.urgent.pop(), true, true
	}
	if m.at == len(m.batch) {
		m.refill()
	}
	if len(m.batch) == 0 {
		m.scheduled = false
		return nil, false, false
	}
	return m.fromBatch(), true, true
}

// refill takes all that waits as the next batch and gives the last one's memory back to the senders.
func (m *mailbox) refill() {
	spare := m.batch[:0]
	if cap(spare) > maxSpare {
		spare = nil
	}
	m.batch, m.user = m.user, spare
	m.at = 0
}

func (m *mailbox) fromBatch() any {
	msg := m.batch[m.at]
	m.batch[m.at] = nil // the mailbox may be idle for long
	m.at++
	m.users.Add(-1)
	return msg
}

// fifo is a queue of messages that are rare.
type fifo struct {
	items []any
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

func (q *fifo) push(m any) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, m)
}

func (q *fifo) pushFront(m any) {
	q.items = append([]any{m}, q.items[q.head:]...)
	q.head = 0
}

func (q *fifo) pop() any {
	m := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return m
}
