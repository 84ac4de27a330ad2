package actors_test

import (
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
)

// One system after another lives in the same base, under the same names, and leaves it empty.
func TestSystemsFollowEachOtherInOneBase(t *testing.T) {
	base := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
	for range 3 {
		s, err := actors.NewSystem(actors.Options{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		spawn(t, s, "echo", func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				c.Respond("echo")
			}
		})
		pid := base.NewLocalPID("echo")
		if reply, err := s.Ask(within(t), pid, nothing); err != nil || reply != "echo" {
			t.Fatalf("%v, %v", reply, err)
		}
		if err := s.Shutdown(within(t)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"echo", "$guardian", "$ask"} {
			if n := processes(s, name); n != 0 {
				t.Fatalf("%d processes %s are left", n, name)
			}
		}
	}
	base.Shutdown()
}
