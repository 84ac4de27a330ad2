package actors_test

import (
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

func TestPanicLosesTheMessageInFlightAndKeepsTheQueue(t *testing.T) {
	s := newSystem(t)
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	_, pids := spawnParent(t, s, probe, atOnce,
		actors.Spec{Name: "child", New: actorstest.NewFailing(report.PID)})
	for _, m := range []any{1, actorstest.Fail{Reason: errBoom}, 2, 3} {
		s.Send(background, pids[0], m)
	}
	actorstest.Expect[*actor.Started](t, report)
	if n := actorstest.Expect[int](t, report); n != 1 {
		t.Fatalf("got %d first", n)
	}
	actorstest.Expect[actorstest.Fail](t, report)
	actorstest.Expect[*actor.Restarting](t, report)
	actorstest.Expect[*actor.Started](t, report)
	for want := 2; want <= 3; want++ {
		if n := actorstest.Expect[int](t, report); n != want {
			t.Fatalf("got %d, want %d: the queue was not kept", n, want)
		}
	}
	m := actorstest.Expect[actors.ChildRestarted](t, probe)
	if !m.Child.Equal(pids[0]) || m.Reason != errBoom {
		t.Fatalf("parent was told %v %v", m.Child, m.Reason)
	}
	actorstest.ExpectNone(t, report)
}

func TestEachIncarnationIsANewActor(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	pid := spawnNew(t, s, "counter", func() actor.Actor {
		seen := 0
		return actor.ReceiveFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				seen++
				c.Send(probe.PID, seen)
				if seen == 2 {
					panic(errBoom)
				}
			}
		})
	})
	for range 3 {
		s.Send(background, pid, "count")
	}
	for _, want := range []int{1, 2, 1} {
		if n := actorstest.Expect[int](t, probe); n != want {
			t.Fatalf("got %d, want %d", n, want)
		}
	}
	if n := stats(s, pid).Restarts; n != 1 {
		t.Fatalf("%d restarts counted", n)
	}
}

func TestPanicInStartedIsAFailureLikeAnyOther(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	tries := 0
	_, pids := spawnParent(t, s, probe, atOnce, actors.Spec{Name: "child", New: func() actor.Actor {
		tries++
		try := tries
		return actor.ReceiveFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok && try < 3 {
				panic(errBoom)
			}
		})
	}})
	actorstest.Expect[actors.ChildRestarted](t, probe)
	actorstest.ExpectNone(t, probe)
	if n := stats(s, pids[0]).Restarts; n != 2 {
		t.Fatalf("%d restarts counted, want 2", n)
	}
}

func TestNewThatPanicsFailsTheSpawn(t *testing.T) {
	s := newSystem(t)
	spec := actors.Spec{Name: "bad", New: func() actor.Actor { panic(errBoom) }}
	if _, err := s.Spawn(spec); !errors.Is(err, errBoom) {
		t.Fatalf("got %v", err)
	}
	spec.New = func() actor.Actor { return nil }
	if _, err := s.Spawn(spec); !errors.Is(err, actors.ErrBadSpec) {
		t.Fatalf("got %v", err)
	}
	if n := len(s.Stats().Actors); n != 0 {
		t.Fatalf("%d actors are left", n)
	}
}

func TestNewThatPanicsAtARestartIsOneMoreFailure(t *testing.T) {
	s := newSystem(t)
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	made := 0
	_, pids := spawnParent(t, s, probe, atOnce, actors.Spec{Name: "child", New: func() actor.Actor {
		if made++; made == 2 {
			panic(errBoom)
		}
		return actorstest.NewFailing(report.PID)()
	}})
	s.Send(background, pids[0], actorstest.Fail{Reason: "first"})
	s.Send(background, pids[0], "kept")
	if m := actorstest.Expect[actors.ChildRestarted](t, probe); !errors.Is(m.Reason.(error), errBoom) {
		t.Fatalf("parent was told %v", m.Reason)
	}
	actorstest.Expect[*actor.Started](t, report)
	actorstest.Expect[actorstest.Fail](t, report)
	actorstest.Expect[*actor.Restarting](t, report)
	actorstest.Expect[*actor.Started](t, report)
	actorstest.Expect[string](t, report)
	if n := stats(s, pids[0]).Restarts; n != 2 {
		t.Fatalf("%d restarts counted, want 2", n)
	}
}

func TestPanicInRestartingDoesNotKeepTheActorFromRestarting(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	_, pids := spawnParent(t, s, probe, atOnce, panicky(func(m any) bool {
		_, restarting := m.(*actor.Restarting)
		return restarting || m == "fail"
	}))
	s.Send(background, pids[0], "fail")
	if m := actorstest.Expect[actors.ChildRestarted](t, probe); m.Reason != errBoom {
		t.Fatalf("parent was told %v", m.Reason)
	}
	if a := stats(s, pids[0]); a.Recovered != 1 || a.Restarts != 1 {
		t.Fatalf("got %+v", a)
	}
}

func TestPanicInStoppingDoesNotReviveTheActor(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	parent, pids := spawnParent(t, s, probe, atOnce, panicky(func(m any) bool {
		_, ok := m.(*actor.Stopping)
		return ok
	}))
	stop(t, s, pids[0])
	actorstest.Expect[*actor.Terminated](t, probe)
	if _, err := s.Ask(within(t), pids[0], nothing); !errors.Is(err, actors.ErrStopped) {
		t.Fatalf("the actor lives: %v", err)
	}
	stop(t, s, parent)
	actorstest.ExpectNone(t, probe)
}

func TestPanicInStoppedDoesNotBlockTheParent(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	parent, _ := spawnParent(t, s, probe, atOnce, panicky(func(m any) bool {
		_, ok := m.(*actor.Stopped)
		return ok
	}))
	stop(t, s, parent)
}

func TestPanicInTerminatedWhileStoppingDoesNotWedgeTheActor(t *testing.T) {
	s := newSystem(t)
	pid := spawnNew(t, s, "top", func() actor.Actor {
		return actor.ReceiveFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				for range 3 {
					if _, err := s.SpawnChild(c, idle("child", true)); err != nil {
						panic(err)
					}
				}
			case *actor.Terminated:
				panic(errBoom)
			}
		})
	})
	stop(t, s, pid)
}

func TestPanicInTerminatedWhileRestartingDoesNotWedgeTheActor(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	pid := spawnNew(t, s, "top", func() actor.Actor {
		return actor.ReceiveFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				if _, err := s.SpawnChild(c, idle("child", false)); err != nil {
					panic(err)
				}
				c.Send(probe.PID, "started")
			case *actor.Terminated, string:
				panic(errBoom)
			}
		})
	})
	actorstest.Expect[string](t, probe)
	s.Send(background, pid, "fail")
	actorstest.Expect[string](t, probe)
	if a := stats(s, pid); a.Recovered != 1 || a.Restarts != 1 {
		t.Fatalf("got %+v", a)
	}
}

func TestGoexitInReceiveFailsTheActorAndNotItsMailbox(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	pid := spawn(t, s, "quitter", func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			new(testing.T).FailNow() // as a test's assertion within Receive would
		case int:
			c.Send(probe.PID, m)
		}
	})
	s.Send(background, pid, "quit")
	s.Send(background, pid, 7)
	actorstest.Expect[int](t, probe)
	if n := stats(s, pid).Restarts; n != 1 {
		t.Fatalf("%d restarts counted, want 1", n)
	}
}
