package simulation

import (
	"slices"
	"time"
)

var epoch = time.Unix(1_700_000_000, 0)

// clock is the virtual time. It stands still within a step, moves a little with each, and jumps to
// the next timer when nobody has anything to do.
type clock struct {
	run    *run
	now    time.Time
	seq    uint64
	timers []*timer // by deadline
}

type timer struct {
	at   time.Time
	seq  uint64
	f    func()
	done bool
}

// Now implements actors.Clock. An actor that looks at the clock may find its end there: it is the
// one thing that all of them do in the midst of their work.
func (c *clock) Now() time.Time {
	c.run.faults.lookedAtClock()
	return c.now
}

// AfterFunc implements actors.Clock. No two deadlines are the same.
func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.seq++
	d = c.run.faults.delayed(max(d, 0))
	t := &timer{at: c.now.Add(d), seq: c.seq, f: f}
	i, _ := slices.BinarySearchFunc(c.timers, t, compareTimers)
	c.timers = slices.Insert(c.timers, i, t)
	return func() bool {
		if t.done {
			return false
		}
		t.done = true
		if i := slices.Index(c.timers, t); i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return true
	}
}

func compareTimers(a, b *timer) int {
	if d := a.at.Compare(b.at); d != 0 {
		return d
	}
	return int(int64(a.seq) - int64(b.seq))
}

// fire goes to the next timer and calls it; false: there is none before the bound.
func (c *clock) fire(bound time.Time) bool {
	if len(c.timers) == 0 || c.timers[0].at.After(bound) {
		return false
	}
	t := c.timers[0]
	c.timers = slices.Delete(c.timers, 0, 1)
	t.done = true
	if t.at.After(c.now) {
		c.now = t.at
	}
	t.f()
	return true
}
