package actors

import (
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// orders are what the strategy tells a parent to do.
type orders struct{ given []string }

func (o *orders) Children() []*actor.PID        { return nil }
func (o *orders) EscalateFailure(any, any)      { o.given = append(o.given, "escalate") }
func (o *orders) RestartChildren(...*actor.PID) { o.given = append(o.given, "restart") }
func (o *orders) StopChildren(...*actor.PID)    { o.given = append(o.given, "stop") }
func (o *orders) ResumeChildren(...*actor.PID)  { o.given = append(o.given, "resume") }
func (o *orders) expect(t *testing.T, w ...string) {
	t.Helper()
	if !slices.Equal(o.given, w) {
		t.Fatalf("ordered %v, want %v", o.given, w)
	}
}

// family makes a parent and its child, as far as the strategy sees them.
func family(t *testing.T) (v supervision, clock *ManualClock, parent, child *cell, pid *actor.PID) {
	t.Helper()
	clock = NewManualClock(time.Unix(0, 0))
	s, err := NewSystem(Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	parent = &cell{sys: s, id: "parent"}
	if err := parent.spec.Children.validate(); err != nil {
		t.Fatal(err)
	}
	child = &cell{sys: s, id: "parent/child", parent: parent}
	for _, c := range []*cell{parent, child} {
		s.cells[c.id] = c
		c.state.Store(stateRunning)
	}
	return supervision{s}, clock, parent, child, s.system.NewLocalPID(child.id)
}

func TestFailureOfAChildWhoseParentStopsOrRestartsOrdersNothing(t *testing.T) {
	for _, state := range []int32{stateRestarting, stateStopping, stateStopped} {
		v, clock, parent, _, pid := family(t)
		parent.state.Store(state) // the child has been told to stop
		var got orders
		v.HandleFailure(nil, &got, pid, nil, "reason", nil)
		clock.Advance(time.Hour)
		got.expect(t)
	}
}

func TestFailureOfAChildThatStopsOrdersNothing(t *testing.T) {
	for _, state := range []int32{stateStopping, stateStopped} {
		v, clock, _, child, pid := family(t)
		child.state.Store(state)
		var got orders
		v.HandleFailure(nil, &got, pid, nil, "reason", nil)
		clock.Advance(time.Hour)
		got.expect(t)
	}
}

func TestSecondFailureBeforeTheRestartIsNotOneMore(t *testing.T) {
	v, clock, _, child, pid := family(t)
	var got orders
	for range 10 {
		v.HandleFailure(nil, &got, pid, nil, "reason", nil)
	}
	if len(child.failures) != 1 {
		t.Fatalf("%d failures counted, want 1", len(child.failures))
	}
	clock.Advance(time.Hour)
	got.expect(t, "restart")
}

func TestStrategyOnlyRestartsAndStops(t *testing.T) {
	v, clock, _, child, pid := family(t)
	var got orders
	for range 5 {
		v.HandleFailure(nil, &got, pid, nil, "reason", nil)
		clock.Advance(time.Second)
		child.restarting.Store(false) // as the next incarnation does
	}
	got.expect(t, "restart", "restart", "restart", "stop", "stop")
	if _, gaveUp := child.lastFailure(); !gaveUp {
		t.Fatal("the parent would not be told")
	}
}
