package actors_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

// timed is an actor that does what it is told with its timers, and reports what they let through.
type timed struct {
	sys    *actors.System
	report *actor.PID
	timers *actors.Timers
	start  func(t *actors.Timers) // when it starts; may be nil
}

type withTimers func(c actor.Context, t *actors.Timers)

func (a *timed) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.timers = actors.NewTimers(a.sys, c.Self())
		if a.start != nil {
			a.start(a.timers)
		}
		c.Send(a.report, "started")
	case withTimers:
		m(c, a.timers)
	case actors.TimerFired:
		if msg, ok := a.timers.Accept(m); ok {
			c.Send(a.report, msg)
		} else {
			c.Send(a.report, "refused")
		}
	}
}

func startTimed(t *testing.T) (*actors.ManualClock, *actors.System, *actorstest.Probe, *actor.PID) {
	t.Helper()
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock, Restarts: atOnce})
	probe := actorstest.NewProbe(t, s)
	pid := spawnNew(t, s, "timed", func() actor.Actor { return &timed{sys: s, report: probe.PID} })
	actorstest.Expect[string](t, probe)
	return clock, s, probe, pid
}

func expect(t *testing.T, p *actorstest.Probe, want any) {
	t.Helper()
	if got := actorstest.Expect[any](t, p); got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestTimerIsAMessageToSelfOnce(t *testing.T) {
	clock, s, probe, pid := startTimed(t)
	s.Send(background, pid, withTimers(func(c actor.Context, t *actors.Timers) {
		t.Start("a", 2*time.Second, "two")
		t.Start("b", time.Second, "one")
	}))
	clock.WaitPending(2)
	clock.Advance(time.Minute)
	expect(t, probe, "one")
	expect(t, probe, "two")
	s.Send(background, pid, withTimers(func(c actor.Context, t *actors.Timers) {
		c.Send(probe.PID, t.Stop("a"))
	}))
	expect(t, probe, false) // it is not running any more
}

func TestTimerOfTheSameKeyTakesThePlaceOfTheFormer(t *testing.T) {
	clock, s, probe, pid := startTimed(t)
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		t.Start("a", time.Second, "former")
		t.Start("a", time.Minute, "latter")
	}))
	clock.WaitPending(1)
	clock.Advance(time.Hour)
	expect(t, probe, "latter")
	actorstest.ExpectNone(t, probe)
}

func TestMessageOfATimerThatWasStoppedOrReplacedSinceIsRefused(t *testing.T) {
	clock, s, probe, pid := startTimed(t)
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		t.Start("stopped", 1, "late")
		t.Start("replaced", 2, "late")
		clock.Advance(2) // both messages are in the queue now, behind this one
		t.Stop("stopped")
		t.Start("replaced", time.Second, "right")
	}))
	expect(t, probe, "refused")
	expect(t, probe, "refused")
	clock.Advance(time.Second)
	expect(t, probe, "right")
}

func TestTimerOfAnEarlierIncarnationIsRefused(t *testing.T) {
	clock, s, probe, pid := startTimed(t)
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		t.Start("queued", 1, "late")
		t.Start("pending", time.Hour, "late")
		clock.Advance(1) // its message is in the queue now
		panic(errBoom)
	}))
	expect(t, probe, "started")
	expect(t, probe, "refused")
	// The next incarnation's first timer has the same key and the same generation.
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		t.Start("queued", time.Second, "right")
	}))
	clock.WaitPending(1) // "pending" is not there any more
	clock.Advance(2 * time.Hour)
	expect(t, probe, "right")
	actorstest.ExpectNone(t, probe)
}

func TestTimerOfAnEarlierIncarnationIsNotTakenForTheSameOfThisOne(t *testing.T) {
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock, Restarts: atOnce})
	probe := actorstest.NewProbe(t, s)
	pid := spawnNew(t, s, "timed", func() actor.Actor {
		return &timed{sys: s, report: probe.PID, start: func(t *actors.Timers) {
			t.Start("same", time.Second, "fired")
		}}
	})
	expect(t, probe, "started")
	s.Send(background, pid, withTimers(func(actor.Context, *actors.Timers) {
		clock.Advance(time.Second) // its message is in the queue now
		panic(errBoom)
	}))
	expect(t, probe, "started") // with a timer of the same key and generation
	expect(t, probe, "refused")
	clock.Advance(time.Second)
	expect(t, probe, "fired")
}

func TestTimersOfAnEarlierIncarnationStartNothing(t *testing.T) {
	clock, s, probe, pid := startTimed(t)
	var former *actors.Timers
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		former = t
		panic(errBoom)
	}))
	expect(t, probe, "started")
	s.Send(background, pid, withTimers(func(c actor.Context, _ *actors.Timers) {
		former.Start("a", time.Second, "late")
		c.Send(probe.PID, "done")
	}))
	expect(t, probe, "done")
	if n := clock.Pending(); n != 0 {
		t.Fatalf("%d timers run", n)
	}
}

func TestTimersStopWithTheirActor(t *testing.T) {
	clock, s, probe, pid := startTimed(t)
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		t.Start("a", time.Second, "late")
	}))
	clock.WaitPending(1)
	stop(t, s, pid)
	if n := clock.Pending(); n != 0 {
		t.Fatalf("%d timers run", n)
	}
	actorstest.ExpectNone(t, probe)
}

func TestTimersOnTheRealClock(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	pid := spawnNew(t, s, "timed", func() actor.Actor { return &timed{sys: s, report: probe.PID} })
	actorstest.Expect[string](t, probe)
	s.Send(background, pid, withTimers(func(_ actor.Context, t *actors.Timers) {
		t.Start("a", time.Millisecond, "fired")
	}))
	expect(t, probe, "fired")
}
