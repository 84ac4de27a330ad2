package actors

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

const patience = 30 * time.Second

// recorder is an actor below a mailbox. It records on the reader's goroutine, of which there must
// never be two.
type recorder struct {
	inside  atomic.Int32
	user    func(m any)
	system  func(m any)
	failure func(reason, m any)
}

func (r *recorder) enter() func() {
	if r.inside.Add(1) != 1 {
		panic("two readers")
	}
	return func() { r.inside.Add(-1) }
}

func (r *recorder) InvokeUserMessage(m any) {
	defer r.enter()()
	r.user(m)
}

func (r *recorder) InvokeSystemMessage(m any) {
	defer r.enter()()
	if r.system != nil {
		r.system(m)
	}
}

func (r *recorder) EscalateFailure(reason, m any) { r.failure(reason, m) }

// inline is a dispatcher that has the test run what is scheduled.
type inline struct{ due []func() }

func (d *inline) Schedule(fn func()) { d.due = append(d.due, fn) }
func (d *inline) Throughput() int    { return 2 }

// run runs what is due, and what that schedules, and counts the wake-ups.
func (d *inline) run() (wakeups int) {
	for ; len(d.due) > 0; wakeups++ {
		fn := d.due[0]
		d.due = d.due[1:]
		fn()
	}
	return wakeups
}

func newRecorded(t *testing.T) (m *mailbox, d *inline, got *[]any) {
	t.Helper()
	got = new([]any)
	record := func(m any) { *got = append(*got, m) }
	m, d = newMailbox(), &inline{}
	m.RegisterHandlers(&recorder{user: record, system: record}, d)
	m.Start()
	return m, d, got
}

