package actors

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

func TestAskOfAnActorThatHasClosedIsRefused(t *testing.T) {
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &cell{sys: s, id: "a"}
	before, after := s.newAsk(), s.newAsk()
	defer before.close()
	defer after.close()
	if !c.addAsk(before) {
		t.Fatal("refused before")
	}
	c.close()
	if out := <-before.outcome; !errors.Is(out.err, ErrStopped) {
		t.Fatalf("got %v", out.err)
	}
	if c.addAsk(after) {
		t.Fatal("accepted: it would wait for its timeout")
	}
}

func TestActorThatIsBornIntoAShutdownIsStopped(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	s, err := NewSystem(Options{Mailbox: func() actor.Mailbox { // in the midst of the spawn
		close(entered)
		<-open
		return newMailbox()
	}})
	if err != nil {
		t.Fatal(err)
	}
	spawned := make(chan error)
	stopped := make(chan struct{})
	go func() {
		_, err := s.Spawn(Spec{Name: "late", New: func() actor.Actor {
			return actor.ReceiveFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Stopped); ok {
					close(stopped)
				}
			})
		}})
		spawned <- err
	}()
	<-entered
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	close(open)
	if err := <-spawned; !errors.Is(err, ErrShutdown) {
		t.Fatalf("got %v", err)
	}
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("it lives")
	}
}
