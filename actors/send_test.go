package actors_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

func TestNilIsRefusedAndCountedWhereverItComesFrom(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	pid := spawn(t, s, "worker", func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.PID:
			c.Send(m, nil)
			c.Request(m, nil)
			c.Send(m, &actor.MessageEnvelope{})
		case string, nil:
			c.Send(probe.PID, m)
		}
	})
	s.Send(background, pid, nil)
	s.Send(background, pid, &actor.MessageEnvelope{})
	s.Send(background, nil, nil)
	s.ActorSystem().Root.Send(pid, nil)
	s.Send(background, pid, pid)
	s.Send(background, pid, "after")
	if m := actorstest.Expect[string](t, probe); m != "after" {
		t.Fatalf("got %q", m)
	}
	if n := s.Stats().RefusedNils; n != 7 {
		t.Fatalf("%d refused, want 7", n)
	}
	if a := stats(s, pid); a.Depth != 0 || a.Restarts != 0 || a.Processed != 2 {
		t.Fatalf("got %+v", a)
	}
}

func TestDeadLettersAreCountedAndStartNoGoroutine(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	nobody := s.ActorSystem().NewLocalPID("nobody")
	pid := spawn(t, s, "worker", func(c actor.Context) {
		if _, ok := c.Message().(string); ok {
			c.Send(nobody, "1")
			c.Send(nil, "2")
			c.Respond("3") // the message has no sender
			c.Send(c.Parent(), "4")
			c.Send(probe.PID, "done")
		}
	})
	s.Send(background, nobody, "5")
	s.Send(background, nil, "6")
	s.Send(background, pid, "go")
	actorstest.Expect[string](t, probe)
	if n := s.Stats().DeadLetters; n != 6 {
		t.Fatalf("%d dead letters, want 6", n)
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if strings.Contains(string(stacks), "NewThrottle") {
		t.Fatal("proto.actor's dead-letter throttle runs")
	}
}

func TestSystemMessagesToNobodyAreNoDeadLetters(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	nobody := s.ActorSystem().NewLocalPID("nobody")
	pid := spawn(t, s, "worker", func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			c.Watch(nobody)
			c.Stop(nobody)
			c.Poison(nobody)
		case *actor.Terminated:
			c.Send(probe.PID, m)
		}
	})
	s.Send(background, pid, "watch")
	m := actorstest.Expect[*actor.Terminated](t, probe)
	if !m.Who.Equal(nobody) || m.Why != actor.TerminatedReason_NotFound {
		t.Fatalf("got %v", m)
	}
	if n := s.Stats().DeadLetters; n != 0 {
		t.Fatalf("%d dead letters", n)
	}
}

// batch has the method by which proto.actor's own mailboxes know a message that they take apart.
type batch []any

func (b batch) GetMessages() []any { return b }

func TestBatchIsOneMessageLikeAnyOther(t *testing.T) {
	s := newSystem(t)
	report := actorstest.NewProbe(t, s)
	pid := spawnNew(t, s, "worker", actorstest.NewFailing(report.PID))
	s.Send(background, pid, batch{1, 2})
	actorstest.Expect[*actor.Started](t, report)
	actorstest.Expect[batch](t, report)
	stop(t, s, pid)
	actorstest.Expect[*actor.Stopping](t, report)
}

// urgent is a message that overtakes.
type urgent int

func (urgent) Urgent() {}

func TestUrgentMessagesComeFirstAlsoInEnvelopes(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	gate := newGatekeeper()
	pid := spawn(t, s, "worker", func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			gate.wait()
		case int, urgent:
			c.Send(probe.PID, m)
		}
	})
	s.Send(background, pid, "block")
	<-gate.entered
	s.Send(background, pid, 1)
	s.Send(background, pid, urgent(2))
	s.Send(traced(t), pid, urgent(3)) // in an envelope
	s.Send(background, pid, 4)
	close(gate.open)
	for _, want := range []any{urgent(2), urgent(3), 1, 4} {
		if got := actorstest.Expect[any](t, probe); got != want {
			t.Fatalf("got %T %v, want %T %v", got, got, want, want)
		}
	}
}

func TestStatsTellDepthAndItsMaximum(t *testing.T) {
	s := newSystem(t)
	gate := newGatekeeper()
	pid, err := s.Spawn(blocking(gate))
	if err != nil {
		t.Fatal(err)
	}
	s.Send(background, pid, "block")
	<-gate.entered
	for n := range 5 {
		s.Send(background, pid, n)
	}
	if a := stats(s, pid); a.Depth != 5 || a.DepthMax != 5 || a.Processed != 1 {
		t.Fatalf("got %+v", a)
	}
	close(gate.open)
	eventually(t, "an empty queue", func() bool { return stats(s, pid).Processed == 6 })
	if a := stats(s, pid); a.Depth != 0 || a.DepthMax != 5 {
		t.Fatalf("got %+v", a)
	}
}

func TestStatsListTheLivingByPath(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	spawn(t, s, "zebra", func(actor.Context) {})
	parent, _ := spawnParent(t, s, probe, actors.Restarts{}, idle("b", false), idle("a", false))
	want := "parent parent/a parent/b zebra"
	var got []string
	for _, a := range s.Stats().Actors {
		got = append(got, a.Path)
	}
	if strings.Join(got, " ") != want {
		t.Fatalf("got %v, want %s", got, want)
	}
	stop(t, s, parent)
	if st := s.Stats(); len(st.Actors) != 1 || st.Actors[0].Path != "zebra" {
		t.Fatalf("got %+v", st.Actors)
	}
}