func equal(t *testing.T, got []any, want ...any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// now overtakes.
type now int

func (now) Urgent() {}

func TestSystemMessagesComeFirstThenUrgentOnes(t *testing.T) {
	m, d, got := newRecorded(t)
	m.PostUserMessage(1)
	m.PostUserMessage(now(2))
	m.PostSystemMessage("a")
	m.PostUserMessage(3)
	m.PostSystemMessage("b")
	m.PostUserMessage(&actor.MessageEnvelope{Message: now(4)})
	if n := m.UserMessageCount(); n != 4 {
		t.Fatalf("%d user messages, want 4", n)
	}
	if wakeups := d.run(); wakeups != 1 {
		t.Fatalf("%d wake-ups, want 1", wakeups)
	}
	env := (*got)[3].(*actor.MessageEnvelope)
	equal(t, *got, "a", "b", now(2), env, 1, 3)
	if n := m.UserMessageCount(); n != 0 || m.MaxDepth() != 4 {
		t.Fatalf("%d user messages, at most %d", n, m.MaxDepth())
	}
}

func TestWhatOvertakesIsSeenWithinABatch(t *testing.T) {
	m, d, got := newRecorded(t)
	m.invoker.(*recorder).user = func(x any) {
		*got = append(*got, x)
		if x == 1 {
			m.PostUserMessage(now(10))
			m.PostSystemMessage("a")
		}
	}
	for n := range 4 {
		m.PostUserMessage(n)
	}
	d.run()
	equal(t, *got, 0, 1, "a", now(10), 2, 3)
}

func TestSuspendedMailboxHandsOverSystemMessagesOnlyAndSleeps(t *testing.T) {
	m, d, got := newRecorded(t)
	m.PostUserMessage(1)
	m.PostSystemMessage(&actor.SuspendMailbox{})
	m.PostSystemMessage("a")
	d.run()
	equal(t, *got, "a")
	for n := range 3 {
		m.PostUserMessage(n)
	}
	m.PostUserMessage(now(9))
	if n := d.run(); n != 0 {
		t.Fatalf("%d wake-ups while suspended", n)
	}
	m.PostSystemMessage("b")
	m.PostSystemMessage(&actor.ResumeMailbox{})
	d.run()
	equal(t, *got, "a", "b", now(9), 1, 0, 1, 2)
}

func TestSuspensionWithinABatchKeepsTheRestOfIt(t *testing.T) {
	m, d, got := newRecorded(t)
	m.invoker.(*recorder).user = func(x any) {
		*got = append(*got, x)
		if x == 1 {
			m.PostSystemMessage(&actor.SuspendMailbox{})
		}
	}
	for n := range 4 {
		m.PostUserMessage(n)
	}
	d.run()
	equal(t, *got, 0, 1)
	m.PostUserMessage(4)
	m.PostSystemMessage(&actor.ResumeMailbox{})
	d.run()
	equal(t, *got, 0, 1, 2, 3, 4)
}

func TestWhatIsPostedBeforeTheStartWaitsAndStartedIsFirst(t *testing.T) {
	var got []any
	record := func(m any) { got = append(got, m) }
	m, d := newMailbox(), &inline{}
	m.PostUserMessage(1) // the name is known before the handlers are there
	m.PostSystemMessage("a")
	m.RegisterHandlers(&recorder{user: record, system: record}, d)
	m.PostSystemMessage("b")
	started := &actor.Started{}
	m.PostSystemMessage(started)
	if n := d.run(); n != 0 {
		t.Fatalf("%d wake-ups before the start", n)
	}
	m.Start()
	d.run()
	equal(t, got, started, "a", "b", 1)
}

func TestPanicIsEscalatedWithItsMessageAndTheQueueGoesOn(t *testing.T) {
	m, d, got := newRecorded(t)
	var reasons, lost []any
	r := m.invoker.(*recorder)
	r.user = func(x any) {
		if x == 1 || x == 2 {
			panic(x)
		}
		*got = append(*got, x)
	}
	r.failure = func(reason, x any) { reasons, lost = append(reasons, reason), append(lost, x) }
	for n := range 5 {
		m.PostUserMessage(n)
	}
	if n := d.run(); n != 1 {
		t.Fatalf("%d wake-ups, want 1", n)
	}
	equal(t, *got, 0, 3, 4)
	equal(t, reasons, 1, 2)
	equal(t, lost, 1, 2)
}

func TestGoexitIsAFailureAndTheQueueGoesOn(t *testing.T) {
	got := make(chan any, 10)
	p := newPool(1)
	defer p.Close()
	m := newMailbox()
	m.RegisterHandlers(&recorder{
		user: func(x any) {
			if x == 1 {
				runtime.Goexit()
			}
			got <- x
		},
		failure: func(reason, x any) { got <- reason },
	}, p)
	m.Start()
	for n := range 3 {
		m.PostUserMessage(n)
	}
	equal(t, []any{<-got, <-got, <-got}, 0, errGoexit, 2)
}

func TestMailboxForgetsWhatItHandedOver(t *testing.T) {
	m, d, _ := newRecorded(t)
	for range 3 {
		for n := range 3 * maxSpare {
			m.PostUserMessage(n)
			m.PostSystemMessage(n)
			m.PostUserMessage(now(n))
		}
		d.run()
	}
	for _, items := range [][]any{m.user.items, m.system.items, m.urgent.items} {
		for _, x := range items[:cap(items)] {
			if x != nil {
				t.Fatalf("%v is kept", x)
			}
		}
		if cap(items) > maxSpare {
			t.Fatalf("memory for %d messages is kept", cap(items))
		}
	}
}

func TestFifoKeepsOrderAndBoundsItsMemory(t *testing.T) {
	var q fifo
	next, want := 0, 0
	for range 100_000 { // it is never empty
		q.push(next)
		q.push(next + 1)
		next += 2
		for q.len() > 3 {
			if got := q.pop(); got != want {
				t.Fatalf("got %v, want %d", got, want)
			}
			want++
		}
	}
	if n := cap(q.items); n > 64 {
		t.Fatalf("memory for %d messages", n)
	}
}

func TestReaderDoesNotSleepOverWhatWasPushedSinceItsLastLook(t *testing.T) {
	for _, as := range []*letter{asleep, dozing} {
		m, d, _ := newRecorded(t)
		d.due = nil // the test is the reader
		m.suspended = as == dozing
		m.PostSystemMessage("late")
		if len(d.due) != 0 {
			t.Fatal("the sender woke a second reader")
		}
		if m.sleep(as) {
			t.Fatal("the reader sleeps, the message is lost")
		}
		if msg, _, ok := m.next(); !ok || msg != "late" {
			t.Fatalf("got %v, %v", msg, ok)
		}
		if _, _, ok := m.next(); ok || m.head.Load() != as {
			t.Fatal("the reader does not sleep")
		}
		m.PostSystemMessage("later")
		if len(d.due) != 1 {
			t.Fatalf("%d readers were woken, want 1", len(d.due))
		}
	}
}

// TestNoMessageIsLostBetweenTheLastLookAndIdle has senders wait for each message's acknowledgement,
// so that the mailbox runs empty and goes idle after nearly every one.
func TestNoMessageIsLostBetweenTheLastLookAndIdle(t *testing.T) {
	const senders, rounds = 3, 30_000
	p := newPool(4)
	defer p.Close()
	m := newMailbox()
	acks := make([]chan int, senders)
	m.RegisterHandlers(&recorder{user: func(x any) {
		r := x.([2]int)
		acks[r[0]] <- r[1]
	}}, p)
	m.Start()
	var wg sync.WaitGroup
	for id := range senders {
		acks[id] = make(chan int, 1)
	}
	for id := range senders {
		wg.Go(func() {
			for n := range rounds {
				m.PostUserMessage([2]int{id, n})
				select {
				case got := <-acks[id]:
					if got != n {
						t.Errorf("sender %d: got %d, want %d", id, got, n)
						return
					}
				case <-time.After(patience):
					t.Errorf("sender %d: message %d is lost", id, n)
					return
				}
			}
		})
	}
	wg.Wait()
	if p.live.Load() > 5 {
		t.Errorf("%d goroutines", p.live.Load())
	}
}

// TestNoMessageIsLostWhereTheReaderRunsEmptyUnderFire has senders that wait for nothing and a
// reader as fast as they are: a push falls into every step of its going to sleep.
func TestNoMessageIsLostWhereTheReaderRunsEmptyUnderFire(t *testing.T) {
	const senders, each = 2, 150_000
	p := newPool(4)
	defer p.Close()
	m := newMailbox()
	var got atomic.Int64
	done := make(chan struct{})
	m.RegisterHandlers(&recorder{user: func(any) {
		if got.Add(1) == senders*each {
			close(done)
		}
	}}, p)
	m.Start()
	for range senders {
		go func() {
			for n := range each {
				m.PostUserMessage(n)
				for range n % 50 { // some of the time of a reader's turn
					_ = m.users.Load()
				}
			}
		}()
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%d of %d messages are lost", senders*each-got.Load(), senders*each)
	}
}

// TestEachSendersMessagesArriveOnceAndInOrder floods the mailbox, with panics and suspensions.
func TestEachSendersMessagesArriveOnceAndInOrder(t *testing.T) {
	const senders, each, failing = 4, 20_000, 997
	p := newPool(4)
	defer p.Close()
	m := newMailbox()
	next := make([]int, senders) // the reader's
	failures := 0                // the reader's
	done := make(chan struct{})
	left := senders * each
	m.RegisterHandlers(&recorder{
		user: func(x any) {
			r := x.([2]int)
			if next[r[0]] != r[1] {
				t.Errorf("sender %d: got %d, want %d", r[0], r[1], next[r[0]])
			}
			next[r[0]] = r[1] + 1
			if left--; left == 0 {
				close(done)
			}
			if r[1]%failing == 0 {
				panic(r)
			}
		},
		failure: func(reason, x any) {
			if reason != x {
				t.Errorf("%v failed with %v", x, reason)
			}
			failures++
			m.PostSystemMessage(&actor.SuspendMailbox{})
			go m.PostSystemMessage(&actor.ResumeMailbox{})
		},
	}, p)
	m.Start()
	for id := range senders {
		go func() {
			for n := range each {
				m.PostUserMessage([2]int{id, n})
			}
		}()
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%d messages are lost", left)
	}
	want := senders * (each/failing + 1)
	if failures < want-1 || failures > want { // the last message's may be under way
		t.Fatalf("%d failures, want %d", failures, want)
	}
}
