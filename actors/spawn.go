package actors

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"
)

// Spawn starts a top-level actor. Any goroutine may call it, actors too.
func (s *System) Spawn(sp Spec) (*actor.PID, error) {
	c, err := s.prepare(sp, nil)
	if err != nil {
		return nil, fmt.Errorf("actors: spawn: %w", err)
	}
	pid, err := actor.DefaultSpawner(s.system, c.id, c.props(), s.guardian.spawner())
	if err != nil {
		s.forget(c)
		return nil, fmt.Errorf("actors: spawn %s: %w", c.id, nameTaken(err))
	}
	if !s.enlist(c) {
		// The shutdown can have missed it: end it here.
		s.sendSystem(pid, &actor.Stop{})
		return nil, fmt.Errorf("actors: spawn %s: %w", c.id, ErrShutdown)
	}
	return pid, nil
}

// SpawnChild starts a child of the actor that c belongs to. Only that actor calls it, within
// Receive; not while it is stopping or restarting (ErrStopping).
func (s *System) SpawnChild(c actor.Context, sp Spec) (*actor.PID, error) {
	kc, ok := c.(*kitContext)
	if !ok || kc.cell.sys != s {
		return nil, fmt.Errorf("actors: spawn child: %w: the context is not this kit's", ErrBadSpec)
	}
	if !kc.cell.running() {
		return nil, fmt.Errorf("actors: spawn child of %s: %w", kc.cell.id, ErrStopping)
	}
	child, err := s.prepare(sp, kc.cell)
	if err != nil {
		return nil, fmt.Errorf("actors: spawn child of %s: %w", kc.cell.id, err)
	}
	pid, err := kc.Context.SpawnNamed(child.props(), child.spec.Name)
	if err != nil {
		s.forget(child)
		return nil, fmt.Errorf("actors: spawn %s: %w", child.id, nameTaken(err))
	}
	return pid, nil
}

// prepare makes the actor's first incarnation and takes its name.
func (s *System) prepare(sp Spec, parent *cell) (*cell, error) {
	if err := sp.validate(); err != nil {
		return nil, err
	}
	first, err := newActor(&sp)
	if err != nil {
		return nil, err
	}
	c := &cell{sys: s, spec: sp, parent: parent, first: first, done: make(chan struct{})}
	prefix := ""
	if parent != nil {
		prefix = parent.id + "/"
		c.parentIncarnation = parent.incarnation.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil && parent == nil {
		return nil, ErrShutdown
	}
	if sp.Numbered {
		c.spec.Name += "-" + strconv.FormatUint(s.nameSeq.Add(1), 10)
	}
	c.id = prefix + c.spec.Name
	if s.cells[c.id] != nil {
		return nil, fmt.Errorf("%w: %s", ErrNameTaken, c.id)
	}
	s.cells[c.id] = c
	return c, nil
}

// props are made for each spawn: props that are shared and configured by each spawn pile up
// middleware.
func (c *cell) props() *actor.Props {
	return actor.PropsFromProducer(c.produce,
		actor.WithMailbox(func() actor.Mailbox { return newGate(c) }),
		actor.WithDispatcher(c.sys.dispatcher),
		actor.WithSupervisor(supervision{c.sys}),
		actor.WithContextDecorator(c.decorate),
		actor.WithSenderMiddleware(c.sys.sender))
}

// enlist puts a top-level actor on the list that Shutdown works off; false: that has begun. An
// actor that has ended already is not put there.
func (s *System) enlist(c *cell) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil {
		return false
	}
	if s.cells[c.id] == c {
		s.top = append(s.top, c)
	}
	return true
}

func (s *System) forget(c *cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, c.id)
}

func nameTaken(err error) error {
	if errors.Is(err, actor.ErrNameExists) {
		return fmt.Errorf("%w: %w", ErrNameTaken, err)
	}
	return err
}

// delist takes a top-level actor off the list that Shutdown works off.
func (s *System) delist(c *cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.top, c); i >= 0 {
		s.top = slices.Delete(s.top, i, i+1)
	}
}
