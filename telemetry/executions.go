package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"go.opentelemetry.io/otel/metric"
)

// Executions takes the ends of a block's transaction executions, so that its root-ready lag is
// known: how much later than the last execution the root was there, 0 where it came first.
//
// Workers report without touching memory that another worker's report touches. All methods may be
// called on nil, which takes nothing.
type Executions struct {
	slots []executionSlot
	base  time.Time
	done  atomic.Bool
	ready atomic.Int64 // nanoseconds since base; 0: the root is not proven yet
	lag   atomic.Int64 // nanoseconds; see the lag constants
	tell  func(lag time.Duration)
}

// executionSlot is one worker's. Its 128 bytes are two cache lines, because processors fetch lines
// in pairs.
type executionSlot struct {
	last atomic.Int64 // nanoseconds since base; 0: nothing has ended yet
	_    [120]byte
}

const (
	lagOpen    = -1 // not known yet
	lagNothing = -2 // no execution was reported
)

func newExecutions(workers int, tell func(time.Duration)) *Executions {
	x := &Executions{slots: make([]executionSlot, workers), base: time.Now(), tell: tell}
	x.lag.Store(lagOpen)
	return x
}

// End says that worker has ended an execution now. Workers count from 0; each is one goroutine at a
// time.
func (x *Executions) End(worker int) {
	if x != nil {
		x.slots[worker].last.Store(max(int64(time.Since(x.base)), 1))
	}
}

// Done says that no execution of the block ends any more. Without it the lag is not sampled.
func (x *Executions) Done() {
	if x != nil && x.done.CompareAndSwap(false, true) {
		x.settle()
	}
}

// Lag is the root-ready lag. It is not sampled before both Done and the root are there, and not if
// no execution was reported.
func (x *Executions) Lag() (lag time.Duration, sampled bool) {
	if x == nil {
		return 0, false
	}
	n := x.lag.Load()
	return time.Duration(max(n, 0)), n >= 0
}

func (x *Executions) rootReady(at time.Time) {
	if x.ready.CompareAndSwap(0, max(int64(at.Sub(x.base)), 1)) {
		x.settle()
	}
}

// settle works the lag out, once, when all of it is known.
func (x *Executions) settle() {
	ready := x.ready.Load()
	if ready == 0 || !x.done.Load() {
		return
	}
	last := int64(0)
	for i := range x.slots {
		last = max(last, x.slots[i].last.Load())
	}
	lag := max(ready-last, 0)
	if last == 0 {
		lag = lagNothing
	}
	if x.lag.CompareAndSwap(lagOpen, lag) && lag >= 0 {
		x.tell(time.Duration(lag))
	}
}

// maxExecutions bounds the blocks that are waited for.
const maxExecutions = 64

// lags are the executions of blocks that are not answered yet.
type lags struct {
	unsampled metric.Int64Counter

	mu    sync.Mutex
	of    map[common.Hash]*Executions
	order []common.Hash
}

func (m *Monitor) observeLag(r *register) {
	m.lag.of = map[common.Hash]*Executions{}
	m.lag.unsampled = r.counter("balsa.block.root_lag.unsampled", "{block}",
		"Applied blocks whose root-ready lag is not known, by reason")
}

// Executions begins to take the ends of executions of a block, by workers numbered from 0. Nil, if
// measuring is off.
func (m *Monitor) Executions(block common.Hash, workers int) *Executions {
	if !m.Measuring() {
		return nil
	}
	x := newExecutions(workers, func(lag time.Duration) {
		m.block.lag.Record(context.Background(), lag.Seconds())
	})
	l := &m.lag
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, again := l.of[block]; !again {
		l.order = append(l.order, block)
	}
	l.of[block] = x
	for len(l.order) > maxExecutions {
		delete(l.of, l.order[0])
		l.order = l.order[1:]
	}
	return x
}

// RootReady says that the block's root is proven since at. The lag comes back if it is known by
// now: where executions go on it is known later.
func (m *Monitor) RootReady(block common.Hash, at time.Time) (lag time.Duration, sampled bool) {
	if !m.Measuring() {
		return 0, false
	}
	m.lag.mu.Lock()
	x := m.lag.of[block]
	m.lag.mu.Unlock()
	if x == nil {
		return 0, false
	}
	x.rootReady(at)
	return x.Lag()
}

// answered ends the waiting for a block and gives its executions; nil: there are none.
func (l *lags) answered(block common.Hash) *Executions {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.of[block]
	if x == nil {
		return nil
	}
	delete(l.of, block)
	for i, other := range l.order {
		if other == block {
			l.order = append(l.order[:i], l.order[i+1:]...)
			break
		}
	}
	return x
}

// count counts an applied block whose lag is not known.
func (l *lags) count(x *Executions) {
	reason := "not_done"
	switch {
	case x == nil:
		reason = "not_reported"
	case x.lag.Load() >= 0:
		return
	case x.lag.Load() == lagNothing:
		reason = "no_executions"
	}
	l.unsampled.Add(context.Background(), 1, one(KeyReason, reason))
}
