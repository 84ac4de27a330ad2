package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

func TestSystemStopHandlesWhatCameBefore(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	pid := spawn(t, s, "worker", func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			gate.wait()
		case int:
			c.Send(probe.PID, m)
		}
	})
	s.Send(background, pid, "block")
	<-gate.entered
	for n := range 100 {
		s.Send(background, pid, n)
	}
	close(gate.open)
	stop(t, s, pid)
	for want := range 100 {
		if n := actorstest.Expect[int](t, probe); n != want {
			t.Fatalf("got %d, want %d", n, want)
		}
	}
	if n := s.Stats().Dropped; n != 0 {
		t.Fatalf("%d messages dropped", n)
	}
}

func TestContextStopJumpsTheQueueAndWhatItDropsIsCounted(t *testing.T) {
	s := newSystem(t)
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	child := specOf("child", func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			gate.wait()
		case int:
			c.Send(report.PID, m)
		}
	})
	parent, pids := spawnParent(t, s, probe, atOnce, child)
	s.Send(background, pids[0], "block")
	<-gate.entered
	for n := range 100 {
		s.Send(background, pids[0], n)
	}
	s.Send(background, parent, actorstest.Do(func(c actor.Context) {
		c.Stop(pids[0])
		c.Send(probe.PID, "stopped")
	}))
	actorstest.Expect[string](t, probe)
	close(gate.open)
	actorstest.Expect[*actor.Terminated](t, probe)
	eventually(t, "100 dropped messages", func() bool { return s.Stats().Dropped == 100 })
	actorstest.ExpectNone(t, report)
}

func TestUserMessagesWhileStoppingAreDroppedAndCounted(t *testing.T) {
	s := newSystem(t)
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	child := specOf("child", func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			grandchild, err := s.SpawnChild(c, blocking(gate))
			if err != nil {
				panic(err)
			}
			c.Send(grandchild, "block")
		default:
			c.Send(report.PID, m)
		}
	})
	parent, pids := spawnParent(t, s, probe, atOnce, child)
	<-gate.entered
	s.Send(background, parent, actorstest.Do(func(c actor.Context) { c.Stop(pids[0]) }))
	actorstest.Expect[*actor.Stopping](t, report) // it waits for its child now
	for n := range 3 {
		s.Send(background, pids[0], n)
	}
	eventually(t, "3 dropped messages", func() bool { return stats(s, pids[0]).Dropped == 3 })
	close(gate.open)
	actorstest.Expect[*actor.Terminated](t, report) // of the grandchild
	actorstest.Expect[*actor.Stopped](t, report)
	actorstest.ExpectNone(t, report)
}

func TestNoChildIsBornWhileItsParentStopsOrRestarts(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	first := true
	pid := spawn(t, s, "parent", func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			if first {
				first = false
				if _, err := s.SpawnChild(c, idle("child", true)); err != nil {
					panic(err)
				}
			}
		case *actor.Restarting, *actor.Terminated, *actor.Stopping, *actor.Stopped:
			_, err := s.SpawnChild(c, idle("late", true))
			c.Send(probe.PID, err)
		case string:
			panic(errBoom)
		}
	})
	s.Send(background, pid, "fail")
	for range 2 { // Restarting, Terminated
		if err := actorstest.Expect[error](t, probe); !errors.Is(err, actors.ErrStopping) {
			t.Fatalf("got %v", err)
		}
	}
	stop(t, s, pid)
	for range 2 { // Stopping, Stopped
		if err := actorstest.Expect[error](t, probe); !errors.Is(err, actors.ErrStopping) {
			t.Fatalf("got %v", err)
		}
	}
}

func TestStopEndsWithItsContextAndTheActorStopsLater(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	pid, err := s.Spawn(blocking(gate))
	if err != nil {
		t.Fatal(err)
	}
	probe.Watch(pid)
	s.Send(background, pid, "block")
	<-gate.entered
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	err = s.Stop(ctx, pid)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), pid.Id) {
		t.Fatalf("got %v", err)
	}
	close(gate.open)
	actorstest.Expect[*actor.Terminated](t, probe)
}

