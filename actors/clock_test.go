package actors

import (
	"slices"
	"testing"
	"time"
)

func TestManualClockFiresByDeadlineThenByOrderOfStart(t *testing.T) {
	start := time.Unix(1000, 0)
	c := NewManualClock(start)
	var got []string
	var at []time.Duration
	timer := func(name string, d time.Duration) func() bool {
		return c.AfterFunc(d, func() {
			got = append(got, name)
			at = append(at, c.Now().Sub(start))
		})
	}
	timer("c", 3)
	timer("a", 1)
	timer("b", 1)
	stopped := timer("x", 2)
	timer("late", 11)
	timer("first", -5)
	if !stopped() || stopped() {
		t.Fatal("a timer stops once")
	}
	c.AfterFunc(3, func() { timer("nested", 0); timer("nested late", 100) })
	if len(got) != 0 {
		t.Fatalf("%v fired before an Advance", got)
	}
	c.Advance(10)
	if want := []string{"first", "a", "b", "c", "nested"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want := []time.Duration{0, 1, 1, 3, 3}; !slices.Equal(at, want) {
		t.Fatalf("at %v, want %v", at, want)
	}
	if d := c.Now().Sub(start); d != 10 || c.Pending() != 2 {
		t.Fatalf("at %d with %d timers", d, c.Pending())
	}
	c.Advance(-5)
	if d := c.Now().Sub(start); d != 10 {
		t.Fatalf("the clock went back to %d", d)
	}
}

func TestTimerThatFiredCannotBeStopped(t *testing.T) {
	c := NewManualClock(time.Unix(0, 0))
	stop := c.AfterFunc(1, func() {})
	c.Advance(1)
	if stop() {
		t.Fatal("stopped")
	}
}

func TestRealClockFiresAndStops(t *testing.T) {
	c := RealClock()
	fired := make(chan struct{})
	stop := c.AfterFunc(time.Hour, func() { close(fired) })
	if !stop() {
		t.Fatal("not stopped")
	}
	c.AfterFunc(0, func() { close(fired) })
	<-fired
	if d := time.Since(c.Now()); d < 0 || d > time.Hour {
		t.Fatalf("its time is %v off", d)
	}
}

func TestBackoffDoublesUpToTheWindow(t *testing.T) {
	r := Restarts{Within: 100, Backoff: 10}
	want := []time.Duration{10, 20, 40, 80, 100, 100}
	for i, d := range want {
		if got := r.backoff(i + 1); got != d {
			t.Fatalf("failure %d: %d, want %d", i+1, got, d)
		}
	}
	if d := r.backoff(1_000_000); d != 100 {
		t.Fatalf("after many failures: %d", d)
	}
	if r.Backoff = -1; r.backoff(3) != 0 {
		t.Fatal("a negative backoff is none")
	}
}
