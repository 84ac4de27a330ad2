package balactor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/internal/invariants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// ShadowOptions say whether blocks' roots are computed a second way, and of which blocks. The zero
// value means: of none.
type ShadowOptions struct {
	// Enabled starts the shadow. Default: false.
	Enabled bool
	// Every thins it out: only blocks whose number it divides are compared. Default: 1.
	Every uint64
	// MaxQueued is how many blocks may wait behind the one in hand; more are skipped. Each holds on
	// to its parent's state. Default: 4.
	MaxQueued int
	// Faults are planted, for tests of what the shadow is there to find. Default: none.
	Faults ShadowFaults
}

// ShadowFaults are faults of either side. A field that is nil is none.
type ShadowFaults struct {
	// Canonical makes a fault of the canonical side, of which the shadow then is told.
	Canonical func(*messages.CompareRoot)
	// Shadow makes a fault of the shadow's world state.
	Shadow func(*world.Changes)
}

// maxShadowQueue bounds ShadowOptions.MaxQueued: each block waiting holds memory and files.
const maxShadowQueue = 1024

// Validate fills in the defaults and refuses what cannot work.
func (o *ShadowOptions) Validate() error {
	if o.Every == 0 {
		o.Every = 1
	}
	if o.MaxQueued == 0 {
		o.MaxQueued = 4
	}
	if o.MaxQueued < 0 || o.MaxQueued > maxShadowQueue {
		return fmt.Errorf("shadow: max queued: %d is not between 1 and %d", o.MaxQueued,
			maxShadowQueue)
	}
	return nil
}

// ShadowStats are counts since the engine was opened. Every validated block is a request, and
//
//	Requests = Comparisons + Failures + Skipped.Total() + Waiting
type ShadowStats struct {
	Requests    uint64
	Comparisons uint64
	Mismatches  uint64 // among Comparisons
	Failures    uint64 // the shadow panicked, or could not read
	Skipped     ShadowSkips
	Waiting     uint64        // not settled yet
	Took        time.Duration // by comparisons
}

// ShadowSkips counts the blocks that were not compared, by reason.
type ShadowSkips struct {
	Busy            uint64 // Options.MaxQueued waited already
	Off             uint64 // there is no shadow
	Thinned         uint64 // Options.Every passes over the block
	NoParent        uint64 // its parent's state could not be had
	BeforeAmsterdam uint64 // it has no block access list
	Closing         uint64 // the engine was closed before it was compared
}

// Total is the number of all skips.
func (s ShadowSkips) Total() uint64 {
	return s.Busy + s.Off + s.Thinned + s.NoParent + s.BeforeAmsterdam + s.Closing
}

// ByReason gives the counts by the names of their reasons.
func (s ShadowSkips) ByReason() map[string]uint64 {
	return map[string]uint64{
		"busy": s.Busy, "off": s.Off, "thinned": s.Thinned, "no_parent": s.NoParent,
		"before_amsterdam": s.BeforeAmsterdam, "closing": s.Closing,
	}
}

// outcome is what became of a request.
type outcome int

const (
	outcomeEqual outcome = iota
	outcomeMismatch
	outcomeFailure
	outcomeBusy
	outcomeOff
	outcomeThinned
	outcomeNoParent
	outcomeBeforeAmsterdam
	outcomeClosing
)

// count notes an outcome.
func (s *ShadowStats) count(o outcome) {
	switch o {
	case outcomeEqual:
		s.Comparisons++
	case outcomeMismatch:
		s.Comparisons++
		s.Mismatches++
	case outcomeFailure:
		s.Failures++
	case outcomeBusy:
		s.Skipped.Busy++
	case outcomeOff:
		s.Skipped.Off++
	case outcomeThinned:
		s.Skipped.Thinned++
	case outcomeNoParent:
		s.Skipped.NoParent++
	case outcomeBeforeAmsterdam:
		s.Skipped.BeforeAmsterdam++
	case outcomeClosing:
		s.Skipped.Closing++
	}
}

// Shadow is the way from the BalApplyActor to the ShadowRootActor: it decides which blocks are
// handed over, counts what becomes of them, and sees to it that each is settled once, whatever
// fails, and its snapshot closed. It outlives the actors' incarnations. Its methods are safe for
// concurrent use, and none but Await waits.
type Shadow struct {
	opts ShadowOptions
	open context.Context // until Close
	end  context.CancelFunc

	mu      sync.Mutex
	stats   ShadowStats
	send    func(*messages.CompareRoot) // nil: no actor takes requests
	closing bool
	pending map[uint64]*pending
	settled chan struct{} // closed and replaced at each settlement that Await waits for; may be nil
}

// pending is a request that is not settled.
type pending struct {
	m       *messages.CompareRoot
	taken   bool // the ShadowRootActor has it, it is not in its mailbox any more
	settled bool // its snapshot is being closed
}

