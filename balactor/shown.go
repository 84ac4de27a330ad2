package balactor

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/telemetry"
)

// show tells the monitor of an answer. The block's pass is over by then, but for its phases, which
// the answer has.
func (a *applyActor) show(e *answer) {
	mode := a.cfg.Options.Apply.String()
	switch m := e.msg.(type) {
	case *messages.BlockApplied:
		a.cfg.Monitor.BlockApplied(mode, m)
	case *messages.BlockRejected:
		a.cfg.Monitor.BlockRejected(mode, errorType(m.Err), m, e.took)
	case *messages.Rewound:
		a.cfg.Monitor.Rewound(m.Blocks)
	}
}

// rootReady notes that the root of the block in hand is proven since b.mark.
func (a *applyActor) rootReady(b *block) {
	if b.request.apply == nil {
		return
	}
	lag, sampled := a.cfg.Monitor.RootReady(b.hash, b.mark)
	if !a.hold.span.IsRecording() {
		return
	}
	o := []trace.EventOption{trace.WithTimestamp(b.mark)}
	if sampled {
		o = append(o, trace.WithAttributes(
			attribute.Float64(telemetry.AttrRootLag, lag.Seconds())))
	}
	a.hold.span.AddEvent(telemetry.EventRootReady, o...)
}

// lost notes that a worker failed, on the pass in hand.
func (h *hold) lost(event string, worker int, reason any) {
	if h.span != nil && h.span.IsRecording() {
		h.span.AddEvent(event, trace.WithAttributes(
			attribute.Int(telemetry.AttrWorker, worker),
			attribute.String(telemetry.AttrFailure, fmt.Sprint(reason))))
	}
}

// failed notes that the actor itself failed with a pass in hand: whoever waits sends it again.
func (h *hold) failed() {
	if h.span != nil {
		h.span.AddEvent(telemetry.EventActorRestarted)
		h.span.SetStatus(codes.Error, "the actor failed and was restarted")
	}
}

// errorTypes are the reasons for rejections that a metric tells apart, the first that fits.
var errorTypes = []struct {
	is   error
	name string
}{
	{ErrWrongRoot, "wrong_root"}, {ErrBALHash, "bal_hash"}, {ErrNoBAL, "no_bal"},
	{ErrBadHeader, "bad_header"}, {ErrPreAmsterdam, "pre_amsterdam"},
	{ErrUnknownParent, "unknown_parent"}, {ErrOrphanSlot, "orphan_slot"}, {ErrBusy, "busy"},
	{ErrGivenUp, "given_up"}, {ErrWorkerFailed, "worker"}, {ErrNoState, "no_state"},
	{bal.ErrNotAvailable, "no_bal"}, {bal.ErrNotCanonical, "not_canonical"},
	{bal.ErrAddressOrder, "order"}, {bal.ErrSlotOrder, "order"}, {bal.ErrReadOrder, "order"},
	{bal.ErrIndexOrder, "order"}, {bal.ErrSlotInBoth, "slot_in_both"},
	{bal.ErrEmptySlotChanges, "empty_slot_changes"}, {bal.ErrIndexRange, "index_range"},
	{bal.ErrTooManyItems, "too_many_items"}, {bal.ErrCodeTooLarge, "code_too_large"},
	{state.ErrStoreFailed, "store"}, {state.ErrCorrupt, "store"}, {state.ErrClosed, "closed"},
}

// errorType is an error's kind: few values, because each is a time series.
func errorType(err error) string {
	for _, e := range errorTypes {
		if errors.Is(err, e.is) {
			return e.name
		}
	}
	return "other"
}
