package simulation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/actors"
)

// faultKind is what a fault does.
type faultKind int

const (
	panicBefore   faultKind = iota // an actor dies before it handles a message
	panicAmid                      // in the midst of it
	panicAfter                     // after it has done all that it does
	writeFails                     // one operation that writes, opens for writing, or syncs
	readFails                      // one operation that reads
	diskFull                       // every write, until the process is started again
	powerLoss                      // the process ends at a file operation; what was not synced is lost
	processEnds                    // the process ends at a file operation; the disk keeps everything
	endAtStep                      // power is lost between two messages
	timerDropped                   // a timer's message does not come
	timersDelayed                  // the next timers come late
	faultKinds
)

var faultNames = [faultKinds]string{
	"panic before", "panic amid", "panic after", "write fails", "read fails", "disk full",
	"power loss", "process ends", "power loss at step", "timer dropped", "timers delayed",
}

func (k faultKind) String() string { return faultNames[k] }

// errInjected is in every error and every panic that a fault makes.
var errInjected = errors.New("injected by the simulation")

// fault is a fault, and how many of its occasions go by first, counted from the fault before.
type fault struct {
	kind  faultKind
	after int
}

func (f fault) String() string { return fmt.Sprintf("%v after %d", f.kind, f.after) }

// occasions are about how many occasions a run gives each kind.
var occasions = [faultKinds]int{250, 400, 250, 150, 150, 150, 150, 150, 300, 4, 4}

// drawFaults makes a plan: half of all runs have none.
func drawFaults(rng *rand.Rand) (plan []fault) {
	if rng.IntN(2) == 0 {
		return nil
	}
	only := faultKind(-1) // of one kind alone
	if rng.IntN(3) > 0 {
		only = faultKind(rng.IntN(int(faultKinds)))
	}
	for range 1 + rng.IntN(4) {
		f := fault{kind: only}
		if only < 0 {
			f.kind = faultKind(rng.IntN(int(faultKinds)))
		}
		f.after = rng.IntN(occasions[f.kind])
		if rng.IntN(3) == 0 { // soon after the one before
			f.after = rng.IntN(1 + occasions[f.kind]/10)
		}
		plan = append(plan, f)
	}
	return plan
}

// faults injects what the plan says, one fault after the other.
type faults struct {
	run *run

	mu    sync.Mutex // Pebble's goroutines meet faults too
	plan  []fault    // those to come
	fired []string
	off   bool // for good
	quiet bool // while something is set up or looked at

	receiving bool // an actor is in the midst of a message
	late      int  // timers that are still to be delayed
}

// occasion tells whether the fault that comes next happens now.
func (f *faults) occasion(kinds ...faultKind) (faultKind, bool) {
	if f.off || f.quiet || len(f.plan) == 0 {
		return 0, false
	}
	next := &f.plan[0]
	for _, k := range kinds {
		if next.kind != k {
			continue
		}
		if next.after > 0 {
			next.after--
			return 0, false
		}
		f.plan = f.plan[1:]
		return k, true
	}
	return 0, false
}

func (f *faults) note(kind faultKind, where string) {
	line := fmt.Sprintf("%v: %s", kind, where)
	f.fired = append(f.fired, line)
	f.run.trace.note(f.run.sched.steps, f.run.clock.now, "!!", "%s", line)
}

// any tells whether a fault was injected.
func (f *faults) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fired) > 0
}

func (f *faults) dies(kind faultKind, where string) {
	f.mu.Lock()
	_, now := f.occasion(kind)
	if now {
		f.note(kind, where)
	}
	f.mu.Unlock()
	if now {
		panic(fmt.Errorf("%w: %v", errInjected, kind))
	}
}

func (f *faults) before(path string, msg any) {
	if f.run.sched.dead {
		return
	}
	switch msg.(type) {
	case *actor.Started:
	case actor.SystemMessage:
		return // handled by proto.actor and the kit, which do not panic
	}
	f.receiving = true
	f.dies(panicBefore, path+" "+describe(msg))
}

func (f *faults) after(path string, msg any) {
	f.receiving = false
	if !f.run.sched.dead {
		f.dies(panicAfter, path+" "+describe(msg))
	}
}

func (f *faults) over() { f.receiving = false }

func (f *faults) lookedAtClock() {
	if f.receiving && !f.run.sched.dead {
		f.dies(panicAmid, f.run.sched.inside.path)
	}
}

// drops tells whether a timer's message gets lost.
func (f *faults) drops(path string, msg any) bool {
	if _, ok := actor.UnwrapEnvelopeMessage(msg).(actors.TimerFired); !ok || f.run.sched.dead {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, now := f.occasion(timerDropped)
	if now {
		f.note(timerDropped, path)
	}
	return now
}

func (f *faults) delayed(d time.Duration) time.Duration {
	if f.run.sched.dead {
		return d
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, now := f.occasion(timersDelayed); now {
		f.note(timersDelayed, d.String())
		f.late = 5
	}
	if f.late > 0 {
		f.late--
		d = d*3 + time.Second
	}
	return d
}

// endsNow tells, between two messages, whether the power goes.
func (f *faults) endsNow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, now := f.occasion(endAtStep)
	if now {
		f.note(endAtStep, "")
	}
	return now
}

// atFile tells what happens at a file operation.
func (f *faults) atFile(writes bool, op, name string) (kind faultKind, now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if writes {
		kind, now = f.occasion(writeFails, diskFull, powerLoss, processEnds)
	} else {
		kind, now = f.occasion(readFails)
	}
	if now {
		f.note(kind, op+" "+name)
	}
	return kind, now
}

// stop ends all faults: from here on everything has to go well.
func (f *faults) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = true
}

// silent runs do without faults.
func (f *faults) silent(do func()) {
	f.setQuiet(true)
	defer f.setQuiet(false)
	do()
}

func (f *faults) setQuiet(q bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quiet = q
}

func injected(kind faultKind) error {
	if kind == diskFull {
		return fmt.Errorf("%w: %w", errInjected, syscall.ENOSPC)
	}
	return fmt.Errorf("%w: %w", errInjected, syscall.EIO)
}