func TestStopOfAnActorThatDoesNotExistIsDone(t *testing.T) {
	s := newSystem(t)
	stop(t, s, s.ActorSystem().NewLocalPID("nobody"))
}

func TestShutdownStopsInReverseOrderOfStart(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	for _, name := range []string{"a", "b", "c"} {
		spawn(t, s, name, func(c actor.Context) {
			if _, ok := c.Message().(*actor.Stopped); ok {
				c.Send(probe.PID, c.Self().Id)
			}
		})
	}
	if err := s.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"c", "b", "a"} {
		if got := actorstest.Expect[string](t, probe); got != want {
			t.Fatalf("%s stopped, want %s", got, want)
		}
	}
}

func TestShutdownTwiceIsOneShutdown(t *testing.T) {
	s := newSystem(t)
	spawn(t, s, "a", func(actor.Context) {})
	errs := make(chan error)
	for range 8 {
		go func() { errs <- s.Shutdown(within(t)) }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
}

func TestAfterShutdownNothingIsDelivered(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", func(actor.Context) {})
	if err := s.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.Send(background, pid, "late")
	}
	if n := s.Stats().DeadLetters; n != 3 {
		t.Fatalf("%d dead letters, want 3", n)
	}
	if _, err := s.Spawn(idle("b", false)); !errors.Is(err, actors.ErrShutdown) {
		t.Fatalf("spawn: %v", err)
	}
	if _, err := s.Ask(background, pid, nothing); !errors.Is(err, actors.ErrStopped) {
		t.Fatalf("ask: %v", err)
	}
	stop(t, s, pid)
}

func TestShutdownEndsWithItsContextAndNamesWhatStillRuns(t *testing.T) {
	s, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gate := newGatekeeper()
	names := make(chan string, 10)
	stopped := func(c actor.Context) {
		if _, ok := c.Message().(*actor.Stopped); ok {
			names <- c.Self().Id
		}
	}
	spawn(t, s, "first", stopped)
	pid, err := s.Spawn(blocking(gate))
	if err != nil {
		t.Fatal(err)
	}
	spawn(t, s, "last", stopped)
	s.Send(background, pid, "block")
	<-gate.entered
	asked := make(chan error)
	go func() {
		_, err := s.Ask(background, pid, nothing)
		asked <- err
	}()
	eventually(t, "the question", func() bool { return s.Stats().AsksOpen == 1 })

	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	err = s.Shutdown(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), pid.Id) {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(err.Error(), "last") {
		t.Fatalf("an actor that stopped is named: %v", err)
	}
	if again := s.Shutdown(within(t)); again == nil || again.Error() != err.Error() {
		t.Fatalf("the second shutdown says %v", again)
	}
	if err := <-asked; !errors.Is(err, actors.ErrStopped) {
		t.Fatalf("ask: %v", err)
	}
	// The first one was stopped past its queue, without being waited for.
	for _, want := range []string{"last", "first"} {
		if got := <-names; got != want {
			t.Fatalf("%s stopped, want %s", got, want)
		}
	}
	close(gate.open)
	eventually(t, "the end of all goroutines", func() bool { return s.Stats().Goroutines == 0 })
}

func TestShutdownDuringSpawnsLeavesNoActor(t *testing.T) {
	for range 50 {
		s, err := actors.NewSystem(actors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		spawned := make(chan struct{})
		go func() {
			defer close(spawned)
			for {
				if _, err := s.Spawn(idle("a", true)); err != nil {
					return
				}
			}
		}()
		if err := s.Shutdown(within(t)); err != nil {
			t.Fatal(err)
		}
		<-spawned
		eventually(t, "no actors", func() bool { return len(s.Stats().Actors) == 0 })
	}
}
