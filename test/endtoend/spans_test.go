package endtoend

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/balsa-sync/balsa/telemetry"
)

// traced opens a node whose spans are kept.
func traced(t *testing.T, n *node) *tracetest.SpanRecorder {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	n.close()
	n.opts.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	n.open()
	return spans
}

// A block is one trace: its span at the top, its phases below it, across the actors' boundaries.
func TestABlockIsOneSpanWithItsPhasesBelow(t *testing.T) {
	c := generate(t, "mix", 6, 2, 60)
	n := newNode(t, c, 3)
	spans := traced(t, n)
	n.apply(c.Blocks[0])

	children := map[string]int{}
	var block sdktrace.ReadOnlySpan
	for _, s := range spans.Ended() {
		if s.Name() == telemetry.SpanBlockApply {
			block = s
		} else {
			children[s.Name()]++
		}
	}
	if block == nil {
		t.Fatal("the block has no span")
	}
	for _, s := range spans.Ended() {
		if s != block && s.Parent().SpanID() != block.SpanContext().SpanID() {
			t.Errorf("%s is not below the block's span", s.Name())
		}
		if s.StartTime().Before(block.StartTime()) || s.EndTime().After(block.EndTime()) ||
			s.EndTime().Before(s.StartTime()) {
			t.Errorf("%s runs from %v to %v, the block from %v to %v", s.Name(), s.StartTime(),
				s.EndTime(), block.StartTime(), block.EndTime())
		}
	}
	for _, name := range []string{
		telemetry.SpanBALDecode, telemetry.SpanAccountRoot, telemetry.SpanStateCommit,
	} {
		if children[name] != 1 {
			t.Errorf("%d spans %s, want 1", children[name], name)
		}
	}
	jobs := children[telemetry.SpanStorageRoots] // one or more, as the block's weight falls
	if jobs < 2 || children[telemetry.SpanBALWarmup] != jobs {
		t.Errorf("%d spans of storage roots and %d of warm-up", jobs,
			children[telemetry.SpanBALWarmup])
	}
	attrs := attribute.NewSet(block.Attributes()...)
	if v, _ := attrs.Value(telemetry.AttrBlockNumber); v.AsInt64() != 1 {
		t.Errorf("the block's number is %v", v.Emit())
	}
	if v, _ := attrs.Value(telemetry.AttrBlockHash); v.AsString() != c.Blocks[0].Hash().Hex() {
		t.Errorf("the block's hash is %v", v.Emit())
	}
}

func TestARejectedBlocksSpanSaysWhy(t *testing.T) {
	c := generate(t, "mix", 6, 1, 10)
	n := newNode(t, c, 1)
	spans := traced(t, n)
	in := blockOf(t, c.Blocks[0])
	in.Header.Root = anyHash
	if _, err := n.engine.Apply(t.Context(), in); err == nil {
		t.Fatal("a wrong root was applied")
	}
	for _, s := range spans.Ended() {
		if s.Name() != telemetry.SpanBlockApply {
			continue
		}
		if s.Status().Code != codes.Error || s.Status().Description == "" {
			t.Fatalf("status %+v", s.Status())
		}
		return
	}
	t.Fatal("the block has no span")
}
