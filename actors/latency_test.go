package actors

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Of many messages some are timed, each by its own wait: none is longer than the whole took.
func TestSomeMessagesAreTimed(t *testing.T) {
	var told atomic.Int64
	var longest atomic.Int64
	sys, err := NewSystem(Options{Waited: func(path string, wait time.Duration) {
		if path != "timed" || wait < 0 {
			t.Errorf("%s waited %v", path, wait)
		}
		told.Add(1)
		longest.Store(max(longest.Load(), int64(wait)))
	}})
	if err != nil {
		t.Fatal(err)
	}
	const messages = 1000
	var got atomic.Int64
	done := make(chan struct{})
	pid, err := sys.Spawn(Spec{Name: "timed", New: func() actor.Actor {
		return actor.ReceiveFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok && got.Add(1) == messages {
				close(done)
			}
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for i := range messages {
		sys.Send(t.Context(), pid, i)
	}
	<-done
	took := time.Since(start)
	if err := sys.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := told.Load(); n == 0 || n > messages/timedEvery+1 {
		t.Errorf("%d of %d messages were timed", n, messages)
	}
	if time.Duration(longest.Load()) > took {
		t.Errorf("a message waited %v of %v", time.Duration(longest.Load()), took)
	}
}
