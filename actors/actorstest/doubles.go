package actorstest

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
)

// Fail makes a Failing panic with Reason.
type Fail struct{ Reason any }

// Failing is an actor that sends every message it gets on to Report, its lifecycle's too, and then
// panics on Fail.
type Failing struct{ Report *actor.PID }

// NewFailing is a Spec.New.
func NewFailing(report *actor.PID) func() actor.Actor {
	return func() actor.Actor { return &Failing{Report: report} }
}

// Receive handles a message.
func (f *Failing) Receive(c actor.Context) {
	c.Send(f.Report, c.Message())
	if m, ok := c.Message().(Fail); ok {
		panic(m.Reason)
	}
}

// Do is a function that a Parent runs within Receive.
type Do func(c actor.Context)

// Spawned tells of a child that a Parent started.
type Spawned struct{ PID *actor.PID }

// Parent is an actor that starts Children at *actor.Started, one Spawned each, and sends on what it
// is told of them: ChildRestarted, ChildFailed, *actor.Terminated. It runs every Do it gets.
type Parent struct {
	System   *actors.System
	Report   *actor.PID
	Children []actors.Spec
}

// Receive handles a message.
func (p *Parent) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		for _, sp := range p.Children {
			pid, err := p.System.SpawnChild(c, sp)
			if err != nil {
				panic(fmt.Errorf("actorstest: parent: %w", err))
			}
			c.Send(p.Report, Spawned{pid})
		}
	case actors.ChildRestarted, actors.ChildFailed, *actor.Terminated:
		c.Send(p.Report, m)
	case Do:
		m(c)
	}
}
