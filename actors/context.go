package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// kitContext is the context that actors are given: proto.actor's, with some doors closed.
type kitContext struct {
	actor.Context
	cell *cell
}

var _ actor.Context = (*kitContext)(nil)

func (c *cell) decorate(next actor.ContextDecoratorFunc) actor.ContextDecoratorFunc {
	return func(ctx actor.Context) actor.Context {
		c.context = &kitContext{Context: next(ctx), cell: c}
		return c.context
	}
}

// Children are the living children, in a slice of the caller's own; proto.actor's is changed under
// the reader.
func (c *kitContext) Children() []*actor.PID { return slices.Clone(c.Context.Children()) }

// Watch has *actor.Terminated sent when who stops. A parent is told of its children anyway:
// watching them too would tell it twice, and the second time could bury a successor of the same
// name.
func (c *kitContext) Watch(who *actor.PID) {
	if child := c.cell.sys.lookup(who); child != nil && child.parent == c.cell {
		return
	}
	c.Context.Watch(who)
}

// Spawn panics: the kit's rules hold only for what System.SpawnChild spawned.
func (c *kitContext) Spawn(*actor.Props) *actor.PID {
	panic("actors: use System.SpawnChild, not Context.Spawn")
}

// SpawnPrefix panics like Spawn.
func (c *kitContext) SpawnPrefix(*actor.Props, string) *actor.PID {
	panic("actors: use System.SpawnChild with Spec.Numbered, not Context.SpawnPrefix")
}

// SpawnNamed panics like Spawn.
func (c *kitContext) SpawnNamed(*actor.Props, string) (*actor.PID, error) {
	panic("actors: use System.SpawnChild, not Context.SpawnNamed")
}

// Stash panics: a stash loses sender and headers, and is replayed only by a restart.
func (c *kitContext) Stash() {
	panic("actors: keep the message in the actor's own state, not in Context.Stash")
}

// SetReceiveTimeout panics: receive timeouts run on the wall clock, fire once, and race.
func (c *kitContext) SetReceiveTimeout(time.Duration) {
	panic("actors: use Timers, not Context.SetReceiveTimeout")
}

// RequestFuture panics: a future blocks, and a reply that races its timeout can give both.
func (c *kitContext) RequestFuture(*actor.PID, any, time.Duration) *actor.Future {
	panic("actors: use a request id, a reply message and Timers, not Context.RequestFuture")
}

// ReenterAfter panics: a continuation runs the closure of an earlier incarnation after a restart.
func (c *kitContext) ReenterAfter(*actor.Future, func(any, error)) {
	panic("actors: use a request id and a reply message, not Context.ReenterAfter")
}

// StopFuture panics: its timeout of 10 s is fixed, and it blocks.
func (c *kitContext) StopFuture(*actor.PID) *actor.Future {
	panic("actors: use Context.Stop and *actor.Terminated, not Context.StopFuture")
}

// PoisonFuture panics like StopFuture.
func (c *kitContext) PoisonFuture(*actor.PID) *actor.Future {
	panic("actors: use Context.Poison and *actor.Terminated, not Context.PoisonFuture")
}
