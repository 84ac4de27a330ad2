package actors

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// gate stands on both sides of a mailbox, the own one or a simulator's. On the senders' side it
// refuses nil. On the actor's side it keeps away from an actor that stops what would revive it or
// what it can no longer handle.
type gate struct {
	actor.Mailbox
	cell    *cell
	invoker actor.MessageInvoker
}

var (
	_ actor.Mailbox        = (*gate)(nil)
	_ actor.MessageInvoker = (*gate)(nil)
)

func newGate(c *cell) *gate {
	g := &gate{Mailbox: c.sys.options.Mailbox(), cell: c}
	if named, ok := g.Mailbox.(interface{ Named(path string) }); ok { // a simulator's
		named.Named(c.id)
	}
	c.mu.Lock()
	c.mailbox = g.Mailbox
	c.mu.Unlock()
	if m, ok := g.Mailbox.(*mailbox); ok && c.sys.options.Waited != nil {
		m.observe(func(wait time.Duration) { c.sys.options.Waited(c.id, wait) })
	}
	return g
}

// PostUserMessage refuses nil, which proto.actor's queues take for "empty".
func (g *gate) PostUserMessage(msg any) {
	if isNil(msg) {
		g.cell.sys.refuseNil(g.cell.id)
		return
	}
	g.Mailbox.PostUserMessage(msg)
}

// RegisterHandlers puts the gate before the actor.
func (g *gate) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	g.invoker = invoker
	g.Mailbox.RegisterHandlers(g, dispatcher)
}

// InvokeUserMessage drops what arrives once the actor is stopping.
func (g *gate) InvokeUserMessage(msg any) {
	_, poison := actor.UnwrapEnvelopeMessage(msg).(*actor.PoisonPill)
	if g.cell.stopping() {
		if !poison {
			g.cell.dropped.Add(1)
			g.cell.sys.dropped.Add(1)
		}
		return
	}
	if !poison {
		g.cell.processed.Add(1)
	}
	g.invoker.InvokeUserMessage(msg)
}

// InvokeSystemMessage keeps back a Restart that the strategy did not order for this actor, or that
// comes behind a Stop: it would revive an actor whose parent waits for its end.
func (g *gate) InvokeSystemMessage(msg any) {
	if _, ok := msg.(*actor.Restart); ok && (g.cell.stopping() || !g.cell.restarting.Load()) {
		return
	}
	g.invoker.InvokeSystemMessage(msg)
}

// EscalateFailure takes a panic to the supervisor. An actor that is stopping goes on with that.
func (g *gate) EscalateFailure(reason, msg any) {
	c := g.cell
	c.sys.log.Warn("actor failed", slog.String("actor", c.id),
		slog.String("message", fmt.Sprintf("%T", actor.UnwrapEnvelopeMessage(msg))),
		slog.Any("reason", reason), stack())
	if c.stopping() {
		c.recovered.Add(1)
		return
	}
	c.fail(reason)
	g.invoker.EscalateFailure(reason, msg)
}
