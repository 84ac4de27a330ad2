package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

// traced is a context with a span.
func traced(t testing.TB) context.Context {
	t.Helper()
	state, err := trace.ParseTraceState("vendor=value")
	if err != nil {
		t.Fatal(err)
	}
	return trace.ContextWithSpanContext(background, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5},
		TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
}

// hop is a message that goes from one actor to the next.
type hop struct{ route []*actor.PID }

// hopper sends a hop on, and reports the span it came in at the end of its route.
func hopper(report *actor.PID) actor.ReceiveFunc {
	return func(c actor.Context) {
		m, ok := c.Message().(hop)
		if !ok {
			return
		}
		if len(m.route) > 0 {
			c.Send(m.route[0], hop{m.route[1:]})
			return
		}
		c.Send(report, trace.SpanContextFromContext(actors.Ctx(c)))
	}
}

func TestTraceGoesAlongWithWhatIsSent(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	a := spawn(t, s, "a", hopper(probe.PID))
	b := spawn(t, s, "b", hopper(probe.PID))
	ctx := traced(t)
	s.Send(ctx, a, hop{[]*actor.PID{b, a, b}})
	got := actorstest.Expect[trace.SpanContext](t, probe)
	if want := trace.SpanContextFromContext(ctx); !got.Equal(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got.IsRemote() {
		t.Fatal("a span of this process counts as remote")
	}
}

func TestTraceEndsWithItsMessage(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	a := spawn(t, s, "a", func(c actor.Context) {
		switch c.Message().(type) {
		case string:
			panic(errBoom)
		case hop:
			hopper(probe.PID)(c)
		}
	})
	s.Send(traced(t), a, hop{})
	s.Send(traced(t), a, "fail")
	s.Send(background, a, hop{})
	if got := actorstest.Expect[trace.SpanContext](t, probe); !got.IsValid() {
		t.Fatal("the first message has lost its trace")
	}
	if got := actorstest.Expect[trace.SpanContext](t, probe); got.IsValid() {
		t.Fatalf("a message without a trace came in %v", got)
	}
}

func TestTraceCarriesNoDeadlineAndNoCancellation(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	a := spawn(t, s, "a", func(c actor.Context) {
		if _, ok := c.Message().(string); ok {
			ctx := actors.Ctx(c)
			_, deadline := ctx.Deadline()
			c.Send(probe.PID, deadline || ctx.Err() != nil)
		}
	})
	ctx, cancel := context.WithTimeout(traced(t), time.Hour)
	cancel()
	s.Send(ctx, a, "hello")
	if actorstest.Expect[bool](t, probe) {
		t.Fatal("the sender's deadline or cancellation came along")
	}
}

func TestTraceGoesThroughTimersAndAsks(t *testing.T) {
	clock := actors.NewManualClock(epoch)
	s := actorstest.NewSystem(t, actors.Options{Clock: clock})
	var timers *actors.Timers
	a := spawn(t, s, "a", func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			timers = actors.NewTimers(s, c.Self())
		case *actor.PID:
			timers.Start("reply", time.Second, m)
		case actors.TimerFired:
			if to, ok := timers.Accept(m); ok {
				c.Send(to.(*actor.PID), trace.SpanContextFromContext(actors.Ctx(c)))
			}
		}
	})
	go func() {
		clock.WaitPending(1)
		clock.Advance(time.Second)
	}()
	ctx, cancel := context.WithTimeout(traced(t), patience)
	defer cancel()
	got, err := s.Ask(ctx, a, func(to *actor.PID) any { return to })
	if err != nil {
		t.Fatal(err)
	}
	if want := trace.SpanContextFromContext(ctx); !want.Equal(got.(trace.SpanContext)) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
