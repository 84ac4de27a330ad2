package actors_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

// question is answered by a function.
type question struct {
	replyTo *actor.PID
	answer  func(c actor.Context, to *actor.PID)
}

func answer(f func(c actor.Context, to *actor.PID)) func(*actor.PID) any {
	return func(to *actor.PID) any { return question{to, f} }
}

func answerer(c actor.Context) {
	if q, ok := c.Message().(question); ok {
		q.answer(c, q.replyTo)
	}
}

// ofNoAsk fails the test where an ask is left behind.
func ofNoAsk(t *testing.T, s *actors.System) {
	t.Helper()
	if n := s.Stats().AsksOpen; n != 0 {
		t.Fatalf("%d asks are open", n)
	}
	if n := processes(s, "$ask"); n != 0 {
		t.Fatalf("%d asks are registered", n)
	}
}

func TestAskGivesTheReply(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", answerer)
	for name, f := range map[string]func(actor.Context, *actor.PID){
		"sent to replyTo": func(c actor.Context, to *actor.PID) { c.Send(to, "yes") },
		"responded":       func(c actor.Context, _ *actor.PID) { c.Respond("yes") },
	} {
		if got, err := s.Ask(background, pid, answer(f)); err != nil || got != "yes" {
			t.Fatalf("%s: got %v, %v", name, got, err)
		}
	}
	ofNoAsk(t, s)
}

func TestProcessThatIsNoActorCanBeAsked(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	go func() {
		q := actorstest.Expect[question](t, probe)
		s.Send(background, q.replyTo, 7)
	}()
	if got, err := s.Ask(background, probe.PID, answer(nil)); err != nil || got != 7 {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestAskEndsAfterAskTimeoutWhereTheContextHasNoDeadline(t *testing.T) {
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock, AskTimeout: time.Minute})
	pid := spawn(t, s, "a", func(actor.Context) {})
	go func() {
		clock.WaitPending(1)
		clock.Advance(time.Minute)
	}()
	got, err := s.Ask(background, pid, nothing)
	if !errors.Is(err, actors.ErrTimeout) || got != nil {
		t.Fatalf("got %v, %v", got, err)
	}
	ofNoAsk(t, s)
}

func TestAskStopsItsTimerWithTheReply(t *testing.T) {
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock})
	pid := spawn(t, s, "a", answerer)
	_, err := s.Ask(background, pid, answer(func(c actor.Context, to *actor.PID) { c.Send(to, 1) }))
	if err != nil || clock.Pending() != 0 {
		t.Fatalf("got %v, %d timers", err, clock.Pending())
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", func(actor.Context) {})
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	for range 2 { // while it waits, and before it begins
		_, err := s.Ask(ctx, pid, nothing)
		if !errors.Is(err, actors.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
	}
	ctx, cancel = context.WithCancel(background)
	go func() {
		eventually(t, "the question", func() bool { return stats(s, pid).Processed >= 1 })
		cancel()
	}()
	if _, err := s.Ask(ctx, pid, nothing); !errors.Is(err, context.Canceled) ||
		errors.Is(err, actors.ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	ofNoAsk(t, s)
}

func TestReplyThatRacesTheEndOfTheContextGivesOneOfBoth(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", answerer)
	replies, errs := 0, 0
	for range 3000 {
		ctx, cancel := context.WithCancel(background)
		got, err := s.Ask(ctx, pid, answer(func(c actor.Context, to *actor.PID) {
			go cancel()
			c.Send(to, "yes")
		}))
		if (got == nil) == (err == nil) {
			t.Fatalf("got %v, %v", got, err)
		}
		if err == nil {
			replies++
		} else {
			errs++
		}
	}
	t.Logf("%d replies, %d cancellations", replies, errs)
	ofNoAsk(t, s)
}

func TestSecondReplyIsADeadLetter(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", answerer)
	got, err := s.Ask(background, pid, answer(func(c actor.Context, to *actor.PID) {
		c.Send(to, "first")
		c.Send(to, "second")
	}))
	if err != nil || got != "first" {
		t.Fatalf("got %v, %v", got, err)
	}
	eventually(t, "the dead letter", func() bool { return s.Stats().DeadLetters == 1 })
}

func TestAskFailsAtOnceWhenTheActorRestarts(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", answerer)
	_, err := s.Ask(background, pid, answer(func(actor.Context, *actor.PID) { panic(errBoom) }))
	if !errors.Is(err, actors.ErrRestarted) {
		t.Fatalf("got %v", err)
	}
	ofNoAsk(t, s)
	// The caller decides: the next incarnation can be asked again.
	got, err := s.Ask(background, pid, answer(func(c actor.Context, to *actor.PID) { c.Send(to, 1) }))
	if err != nil || got != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestAskFailsWhenTheActorStops(t *testing.T) {
	s := newSystem(t)
	stopSelf := answer(func(c actor.Context, _ *actor.PID) { c.Stop(c.Self()) })
	pid := spawn(t, s, "a", answerer)
	if _, err := s.Ask(background, pid, stopSelf); !errors.Is(err, actors.ErrStopped) {
		t.Fatalf("got %v", err)
	}
	nobody := s.ActorSystem().NewLocalPID("nobody")
	for _, to := range []*actor.PID{pid, nobody, nil} {
		if _, err := s.Ask(background, to, nothing); !errors.Is(err, actors.ErrStopped) {
			t.Fatalf("%v: got %v", to, err)
		}
	}
	ofNoAsk(t, s)
}

func TestAskWhoseMessageWasStillQueuedWhenTheActorStopped(t *testing.T) {
	s := newSystem(t)
	gate := newGatekeeper()
	pid, err := s.Spawn(blocking(gate))
	if err != nil {
		t.Fatal(err)
	}
	s.Send(background, pid, "block")
	<-gate.entered
	asked := make(chan error)
	go func() {
		_, err := s.Ask(background, pid, nothing)
		asked <- err
	}()
	eventually(t, "the question", func() bool { return stats(s, pid).Depth == 1 })
	s.ActorSystem().Root.Stop(pid)
	close(gate.open)
	if err := <-asked; !errors.Is(err, actors.ErrStopped) {
		t.Fatalf("got %v", err)
	}
}

func TestAskRefusesNil(t *testing.T) {
	s := newSystem(t)
	pid := spawn(t, s, "a", answerer)
	_, err := s.Ask(background, pid, func(*actor.PID) any { return nil })
	if !errors.Is(err, actors.ErrNilMessage) {
		t.Fatalf("got %v", err)
	}
	ofNoAsk(t, s)
}

func TestAsksWhileTheActorComesAndGoesAllEnd(t *testing.T) {
	s := newSystem(t)
	const name, askers, asks = "a", 4, 300
	pid := s.ActorSystem().NewLocalPID(name)
	end := make(chan struct{})
	var wg, respawner sync.WaitGroup
	respawner.Go(func() {
		for {
			if _, err := s.Spawn(actors.Spec{Name: name, New: func() actor.Actor {
				return actor.ReceiveFunc(answerer)
			}}); err != nil {
				t.Errorf("spawn: %v", err)
				return
			}
			if err := s.Stop(within(t), pid); err != nil {
				t.Errorf("stop: %v", err)
				return
			}
			select {
			case <-end:
				return
			default:
			}
		}
	})
	for range askers {
		wg.Go(func() {
			for range asks {
				got, err := s.Ask(background, pid, answer(func(c actor.Context, to *actor.PID) {
					c.Send(to, "yes")
				}))
				if err == nil && got != "yes" || err != nil && !errors.Is(err, actors.ErrStopped) {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	close(end)
	respawner.Wait()
	ofNoAsk(t, s)
}
