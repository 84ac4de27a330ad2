package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// A trace travels in the headers of a message's envelope, as W3C trace context. A message outside
// any trace has no headers and costs nothing.
const (
	headerParent = "traceparent"
	headerState  = "tracestate"
)

// Ctx is the context of the message that c is handling: it carries the span that the message was
// sent in, and neither deadline nor cancellation. What the actor sends with c within the same
// Receive carries that span too; to send in another one use [System.Send].
func Ctx(c actor.Context) context.Context {
	h := c.MessageHeader()
	if h == nil || h.Length() == 0 {
		return context.Background()
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), headers{read: h})
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return context.Background()
	}
	return trace.ContextWithSpanContext(context.Background(), span.WithRemote(false))
}

// wrap puts a message into an envelope where it has to carry something; else it is nil.
func wrap(ctx context.Context, msg any, sender *actor.PID) *actor.MessageEnvelope {
	traced := trace.SpanContextFromContext(ctx).IsValid()
	if sender == nil && !traced {
		return nil
	}
	env := &actor.MessageEnvelope{Message: actor.UnwrapEnvelopeMessage(msg), Sender: sender}
	if sender == nil {
		env.Sender = actor.UnwrapEnvelopeSender(msg)
	}
	if traced {
		propagation.TraceContext{}.Inject(ctx, headers{write: env})
	}
	return env
}

// inherit has the current message's trace go with an envelope that has none of its own.
func inherit(c actor.SenderContext, env *actor.MessageEnvelope) {
	if len(env.Header) > 0 {
		return
	}
	h := c.MessageHeader()
	if h == nil || h.Length() == 0 {
		return
	}
	for _, key := range []string{headerParent, headerState} {
		if v := h.Get(key); v != "" {
			env.SetHeader(key, v)
		}
	}
}

// headers is an envelope's headers as OpenTelemetry reads or writes them.
type headers struct {
	read  actor.ReadonlyMessageHeader
	write *actor.MessageEnvelope
}

var _ propagation.TextMapCarrier = headers{}

// Get reads a header.
func (h headers) Get(key string) string { return h.read.Get(key) }

// Set writes a header.
func (h headers) Set(key, value string) { h.write.SetHeader(key, value) }

// Keys are the headers' names.
func (h headers) Keys() []string { return h.read.Keys() }

// context is the current message's, where the timers are an actor's.
func (t *Timers) context() context.Context {
	if t.cell == nil || t.cell.context == nil {
		return context.Background()
	}
	return Ctx(t.cell.context)
}
