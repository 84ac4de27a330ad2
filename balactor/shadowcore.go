package balactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/balsa-sync/balsa/internal/invariants"
	"github.com/balsa-sync/balsa/messages"
)

// shadowCore is ShadowRootActor without actors (D9): a queue, and one block in hand. How many wait
// is bounded by who hands over (Shadow).
type shadowCore struct {
	queue      []*messages.CompareRoot
	cur        *messages.CompareRoot
	mismatches uint64
	failures   uint64
}

// Effects: what the shell is asked to do.
type (
	// replay has the child compute the block's root. Gives *messages.BlockReplayed or replayLost.
	replay struct{ m *messages.CompareRoot }
	// settle counts what became of a request.
	settle struct {
		m    *messages.CompareRoot
		what outcome
		took time.Duration
	}
	// report logs a mismatch or a failure.
	report struct {
		m    *messages.CompareRoot
		what outcome
		nth  uint64 // of its kind
		got  *messages.BlockReplayed
	}
)

// replayLost says that the child lost the block in hand, and goes on.
type replayLost struct{ reason any }

// step is the whole protocol.
func (c *shadowCore) step(_ time.Time, m any) []any {
	switch m := m.(type) {
	case *messages.CompareRoot:
		if c.cur != nil {
			c.queue = append(c.queue, m)
			return nil
		}
		c.cur = m
		return []any{replay{m}}
	case *messages.BlockReplayed:
		if c.cur == nil || c.cur.Request != m.Request {
			return nil // of an incarnation before
		}
		return c.done(m)
	case replayLost:
		if c.cur == nil {
			return nil
		}
		return c.done(&messages.BlockReplayed{
			Request: c.cur.Request, Err: fmt.Errorf("%w: %v", errShadowPanic, m.reason),
		})
	}
	panic(fmt.Sprintf("balactor: the shadow's core does not know %T", m))
}

var errShadowPanic = errors.New("the shadow panicked")

// done settles the block in hand and takes the next.
func (c *shadowCore) done(got *messages.BlockReplayed) []any {
	m := c.cur
	c.cur = nil
	what := judge(m, got)
	effects := []any{settle{m, what, got.Took}}
	switch what {
	case outcomeMismatch:
		if c.mismatches++; sampled(c.mismatches) {
			effects = append(effects, report{m, what, c.mismatches, got})
		}
	case outcomeFailure:
		if c.failures++; sampled(c.failures) {
			effects = append(effects, report{m, what, c.failures, got})
		}
	}
	if len(c.queue) > 0 {
		c.cur = c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		effects = append(effects, replay{c.cur})
	}
	invariants.Check(c.cur != nil || len(c.queue) == 0, "%d blocks wait for an idle shadow",
		len(c.queue))
	return effects
}

// judge says what became of a block. A list that the canonical side took and the shadow refuses is
// a mismatch: one of them is wrong.
func judge(m *messages.CompareRoot, got *messages.BlockReplayed) outcome {
	switch {
	case errors.Is(got.Err, context.Canceled):
		return outcomeClosing
	case got.Err != nil:
		return outcomeFailure
	case got.Refused != nil || got.Root != m.Root:
		return outcomeMismatch
	}
	return outcomeEqual
}

const (
	sampleFirst = 10
	sampleEvery = 128
)

// sampled reports whether the n-th of a kind is logged: the first ten, then one in 128.
func sampled(n uint64) bool { return n <= sampleFirst || (n-sampleFirst)%sampleEvery == 0 }
