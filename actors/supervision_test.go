package actors_test

import (
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

var policy = actors.Restarts{Max: 3, Within: time.Second, Backoff: 10 * time.Millisecond}

// onManualClock starts a parent with one child that fails on demand.
func onManualClock(t *testing.T) (
	clock *actors.ManualClock, s *actors.System, probe *actorstest.Probe, parent, child *actor.PID,
) {
	t.Helper()
	clock = actors.NewManualClock(epoch)
	s = actorstest.NewSystem(t, actors.Options{Clock: clock})
	probe = actorstest.NewProbe(t, s)
	parent, pids := spawnParent(t, s, probe, policy, panicky(func(m any) bool { return m == "fail" }))
	return clock, s, probe, parent, pids[0]
}

func TestRestartsAreBoundedAndTheirBackoffDoublesOnTheClock(t *testing.T) {
	clock, s, probe, _, child := onManualClock(t)
	for _, backoff := range []time.Duration{10, 20, 40} {
		s.Send(background, child, "fail")
		clock.WaitPending(1)
		clock.Advance(backoff*time.Millisecond - 1)
		if clock.Pending() != 1 {
			t.Fatalf("restarted before its backoff of %d ms", backoff)
		}
		clock.Advance(1)
		actorstest.Expect[actors.ChildRestarted](t, probe)
	}
	s.Send(background, child, "fail")
	actorstest.Expect[*actor.Terminated](t, probe)
	m := actorstest.Expect[actors.ChildFailed](t, probe)
	if !m.Child.Equal(child) || m.Reason != errBoom {
		t.Fatalf("parent was told %v %v", m.Child, m.Reason)
	}
	if n := clock.Pending(); n != 0 {
		t.Fatalf("%d timers are left", n)
	}
}

func TestFailuresThatLeftTheWindowAreForgotten(t *testing.T) {
	clock, s, probe, _, child := onManualClock(t)
	for range 5 * policy.Max {
		s.Send(background, child, "fail")
		clock.WaitPending(1)
		clock.Advance(policy.Backoff) // the first backoff: nothing else is within the window
		actorstest.Expect[actors.ChildRestarted](t, probe)
		clock.Advance(policy.Within)
	}
	actorstest.ExpectNone(t, probe)
}

func TestBackoffIsNotLongerThanTheWindow(t *testing.T) {
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock})
	probe := actorstest.NewProbe(t, s)
	r := actors.Restarts{Max: 200, Within: time.Second, Backoff: time.Hour}
	_, pids := spawnParent(t, s, probe, r, panicky(func(m any) bool { return m == "fail" }))
	s.Send(background, pids[0], "fail")
	clock.WaitPending(1)
	clock.Advance(time.Second)
	actorstest.Expect[actors.ChildRestarted](t, probe)
}

func TestNoRestartsWhereMaxIsNegative(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	_, pids := spawnParent(t, s, probe, actors.Restarts{Max: -1},
		panicky(func(m any) bool { return m == "fail" }))
	s.Send(background, pids[0], "fail")
	actorstest.Expect[*actor.Terminated](t, probe)
	actorstest.Expect[actors.ChildFailed](t, probe)
}

func TestFailureLeavesTheSiblingsAlone(t *testing.T) {
	s := newSystem(t)
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	_, pids := spawnParent(t, s, probe, atOnce, panicky(func(m any) bool { return m == "fail" }),
		actors.Spec{Name: "sibling", New: actorstest.NewFailing(report.PID)})
	actorstest.Expect[*actor.Started](t, report)
	s.Send(background, pids[0], "fail")
	actorstest.Expect[actors.ChildRestarted](t, probe)
	s.Send(background, pids[1], "hello")
	actorstest.Expect[string](t, report)
}

func TestRestartBehindAStopDoesNotReviveTheActor(t *testing.T) {
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock})
	probe := actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	child := specOf("child", func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			grandchild, err := s.SpawnChild(c, blocking(gate))
			if err != nil {
				panic(err)
			}
			c.Send(grandchild, "block")
		case *actor.Stopping:
			c.Send(probe.PID, m)
		case string:
			panic(errBoom)
		}
	})
	parent, pids := spawnParent(t, s, probe, policy, child)
	<-gate.entered
	s.Send(background, pids[0], "fail")
	clock.WaitPending(1)
	s.Send(background, parent, actorstest.Do(func(c actor.Context) { c.Stop(pids[0]) }))
	actorstest.Expect[*actor.Stopping](t, probe) // and waits for its child now
	clock.Advance(policy.Backoff)                // the Restart comes
	close(gate.open)
	actorstest.Expect[*actor.Terminated](t, probe)
	actorstest.ExpectNone(t, probe)
}

