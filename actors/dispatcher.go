package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// throughput is how many messages a mailbox hands over before it lets other goroutines run.
const throughput = 300

// pool is a dispatcher that keeps goroutines for the next wake-up. A fresh goroutine grows its
// stack in the first Receive; a parked one has done so: two thirds of the cost of a wake-up. The
// last one parked is the first one used: its stack is in the cache.
//
// It is elastic: where none is parked a goroutine is started, so that Schedule never blocks; where
// maxIdle are parked already, a goroutine that comes back ends.
type pool struct {
	maxIdle int
	live    atomic.Int64

	mu     sync.Mutex
	idle   []chan func()
	closed bool
}

var _ actor.Dispatcher = (*pool)(nil)

func newPool(maxIdle int) *pool { return &pool{maxIdle: maxIdle} }

// Throughput is how many messages a mailbox hands over before it yields.
func (p *pool) Throughput() int { return throughput }

// Schedule runs fn on a goroutine of the pool, also after Close.
func (p *pool) Schedule(fn func()) {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		work := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		p.mu.Unlock()
		work <- fn // the channel has room: its goroutine waits for it
		return
	}
	p.mu.Unlock()
	p.live.Add(1)
	go p.serve(fn)
}

func (p *pool) serve(fn func()) {
	defer p.live.Add(-1) // also where fn ends the goroutine
	fn()
	work := make(chan func(), 1)
	for p.park(work) {
		fn, ok := <-work
		if !ok {
			return
		}
		fn()
	}
}

// park offers a goroutine for the next Schedule; false: it is not wanted.
func (p *pool) park(work chan func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.maxIdle {
		return false
	}
	p.idle = append(p.idle, work)
	return true
}

// Close ends the parked goroutines, and the others when they come back. It waits for none.
func (p *pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, work := range p.idle {
		close(work)
	}
	p.idle = nil
}

// parked is the number of goroutines that wait for work.
func (p *pool) parked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}
