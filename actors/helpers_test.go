package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a test waits for; it is only used up by a test that fails.
const patience = 30 * time.Second

var (
	background = context.Background()
	epoch      = time.Unix(1_700_000_000, 0)
	errBoom    = errors.New("boom")
	// atOnce restarts without a backoff, so that a test needs no clock.
	atOnce = actors.Restarts{Max: 100, Backoff: -1}
)

func newSystem(t testing.TB) *actors.System {
	t.Helper()
	return actorstest.NewSystem(t, actors.Options{Restarts: atOnce})
}

func spawn(t testing.TB, s *actors.System, name string, f actor.ReceiveFunc) *actor.PID {
	t.Helper()
	return spawnNew(t, s, name, func() actor.Actor { return f })
}

func spawnNew(t testing.TB, s *actors.System, name string, f func() actor.Actor) *actor.PID {
	t.Helper()
	pid, err := s.Spawn(actors.Spec{Name: name, New: f, Children: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// spawnParent starts a Parent and its children.
func spawnParent(
	t testing.TB, s *actors.System, p *actorstest.Probe, r actors.Restarts, children ...actors.Spec,
) (parent *actor.PID, pids []*actor.PID) {
	t.Helper()
	parent, err := s.Spawn(actors.Spec{Name: "parent", Children: r, New: func() actor.Actor {
		return &actorstest.Parent{System: s, Report: p.PID, Children: children}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range children {
		pids = append(pids, actorstest.Expect[actorstest.Spawned](t, p).PID)
	}
	return parent, pids
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, patience)
	t.Cleanup(cancel)
	return ctx
}

func stop(t testing.TB, s *actors.System, pid *actor.PID) {
	t.Helper()
	if err := s.Stop(within(t), pid); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something that happens on another goroutine and sends no message.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: did not happen", what)
		}
	}
}

func stats(s *actors.System, pid *actor.PID) actors.ActorStats {
	for _, a := range s.Stats().Actors {
		if a.Path == pid.Id {
			return a
		}
	}
	return actors.ActorStats{}
}

// processes counts the registered processes whose name has a prefix.
func processes(s *actors.System, prefix string) (n int) {
	for _, bucket := range s.ActorSystem().ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, key := range bucket.Keys() {
			if strings.HasPrefix(key, prefix) {
				n++
			}
		}
	}
	return n
}

// gatekeeper is an actor that waits within Receive until a gate opens.
type gatekeeper struct {
	entered chan struct{}
	open    chan struct{}
}

func newGatekeeper() gatekeeper {
	return gatekeeper{entered: make(chan struct{}, 1), open: make(chan struct{})}
}

func (g gatekeeper) wait() {
	g.entered <- struct{}{}
	<-g.open
}

// specOf is an actor that is a function.
func specOf(name string, f actor.ReceiveFunc) actors.Spec {
	return actors.Spec{Name: name, New: func() actor.Actor { return f }}
}

// blocking is an actor that waits at the gate when it gets a string.
func blocking(gate gatekeeper) actors.Spec {
	return specOf("blocking", func(c actor.Context) {
		if _, ok := c.Message().(string); ok {
			gate.wait()
		}
	})
}

// panicky is an actor that panics on some messages.
func panicky(on func(m any) bool) actors.Spec {
	return specOf("panicky", func(c actor.Context) {
		if on(c.Message()) {
			panic(errBoom)
		}
	})
}

// idle is an actor that does nothing.
func idle(name string, numbered bool) actors.Spec {
	sp := specOf(name, func(actor.Context) {})
	sp.Numbered = numbered
	return sp
}

func nothing(*actor.PID) any { return "nothing" }
