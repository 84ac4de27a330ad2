package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// shell is one incarnation of an actor, wrapped: it keeps the actor's state and recovers where a
// panic would wedge or revive it.
type shell struct {
	cell        *cell
	incarnation uint64
	actor       actor.Actor
	failed      error // why there is no actor
}

// Receive hands one message to the actor.
func (sh *shell) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		sh.started(c)
	case *actor.Restarting:
		sh.restarting(c)
	case *actor.Stopping:
		sh.cell.state.Store(stateStopping)
		sh.guarded(c)
		sh.stopTimers()
	case *actor.Stopped:
		sh.guarded(c)
		sh.cell.state.Store(stateStopped)
		sh.cell.close()
		if sh.cell.parent != nil { // else the guardian does it, when the name is free
			close(sh.cell.done)
		}
	case *actor.Terminated:
		sh.terminated(c, m.Who)
	case ChildRestarted:
		sh.fromChild(c, m.incarnation)
	case ChildFailed:
		sh.fromChild(c, m.incarnation)
	default:
		sh.actor.Receive(c)
	}
}

func (sh *shell) started(c actor.Context) {
	sh.cell.state.Store(stateRunning)
	sh.cell.restarting.Store(false)
	if sh.failed != nil {
		panic(sh.failed)
	}
	sh.actor.Receive(c)
	if parent := sh.cell.parent; parent != nil && sh.incarnation > 1 {
		reason, _ := sh.cell.lastFailure()
		c.Send(c.Parent(), ChildRestarted{
			Child: c.Self(), Reason: reason, incarnation: sh.cell.parentIncarnation,
		})
	}
}

func (sh *shell) restarting(c actor.Context) {
	sh.cell.state.Store(stateRestarting)
	sh.stopTimers()
	sh.guarded(c)
}

// terminated frees a child's name before the actor is told, so that it can spawn the child again.
func (sh *shell) terminated(c actor.Context, who *actor.PID) {
	if child := sh.cell.sys.bury(who, sh.cell); child != nil && sh.cell.running() {
		if reason, gaveUp := child.lastFailure(); gaveUp {
			c.Send(c.Self(), ChildFailed{
				Child: who, Reason: reason, incarnation: sh.incarnation,
			})
		}
	}
	if sh.cell.running() {
		sh.actor.Receive(c)
		return
	}
	// A panic here would keep proto.actor from seeing that this was the last child.
	sh.guarded(c)
}

// fromChild keeps from an incarnation what concerns the children of an earlier one. Zero stands for
// a message that some test made.
func (sh *shell) fromChild(c actor.Context, incarnation uint64) {
	if incarnation == 0 || incarnation == sh.incarnation {
		sh.actor.Receive(c)
	}
}

// guarded hands over a message at a time when a panic must not reach proto.actor.
func (sh *shell) guarded(c actor.Context) {
	if sh.actor == nil {
		return
	}
	defer func() {
		reason := recover()
		if reason == nil {
			return
		}
		sh.cell.recovered.Add(1)
		sh.cell.sys.log.Error("actor panicked while it stopped", slog.String("actor", sh.cell.id),
			slog.String("message", fmt.Sprintf("%T", c.Message())),
			slog.Any("reason", reason), stack())
	}()
	sh.actor.Receive(c)
}

func (sh *shell) stopTimers() {
	for _, t := range sh.cell.timers {
		t.close()
	}
	sh.cell.timers = nil
}
