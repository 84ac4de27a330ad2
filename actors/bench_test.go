package actors_test

import (
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

// ball goes from one player to the other.
type ball struct{ left int }

// player returns the ball until none are left.
func player(done chan<- struct{}) actor.ReceiveFunc {
	return func(c actor.Context) {
		m, ok := c.Message().(*ball)
		if !ok {
			return
		}
		if m.left == 0 {
			done <- struct{}{}
			return
		}
		m.left--
		c.Request(c.Sender(), m)
	}
}

// stockSystem is proto.actor as it comes, but silent.
func stockSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

func stopStock(b *testing.B, sys *actor.ActorSystem, pids ...*actor.PID) {
	b.Helper()
	for _, pid := range pids {
		if err := sys.Root.StopFuture(pid).Wait(); err != nil {
			b.Fatal(err)
		}
	}
	sys.Shutdown()
}

func pingPong(b *testing.B, root *actor.RootContext, ping, pong *actor.PID, done <-chan struct{}) {
	b.ReportAllocs()
	b.ResetTimer()
	root.Send(ping, &actor.MessageEnvelope{Message: &ball{left: 2 * b.N}, Sender: pong})
	<-done
}

// BenchmarkPingPong measures two messages an operation, each waking an idle actor.
func BenchmarkPingPong(b *testing.B) {
	done := make(chan struct{})
	b.Run("stock", func(b *testing.B) {
		sys := stockSystem()
		ping := sys.Root.Spawn(actor.PropsFromFunc(player(done)))
		pong := sys.Root.Spawn(actor.PropsFromFunc(player(done)))
		pingPong(b, sys.Root, ping, pong, done)
		stopStock(b, sys, ping, pong)
	})
	b.Run("pooled", func(b *testing.B) {
		s := newSystem(b)
		ping, pong := spawn(b, s, "ping", player(done)), spawn(b, s, "pong", player(done))
		pingPong(b, s.ActorSystem().Root, ping, pong, done)
	})
}

// BenchmarkSend measures one-way messages from one sender.
func BenchmarkSend(b *testing.B) {
	sink := func(done chan<- struct{}) actor.ReceiveFunc {
		return func(c actor.Context) {
			if m, ok := c.Message().(*ball); ok && m.left == 0 {
				done <- struct{}{}
			}
		}
	}
	flood := func(b *testing.B, send func(m any), done <-chan struct{}) {
		b.ReportAllocs()
		b.ResetTimer()
		m := &ball{left: 1}
		for range b.N {
			send(m)
		}
		send(&ball{})
		<-done
	}
	done := make(chan struct{})
	b.Run("stock", func(b *testing.B) {
		sys := stockSystem()
		pid := sys.Root.Spawn(actor.PropsFromFunc(sink(done)))
		flood(b, func(m any) { sys.Root.Send(pid, m) }, done)
		stopStock(b, sys, pid)
	})
	b.Run("pooled", func(b *testing.B) {
		s := newSystem(b)
		pid := spawn(b, s, "sink", sink(done))
		flood(b, func(m any) { s.Send(background, pid, m) }, done)
	})
}

func BenchmarkAsk(b *testing.B) {
	s := newSystem(b)
	pid := spawn(b, s, "a", answerer)
	ask := answer(func(c actor.Context, to *actor.PID) { c.Send(to, "yes") })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Ask(background, pid, ask); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSpawnAndStopAChild(b *testing.B) {
	s := newSystem(b)
	done := make(chan struct{}, 1)
	pid := spawn(b, s, "parent", func(c actor.Context) {
		switch c.Message().(type) {
		case string:
			child, err := s.SpawnChild(c, actors.Spec{Name: "child", New: func() actor.Actor {
				return &actorstest.Parent{System: s}
			}})
			if err != nil {
				panic(err)
			}
			c.Stop(child)
		case *actor.Terminated:
			done <- struct{}{}
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		s.Send(background, pid, "go")
		<-done
	}
}
