package balactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
)

// Errors of subscriptions.
var (
	// ErrUnsubscribed: the subscription was closed.
	ErrUnsubscribed = errors.New("the subscription is closed")
	// ErrChangesLost: the BalApplyActor failed between a commit and what it had to say about it. The
	// state has to be read anew.
	ErrChangesLost = errors.New("a change set was lost; the subscription ends here")
)

// MissedError says how many change sets a subscription with MayMiss has missed, all between the one
// that Next gave before and the one that it gives after.
type MissedError struct{ Blocks int }

// Error implements error.
func (e *MissedError) Error() string {
	return fmt.Sprintf("the change sets of %d blocks were missed", e.Blocks)
}

// SubscribeOptions say how change sets are delivered. The zero value means the defaults.
type SubscribeOptions struct {
	// Buffer is how many change sets may wait for the subscriber. Default: 16.
	Buffer int
	// MayMiss says what happens when the buffer is full. False: blocks wait. A block is answered
	// only once there is room for the next one's change set, so that a slow subscriber slows the
	// engine, and one that stops reading stops it. True: what does not fit is missed, and Next says
	// so.
	MayMiss bool
}

// MaxSubscribeBuffer bounds SubscribeOptions.Buffer.
const MaxSubscribeBuffer = 4096

// Subscriptions hands the change sets of blocks to subscribers, in the order of commits. It
// outlives incarnations of the BalApplyActor, which alone publishes.
type Subscriptions struct {
	mu      sync.Mutex
	all     []*Subscription
	closed  error
	wake    func() // tells the actor that there is room
	waiting bool   // for room
}

// Subscription is one subscriber's. Next is for one goroutine at a time.
type Subscription struct {
	of     *Subscriptions
	o      SubscribeOptions
	notify chan struct{} // something changed

	// Guarded by of.mu.
	at     common.Hash // the block that the subscriber knows the state of, once it has read the queue
	queue  []*state.ChangeSet
	missed int
	err    error // why it has ended
}

// Subscribe starts a subscription at the block that at, called meanwhile, gives: the first change
// set leads away from it.
func (s *Subscriptions) Subscribe(o SubscribeOptions, at func() common.Hash) (
	*Subscription, error) {
	if o.Buffer == 0 {
		o.Buffer = 16
	}
	if o.Buffer < 1 || o.Buffer > MaxSubscribeBuffer {
		return nil, fmt.Errorf("buffer: %d is not between 1 and %d", o.Buffer, MaxSubscribeBuffer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	sub := &Subscription{of: s, o: o, notify: make(chan struct{}, 1), at: at()}
	s.all = append(s.all, sub)
	return sub, nil
}

// Close ends all subscriptions, which still give what waits in them, and allows no new ones.
func (s *Subscriptions) Close(why error) {
	s.mu.Lock()
	s.closed = why
	for _, sub := range s.all {
		sub.end(why)
	}
	s.all = nil
	s.unlock()
}

// publish delivers a change set. It reports whether the next one has to wait: the function that
// onRoom was given is called once it has not.
func (s *Subscriptions) publish(c *state.ChangeSet) (wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(sub *Subscription) bool { return !sub.deliver(c) })
	s.waiting = s.full()
	return s.waiting
}

// subscribed reports whether anybody wants a change set.
func (s *Subscriptions) subscribed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) > 0
}

// onRoom sets what is called, from any goroutine, when a publisher need not wait any more.
func (s *Subscriptions) onRoom(f func()) {
	s.mu.Lock()
	s.wake, s.waiting = f, false
	s.mu.Unlock()
}

func (s *Subscriptions) full() bool {
	return slices.ContainsFunc(s.all, func(sub *Subscription) bool {
		return !sub.o.MayMiss && len(sub.queue) >= sub.o.Buffer
	})
}

// unlock gives the lock back and wakes the publisher, if there is room now.
func (s *Subscriptions) unlock() {
	var wake func()
	if s.waiting && !s.full() {
		s.waiting, wake = false, s.wake
	}
	s.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// deliver queues a change set; false: the subscription has ended.
func (s *Subscription) deliver(c *state.ChangeSet) bool {
	if s.at == c.After() {
		return true // it began behind the commit
	}
	if s.at != c.Before() || !s.o.MayMiss && len(s.queue) >= s.o.Buffer {
		s.end(ErrChangesLost)
		return false
	}
	s.at = c.After()
	if s.missed > 0 || len(s.queue) >= s.o.Buffer {
		s.missed++
	} else {
		s.queue = append(s.queue, c)
	}
	s.tell()
	return true
}

func (s *Subscription) end(why error) {
	if s.err == nil {
		s.err = why
	}
	s.tell()
}

func (s *Subscription) tell() {
	select {
	case s.notify <- struct{}{}:
	default: // it will look
	}
}

// Next waits for the next change set. It fails with a MissedError where some were missed, after
// which it may be called again; with the end of ctx; and, once nothing waits any more, with why
// the subscription has ended.
func (s *Subscription) Next(ctx context.Context) (*state.ChangeSet, error) {
	for {
		if c, err := s.take(); c != nil || err != nil {
			return c, err
		}
		select {
		case <-s.notify:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *Subscription) take() (*state.ChangeSet, error) {
	s.of.mu.Lock()
	defer s.of.unlock()
	if len(s.queue) > 0 {
		c := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		return c, nil
	}
	if n := s.missed; n > 0 {
		s.missed = 0
		return nil, &MissedError{n}
	}
	return nil, s.err
}

// Close ends the subscription, and drops what waits. Closing it again is harmless.
func (s *Subscription) Close() { s.closeWith(ErrUnsubscribed) }

func (s *Subscription) closeWith(why error) {
	s.of.mu.Lock()
	s.of.all = slices.DeleteFunc(s.of.all, func(x *Subscription) bool { return x == s })
	s.queue, s.missed = nil, 0
	s.end(why)
	s.of.unlock()
}

// CloseAfter closes the subscription when ctx ends, with its cause.
func (s *Subscription) CloseAfter(ctx context.Context) {
	context.AfterFunc(ctx, func() { s.closeWith(context.Cause(ctx)) })
}
