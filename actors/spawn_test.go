package actors_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
)

func TestNamesAreUniqueBelowAParent(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	parent, _ := spawnParent(t, s, probe, atOnce, idle("a", false))
	made := 0
	spec := actors.Spec{Name: "a", New: func() actor.Actor {
		made++
		return actor.ReceiveFunc(func(actor.Context) {})
	}}
	s.Send(background, parent, actorstest.Do(func(c actor.Context) {
		_, err := s.SpawnChild(c, spec)
		c.Send(probe.PID, err)
	}))
	if err := actorstest.Expect[error](t, probe); !errors.Is(err, actors.ErrNameTaken) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Spawn(spec); err != nil {
		t.Fatalf("the name is free at the top: %v", err)
	}
	for _, name := range []string{"a", "deadletter", "eventstream"} {
		spec.Name = name
		if _, err := s.Spawn(spec); !errors.Is(err, actors.ErrNameTaken) {
			t.Fatalf("%s: got %v", name, err)
		}
	}
}

func TestNumberedNamesAreNeverUsedTwice(t *testing.T) {
	s := newSystem(t)
	seen := map[string]bool{}
	for range 20 {
		pid, err := s.Spawn(idle("worker", true))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^worker-\d+$`).MatchString(pid.Id) || seen[pid.Id] {
			t.Fatalf("%s, after %v", pid.Id, seen)
		}
		seen[pid.Id] = true
		stop(t, s, pid)
	}
}

func TestNameIsFreeAgainWhenStopReturns(t *testing.T) {
	s := newSystem(t)
	for range 200 {
		pid, err := s.Spawn(idle("a", false))
		if err != nil {
			t.Fatal(err)
		}
		stop(t, s, pid)
	}
}

func TestSuccessorOfTheSameNameIsAChildLikeItsPredecessor(t *testing.T) {
	s := newSystem(t)
	probe, report := actorstest.NewProbe(t, s), actorstest.NewProbe(t, s)
	spec := actors.Spec{Name: "child", New: actorstest.NewFailing(report.PID)}
	var names []string
	pid := spawn(t, s, "parent", func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started, *actor.Terminated:
			child, err := s.SpawnChild(c, spec)
			if err != nil {
				return // stopping
			}
			c.Watch(child) // ignored: it would be told twice
			for _, ch := range c.Children() {
				names = append(names, ch.Id)
			}
			c.Send(probe.PID, child)
		case *actor.PID:
			c.Stop(m)
		}
	})
	for range 3 {
		s.Send(background, pid, actorstest.Expect[*actor.PID](t, probe))
	}
	actorstest.Expect[*actor.PID](t, probe)
	stop(t, s, pid)
	if got := strings.Join(names, " "); got != strings.Repeat("parent/child ", 3)+"parent/child" {
		t.Fatalf("children: %s", got)
	}
	for range 4 { // each of them was stopped
		actorstest.Expect[*actor.Started](t, report)
		actorstest.Expect[*actor.Stopping](t, report)
		actorstest.Expect[*actor.Stopped](t, report)
	}
	actorstest.ExpectNone(t, probe)
}

func TestSpecsThatCannotBeUsedAreRefused(t *testing.T) {
	s := newSystem(t)
	do := func() actor.Actor { return actor.ReceiveFunc(func(actor.Context) {}) }
	children := actors.Restarts{Within: -1}
	for name, c := range map[string]struct {
		spec actors.Spec
		want error
	}{
		"no name":         {actors.Spec{New: do}, actors.ErrBadName},
		"a path":          {actors.Spec{Name: "a/b", New: do}, actors.ErrBadName},
		"the kit's own":   {actors.Spec{Name: "$ask1", New: do}, actors.ErrBadName},
		"a long name":     {actors.Spec{Name: strings.Repeat("a", 65), New: do}, actors.ErrBadName},
		"no New":          {actors.Spec{Name: "a"}, actors.ErrBadSpec},
		"negative Within": {actors.Spec{Name: "a", New: do, Children: children}, actors.ErrBadSpec},
	} {
		if _, err := s.Spawn(c.spec); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := s.SpawnChild(nil, idle("a", false)); !errors.Is(err, actors.ErrBadSpec) {
		t.Errorf("a foreign context: got %v", err)
	}
}

func TestOptionsThatCannotBeUsedAreRefused(t *testing.T) {
	for name, o := range map[string]actors.Options{
		"MaxIdle":    {MaxIdle: -1},
		"AskTimeout": {AskTimeout: -1},
		"Restarts":   {Restarts: actors.Restarts{Within: -1}},
	} {
		if _, err := actors.NewSystem(o); !errors.Is(err, actors.ErrBadOptions) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestChildrenAreTheReadersOwnSlice(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	parent, pids := spawnParent(t, s, probe, atOnce, idle("a", false), idle("b", false))
	s.Send(background, parent, actorstest.Do(func(c actor.Context) {
		clear(c.Children())
		for _, child := range c.Children() {
			c.Send(probe.PID, child)
		}
	}))
	for _, want := range pids {
		if got := actorstest.Expect[*actor.PID](t, probe); !got.Equal(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	stop(t, s, parent)
}

func TestParentThatWatchesItsChildIsToldOnce(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	parent, pids := spawnParent(t, s, probe, atOnce, idle("a", false))
	s.Send(background, parent, actorstest.Do(func(c actor.Context) {
		c.Watch(pids[0])
		c.Stop(pids[0])
	}))
	actorstest.Expect[*actor.Terminated](t, probe)
	stop(t, s, parent)
	actorstest.ExpectNone(t, probe)
}

func TestDoorsPastTheKitAreClosed(t *testing.T) {
	s := newSystem(t)
	probe := actorstest.NewProbe(t, s)
	props := actor.PropsFromFunc(func(actor.Context) {})
	parent, _ := spawnParent(t, s, probe, atOnce)
	for name, f := range map[string]func(c actor.Context){
		"Spawn":             func(c actor.Context) { c.Spawn(props) },
		"SpawnPrefix":       func(c actor.Context) { c.SpawnPrefix(props, "a") },
		"SpawnNamed":        func(c actor.Context) { _, _ = c.SpawnNamed(props, "a") },
		"Stash":             func(c actor.Context) { c.Stash() },
		"SetReceiveTimeout": func(c actor.Context) { c.SetReceiveTimeout(1) },
		"RequestFuture":     func(c actor.Context) { c.RequestFuture(c.Self(), "m", 1) },
		"ReenterAfter":      func(c actor.Context) { c.ReenterAfter(nil, nil) },
		"StopFuture":        func(c actor.Context) { c.StopFuture(c.Self()) },
		"PoisonFuture":      func(c actor.Context) { c.PoisonFuture(c.Self()) },
	} {
		s.Send(background, parent, actorstest.Do(func(c actor.Context) {
			defer func() {
				reason, _ := recover().(string)
				c.Send(probe.PID, reason)
			}()
			f(c)
		}))
		got := actorstest.Expect[string](t, probe)
		if !strings.Contains(got, "Context."+name) {
			t.Errorf("%s panics with %q", name, got)
		}
	}
}