// NewShadow makes the hand-over. Without Options.Enabled it counts what it passes over.
func NewShadow(o ShadowOptions) (*Shadow, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Shadow{opts: o, pending: map[uint64]*pending{}}
	s.open, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Enabled reports whether there is to be a ShadowRootActor.
func (s *Shadow) Enabled() bool { return s.opts.Enabled }

// Stats returns the counts.
func (s *Shadow) Stats() ShadowStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statsLocked()
}

func (s *Shadow) statsLocked() ShadowStats {
	st := s.stats
	st.Waiting = uint64(len(s.pending))
	invariants.Check(st.Requests == st.Comparisons+st.Failures+st.Skipped.Total()+st.Waiting,
		"the shadow has lost count: %+v", st)
	return st
}

// Await waits until at most n requests are not settled, or ctx ends.
func (s *Shadow) Await(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		if len(s.pending) <= n {
			s.mu.Unlock()
			return nil
		}
		if s.settled == nil {
			s.settled = make(chan struct{})
		}
		settled := s.settled
		s.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the shadow: %w", context.Cause(ctx))
		}
	}
}

// Close ends the comparison in hand and refuses new ones. The actors are to be stopped next, then
// Drain settles what is left.
func (s *Shadow) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end()
}

// Drain settles all that is left as skipped for closing. No actor takes requests any more.
func (s *Shadow) Drain() error {
	s.Close()
	s.mu.Lock()
	s.send = nil
	left := s.pendingLocked(func(*pending) bool { return true })
	s.mu.Unlock()
	return s.settleAll(left, outcomeClosing)
}

// offer hands a validated block over, if it is to be compared. m lacks Request and Parent; the
// store still stands at the block's parent. It takes no longer than a snapshot does.
func (s *Shadow) offer(m *messages.CompareRoot, store *state.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests++
	m.Request = s.stats.Requests
	if o, ok := s.passOver(m); ok {
		s.stats.count(o)
		return
	}
	m.Parent = store.NewSnapshot()
	if c, ok := m.Parent.Cursor(); !ok || c.Hash != m.Header.ParentHash {
		_ = m.Parent.Close() // only read
		s.stats.count(outcomeNoParent)
		return
	}
	if f := s.opts.Faults.Canonical; f != nil {
		f(m)
	}
	s.pending[m.Request] = &pending{m: m}
	s.send(m)
}

// passOver says why the block is not compared, if that is known without its parent.
func (s *Shadow) passOver(m *messages.CompareRoot) (outcome, bool) {
	switch {
	case s.closing:
		return outcomeClosing, true
	case s.send == nil:
		return outcomeOff, true
	case m.Header.BlockAccessListHash == nil:
		return outcomeBeforeAmsterdam, true
	case m.Header.Number.Uint64()%s.opts.Every != 0:
		return outcomeThinned, true
	case len(s.pending) > s.opts.MaxQueued: // one of them is in hand
		return outcomeBusy, true
	}
	return 0, false
}

// Attach says how requests get to the ShadowRootActor, which is there from now on.
func (s *Shadow) Attach(send func(*messages.CompareRoot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send = send
}

// begin is called by each incarnation of the actor. What an earlier one had taken is lost; what is
// still in the mailbox is not.
func (s *Shadow) begin() error {
	s.mu.Lock()
	lost := s.pendingLocked(func(p *pending) bool { return p.taken })
	s.mu.Unlock()
	return s.settleAll(lost, outcomeFailure)
}

// Lost says that the ShadowRootActor is not there any more. What it had is counted as failures.
func (s *Shadow) Lost() error {
	s.mu.Lock()
	s.send = nil
	lost := s.pendingLocked(func(*pending) bool { return true })
	s.mu.Unlock()
	return s.settleAll(lost, outcomeFailure)
}

// take notes that the actor has the request now, and reports whether it is still to be settled.
func (s *Shadow) take(request uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[request]
	if p != nil {
		p.taken = true
	}
	return p != nil && !p.settled
}

func (s *Shadow) pendingLocked(want func(*pending) bool) (requests []uint64) {
	for request, p := range s.pending {
		if want(p) {
			requests = append(requests, request)
		}
	}
	return requests
}

func (s *Shadow) settleAll(requests []uint64, o outcome) (err error) {
	for _, request := range requests {
		if e := s.settle(request, o, 0); e != nil {
			err = e
		}
	}
	return err
}

// settle counts what became of a request and closes its snapshot. Settling again does nothing.
func (s *Shadow) settle(request uint64, o outcome, took time.Duration) error {
	s.mu.Lock()
	p := s.pending[request]
	if p == nil || p.settled {
		s.mu.Unlock()
		return nil
	}
	p.settled = true
	s.mu.Unlock()
	// It waits until its snapshot is closed: whoever awaits it may close the store then. The lock is
	// not held, because an offer needs it.
	err := p.m.Parent.Close()

	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, request)
	s.stats.count(o)
	s.stats.Took += took
	s.statsLocked()
	if s.settled != nil {
		close(s.settled)
		s.settled = nil
	}
	if err != nil {
		return fmt.Errorf("shadow of block %d (%s): %w", p.m.Header.Number, p.m.Hash, err)
	}
	return nil
}
