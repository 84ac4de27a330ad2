package telemetry

import (
	"strconv"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// admission lets spans into the SDK's queue while there is room, and counts those that it drops:
// the SDK drops them in silence. It never waits.
type admission struct {
	sdktrace.SpanProcessor
	max     int64
	pending atomic.Int64 // in the queue, or in the export under way
	dropped atomic.Uint64
}

// newAdmission makes the queue before the exporter.
func newAdmission(e *countingExporter, getenv func(string) string) *admission {
	a := &admission{max: sdktrace.DefaultMaxQueueSize}
	if n, err := strconv.ParseInt(getenv("OTEL_BSP_MAX_QUEUE_SIZE"), 10, 64); err == nil {
		a.max = n // checkEnvironment has seen to its range
	}
	e.taken = func(spans int) { a.pending.Add(-int64(spans)) }
	a.SpanProcessor = sdktrace.NewBatchSpanProcessor(e)
	return a
}

// OnEnd implements sdktrace.SpanProcessor.
func (a *admission) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if a.pending.Add(1) > a.max {
		a.pending.Add(-1)
		a.dropped.Add(1)
		return
	}
	a.SpanProcessor.OnEnd(s)
}

// lastExport is how long an export that was canceled is waited for.
const lastExport = 100 * time.Millisecond

// end counts what is still in the queue as dropped: nobody takes it any more. turn is the
// exporter's: an export under way has been canceled, and counts its spans itself.
func (a *admission) end(turn chan struct{}) {
	timer := time.NewTimer(lastExport)
	defer timer.Stop()
	select {
	case turn <- struct{}{}:
		<-turn
	case <-timer.C:
	}
	if left := a.pending.Swap(0); left > 0 {
		a.dropped.Add(uint64(left))
	}
}
