package actors

import (
	"container/heap"
	"sync"
	"time"
)

// ManualClock is a Clock for tests: it stands still until it is advanced. It is safe for concurrent
// use.
type ManualClock struct {
	mu      sync.Mutex
	changed sync.Cond
	now     time.Time
	seq     uint64
	timers  manualHeap
}

// NewManualClock returns a clock that stands at start.
func NewManualClock(start time.Time) *ManualClock {
	c := &ManualClock{now: start}
	c.changed.L = &c.mu
	return c
}

// Now is where the clock stands. In a timer's function it is that timer's deadline.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc calls f in the Advance that reaches the deadline, never before one is called, not even
// where d is zero or less.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	t := &manualTimer{at: c.now.Add(max(d, 0)), seq: c.seq, f: f}
	heap.Push(&c.timers, t)
	c.changed.Broadcast()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.index < 0 {
			return false
		}
		heap.Remove(&c.timers, t.index)
		c.changed.Broadcast()
		return true
	}
}

// Advance moves the clock on by d and calls what falls due, one after another on the caller's
// goroutine, by deadline and, at the same deadline, in the order of the AfterFunc calls. What those
// functions start falls due in the same Advance where its deadline does.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(max(d, 0))
	for len(c.timers) > 0 && !c.timers[0].at.After(end) {
		t := heap.Pop(&c.timers).(*manualTimer)
		if t.at.After(c.now) {
			c.now = t.at
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
	if end.After(c.now) {
		c.now = end
	}
	c.mu.Unlock()
}

// Pending is the number of timers that have not fired.
func (c *ManualClock) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// WaitPending waits until exactly n timers have not fired: so a test knows that an actor has come
// to where it waits.
func (c *ManualClock) WaitPending(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) != n {
		c.changed.Wait()
	}
}

type manualTimer struct {
	at    time.Time
	seq   uint64
	f     func()
	index int // in the heap; -1 when out of it
}

type manualHeap []*manualTimer

func (h manualHeap) Len() int { return len(h) }
func (h manualHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].seq < h[j].seq
	}
	return h[i].at.Before(h[j].at)
}
func (h manualHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *manualHeap) Push(x any) {
	t := x.(*manualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *manualHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
