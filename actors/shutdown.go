package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// Stop has an actor handle what was sent to it before, then stops it and its children, and waits
// until it has ended. An actor that does not exist has ended. With an error, ctx's, the actor still
// stops when it comes to it. An actor must not call Stop: it would wait for itself or its like; it
// has Context.Stop (past the queue) and Context.Poison (behind the queue).
func (s *System) Stop(ctx context.Context, pid *actor.PID) error {
	c := s.lookup(pid)
	if c == nil {
		return nil
	}
	s.system.Root.Poison(pid)
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors: stop %s: %w", c.id, ctx.Err())
	}
}

// Shutdown stops the top-level actors one after another, the last started first, each with its
// children after it has handled what was sent to it. From then on nothing is delivered: what is
// sent is counted as a dead letter, asks end with ErrStopped.
//
// When ctx ends, the actors that are left are told to stop past their queues, and Shutdown returns
// an error with their paths without waiting for them. A second Shutdown waits for the first one and
// returns the same. An actor must not call it.
func (s *System) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if closing := s.closing; closing != nil {
		s.mu.Unlock()
		select {
		case <-closing:
			return s.err
		case <-ctx.Done():
			return fmt.Errorf("actors: shutdown: %w", ctx.Err())
		}
	}
	s.closing = make(chan struct{})
	s.mu.Unlock()

	s.err = s.stopAll(ctx)
	s.closed.Store(true)
	s.mu.RLock()
	for _, c := range s.cells {
		c.settleAsks(fmt.Errorf("%w: %s", ErrStopped, c.id), true)
	}
	s.mu.RUnlock()
	if s.options.Base == nil {
		s.system.Shutdown() // the guardian stays: an actor that ends late still tells it
	} else {
		s.system.ProcessRegistry.Remove(s.guardian.pid)
	}
	if s.pool != nil {
		s.pool.Close()
	}
	close(s.closing)
	return s.err
}

// stopAll works the top-level actors off from the end. Those that end by themselves leave the list.
func (s *System) stopAll(ctx context.Context) error {
	var errs []error
	for {
		c := s.lastTop()
		if c == nil {
			return errors.Join(errs...)
		}
		pid := s.system.NewLocalPID(c.id)
		if len(errs) == 0 {
			err := s.Stop(ctx, pid)
			if err == nil {
				continue
			}
		}
		s.sendSystem(pid, &actor.Stop{})
		errs = append(errs, fmt.Errorf("actors: shutdown: %s still runs: %w", c.id, ctx.Err()))
		s.delist(c)
	}
}

func (s *System) lastTop() *cell {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.top) == 0 {
		return nil
	}
	return s.top[len(s.top)-1]
}
