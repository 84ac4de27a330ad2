package actors

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// The states of an actor, in order. An incarnation goes from running to restarting or to stopping;
// the actor goes on with the next incarnation after the one, and ends with the other.
const (
	stateSpawned int32 = iota
	stateRunning
	stateRestarting
	stateStopping
	stateStopped
)

// cell is what the kit knows of one actor, over all its incarnations.
type cell struct {
	sys    *System
	spec   Spec
	id     string // the path: names joined by '/'
	parent *cell  // nil at the top
	// parentIncarnation is the parent's that spawned this actor. A parent that restarts stops its
	// children first, so it is the only one they ever have.
	parentIncarnation uint64
	done              chan struct{} // closed when the actor has ended

	state       atomic.Int32
	incarnation atomic.Uint64 // 1 for the first
	// restarting is set from the decision to restart until the next incarnation starts. A Restart
	// that arrives while it is not set is stale.
	restarting atomic.Bool
	processed  atomic.Uint64
	dropped    atomic.Uint64
	recovered  atomic.Uint64

	// Used on the actor's own goroutine only.
	context *kitContext
	timers  []*Timers
	first   actor.Actor // made before the spawn, so that a New that panics fails the spawn

	mu       sync.Mutex
	mailbox  actor.Mailbox
	failures []time.Time // within the window, ascending
	reason   any         // of the last failure
	gaveUp   bool
	cancel   func() bool // the backoff that runs
	closed   bool
	asks     map[*ask]struct{}
}

func (c *cell) running() bool { return c.state.Load() == stateRunning }

func (c *cell) stopping() bool { return c.state.Load() >= stateStopping }

// produce makes an incarnation. A New that panics does not do so here, in the midst of
// proto.actor's restart: its shell fails at Started, which is an ordinary failure.
func (c *cell) produce() actor.Actor {
	sh := &shell{cell: c, incarnation: c.incarnation.Add(1)}
	if c.first != nil {
		sh.actor, c.first = c.first, nil
		return sh
	}
	sh.actor, sh.failed = newActor(&c.spec)
	return sh
}

func newActor(sp *Spec) (a actor.Actor, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = nil, fmt.Errorf("New of %q panicked: %w", sp.Name, asError(r))
		}
	}()
	if a = sp.New(); a == nil {
		return nil, fmt.Errorf("%w: New of %q returned nil", ErrBadSpec, sp.Name)
	}
	return a, nil
}

// asError is what was panicked with, as an error.
func asError(reason any) error {
	if err, ok := reason.(error); ok {
		return err
	}
	return fmt.Errorf("%v", reason)
}

// fail notes a failure's reason and fails what waits for the actor's answer.
func (c *cell) fail(reason any) {
	c.mu.Lock()
	c.reason = reason
	c.mu.Unlock()
	c.settleAsks(fmt.Errorf("%w: %s: %v", ErrRestarted, c.id, reason), false)
}

// countFailure decides over a failure at now: false gives the actor up, else it is restarted after
// the backoff. Failures that have left the window are forgotten.
func (c *cell) countFailure(now time.Time, policy *Restarts) (backoff time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.failures[:0]
	for _, at := range c.failures {
		if now.Sub(at) < policy.Within {
			kept = append(kept, at)
		}
	}
	c.failures = kept
	if len(kept) >= policy.Max {
		c.gaveUp = true
		return 0, false
	}
	c.failures = append(kept, now)
	return policy.backoff(len(c.failures)), true
}

func (c *cell) setCancel(cancel func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
}

// lastFailure is the reason of the last failure, and whether it was the last one allowed.
func (c *cell) lastFailure() (reason any, gaveUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason, c.gaveUp
}

// close ends the actor: no ask waits for it any more, no restart is due.
func (c *cell) close() {
	c.mu.Lock()
	cancel := c.cancel
	c.cancel = nil
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	c.settleAsks(fmt.Errorf("%w: %s", ErrStopped, c.id), true)
}

// addAsk has a tell the ask's waiter when the actor fails or stops; false: it has stopped.
func (c *cell) addAsk(a *ask) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.asks == nil {
		c.asks = make(map[*ask]struct{})
	}
	c.asks[a] = struct{}{}
	return true
}

func (c *cell) removeAsk(a *ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asks, a)
}

func (c *cell) settleAsks(err error, closed bool) {
	c.mu.Lock()
	c.closed = c.closed || closed
	asks := c.asks
	c.asks = nil
	c.mu.Unlock()
	for a := range asks {
		a.settle(nil, err)
	}
}

func (c *cell) stats() ActorStats {
	c.mu.Lock()
	mailbox := c.mailbox
	c.mu.Unlock()
	st := ActorStats{
		Path:      c.id,
		Processed: c.processed.Load(),
		Dropped:   c.dropped.Load(),
		Recovered: c.recovered.Load(),
	}
	if n := c.incarnation.Load(); n > 0 {
		st.Restarts = n - 1
	}
	if mailbox != nil {
		st.Depth = mailbox.UserMessageCount()
	}
	if m, ok := mailbox.(interface{ MaxDepth() int }); ok {
		st.DepthMax = m.MaxDepth()
	}
	return st
}