func TestStopOfAnActorThatWaitsForItsRestart(t *testing.T) {
	clock, s, probe, parent, child := onManualClock(t)
	s.Send(background, child, "fail")
	clock.WaitPending(1)
	s.Send(background, parent, actorstest.Do(func(c actor.Context) { c.Stop(child) }))
	actorstest.Expect[*actor.Terminated](t, probe)
	clock.WaitPending(0) // its backoff is cancelled
	actorstest.ExpectNone(t, probe)
}

func TestParentThatStopsDoesNotRestartItsChildren(t *testing.T) {
	clock, s, probe, parent, child := onManualClock(t)
	s.Send(background, child, "fail")
	clock.WaitPending(1)
	stop(t, s, parent)
	clock.WaitPending(0)
	if n := len(s.Stats().Actors); n != 0 {
		t.Fatalf("%d actors are left", n)
	}
	if n := s.Stats().DeadLetters; n != 0 {
		t.Fatalf("%d dead letters", n)
	}
	actorstest.Expect[*actor.Terminated](t, probe)
}

func TestParentThatRestartsIsNotToldThatAFormerChildRestarted(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	childGate, parentGate := newGatekeeper(), newGatekeeper()
	starts := 0
	parent, pids := spawnParent(t, s, probe, atOnce, specOf("child", func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			if starts++; starts == 2 {
				childGate.wait() // its parent is told behind this
			}
		case string:
			panic(errBoom)
		}
	}))
	s.Send(background, pids[0], "fail")
	<-childGate.entered
	s.Send(background, parent, actorstest.Do(func(actor.Context) { parentGate.wait() }))
	s.Send(background, parent, actorstest.Do(func(actor.Context) { panic(errBoom) }))
	<-parentGate.entered
	close(childGate.open)
	eventually(t, "ChildRestarted behind the panic", func() bool {
		return stats(s, parent).Depth == 2
	})
	close(parentGate.open)
	actorstest.Expect[*actor.Terminated](t, probe) // to the incarnation that restarts
	actorstest.Expect[actorstest.Spawned](t, probe)
	s.Send(background, parent, actorstest.Do(func(c actor.Context) { c.Send(probe.PID, "done") }))
	actorstest.Expect[string](t, probe)
}

func TestParentThatRestartsIsNotToldOfItsFormerChildren(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	parent, pids := spawnParent(t, s, probe, actors.Restarts{Max: -1},
		panicky(func(m any) bool { return m == "fail" }))
	s.Send(background, parent, actorstest.Do(func(actor.Context) { gate.wait() }))
	<-gate.entered
	s.Send(background, parent, actorstest.Do(func(c actor.Context) { panic(errBoom) }))
	// Whenever the child is given up, ChildFailed lands behind the panic.
	s.Send(background, pids[0], "fail")
	close(gate.open)
	actorstest.Expect[*actor.Terminated](t, probe)
	actorstest.Expect[actorstest.Spawned](t, probe)
	s.Send(background, parent, actorstest.Do(func(c actor.Context) { c.Send(probe.PID, "done") }))
	actorstest.Expect[string](t, probe)
}

func TestTopLevelActorThatIsGivenUpIsFatalOnce(t *testing.T) {
	fatal := make(chan error, 10)
	s := actorstest.NewSystem(t, actors.Options{
		Restarts: actors.Restarts{Max: 2, Backoff: -1},
		OnFatal:  func(err error) { fatal <- err },
	})
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	first := spawnNew(t, s, "first", actorstest.NewFailing(report.PID))
	second := spawnNew(t, s, "second", actorstest.NewFailing(report.PID))
	for range 3 {
		s.Send(background, first, actorstest.Fail{Reason: errBoom})
	}
	err := <-fatal
	if !errors.Is(err, actors.ErrGaveUp) || !errors.Is(err, errBoom) {
		t.Fatalf("got %v", err)
	}
	// From here on nothing is restarted, and nobody is told twice.
	probe.Watch(second)
	s.Send(background, second, actorstest.Fail{Reason: errBoom})
	if m := actorstest.Expect[*actor.Terminated](t, probe); !m.Who.Equal(second) {
		t.Fatalf("%s terminated", m.Who.Id)
	}
	if err := s.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
	if len(fatal) != 0 {
		t.Fatalf("fatal again: %v", <-fatal)
	}
}

func TestOnFatalMayShutDown(t *testing.T) {
	done := make(chan error, 1)
	var s *actors.System
	s = actorstest.NewSystem(t, actors.Options{
		Restarts: actors.Restarts{Max: -1},
		OnFatal:  func(error) { done <- s.Shutdown(within(t)) },
	})
	spawn(t, s, "other", func(actor.Context) {})
	pid := spawn(t, s, "lost", func(c actor.Context) {
		if _, ok := c.Message().(string); ok {
			panic("no error")
		}
	})
	s.Send(background, pid, "fail")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
