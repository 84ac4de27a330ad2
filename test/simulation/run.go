package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/balsa-sync/balsa/state"
)

var background = context.Background()

// Bounds of a run: who goes past them does not come to an end.
const (
	maxSteps    = 200_000
	maxRestarts = 40
	patience    = 2 * time.Minute // of virtual time, for an answer
)

// Result is what a run came to.
type Result struct {
	Seed        uint64
	Fingerprint uint64 // of all that happened
	Err         error  // why it failed
	Steps       int    // messages delivered
	Blocks      int    // applied and undone
	Processes   int
	Faults      []string // injected
	Reads       int      // file operations
	Writes      int
}

// run is one simulation.
type run struct {
	seed      uint64
	clock     *clock
	sched     *scheduler
	trace     *trace
	faults    faults
	base      *actor.ActorSystem
	logger    *slog.Logger
	planRNG   *rand.Rand
	diskRNG   *rand.Rand
	chain     *chain
	o         workerOptions
	disk      *vfs.MemFS // that the next process finds
	node      *node
	embedder  *embedder
	processes int
	blocks    int
	ops       counts

	head        *block   // acknowledged, and on its way to the end of path
	path        []*block // where the store may stand after a crash: from path[pos] on
	pos         int
	storeFailed bool
	err         error
}

// Worker runs simulations one after another.
type Worker struct{ base *actor.ActorSystem }

// halted ends a run that has failed.
type halted struct{}

// Run runs a seed. A trace is written to out, where it is not nil.
func (w *Worker) Run(seed uint64, out io.Writer) (res Result) {
	if w.base == nil {
		w.base = newBase()
	}
	r := newRun(seed, w.base, out)
	defer func() {
		w.base = r.base
		r.base.ProcessRegistry.Remove(r.embedder.pid)
		res = Result{
			Seed: seed, Fingerprint: r.trace.fingerprint(), Err: r.err, Steps: r.sched.steps,
			Blocks: r.blocks, Processes: r.processes, Faults: r.faults.fired, Reads: r.ops.reads,
			Writes: r.ops.writes,
		}
	}()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case halted:
			r.abandon()
		default:
			panic(p)
		}
	}()
	r.main()
	return res
}

func stream(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }

func newRun(seed uint64, base *actor.ActorSystem, out io.Writer) *run {
	r := &run{
		seed: seed, base: base, trace: newTrace(out),
		planRNG: stream(seed, 1), diskRNG: stream(seed, 2), chain: newChain(stream(seed, 3)),
		disk: vfs.NewCrashableMem(),
	}
	r.clock = &clock{run: r, now: epoch}
	r.sched = &scheduler{run: r, rng: stream(seed, 4)}
	r.faults = faults{run: r, plan: drawFaults(stream(seed, 5))}
	r.logger = slog.New(&logHandler{run: r})
	r.o = r.drawOptions()
	r.embedder = &embedder{run: r}
	r.embedder.pid, _ = base.ProcessRegistry.Add(r.embedder, "$embedder")
	r.note("**", "seed %d; %v; faults %v", seed, r.o, r.faults.plan)
	return r
}

func (r *run) note(mark, format string, args ...any) {
	r.trace.note(r.sched.steps, r.clock.now, mark, format, args...)
}

// fail notes why the run fails; the first reason counts. It may be called from within an actor's
// Receive, so it only notes.
func (r *run) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.note("!!", "FAILED: %v", r.err)
	}
}

// halt ends a run that has failed.
func (r *run) halt() {
	if r.err != nil {
		panic(halted{})
	}
}

// abandon takes down what a failed run has open.
func (r *run) abandon() {
	defer func() { _ = recover() }()
	r.faults.stop()
	r.closeViews()
	r.stopActors()
	_ = r.node.store.Close()
}

// panicked judges a panic that an actor ended with: those that were not injected are bugs.
func (r *run) panicked(path string, reason any) {
	if err, ok := reason.(error); ok && errors.Is(err, errInjected) {
		return
	}
	if strings.Contains(fmt.Sprint(reason), errInjected.Error()) {
		return
	}
	if r.storeFailed || r.node.failed.Load() || r.node.disk.failed {
		return // an actor that cannot begin with a store that has failed
	}
	r.fail("%s panicked: %v", path, reason)
}

// pump delivers messages until done says so. It ends as well where the process does, and where
// nobody has anything to do for a long time.
func (r *run) pump(done func() bool) {
	bound := r.clock.now.Add(patience)
	for !done() {
		r.halt()
		if r.over() {
			return
		}
		if r.faults.endsNow() {
			r.node.disk.image = r.node.disk.after(true)
			r.node.disk.ended.Store(true)
			return
		}
		if !r.sched.step() && !r.clock.fire(bound) {
			return
		}
		if r.sched.steps > maxSteps {
			r.fail("no end after %d steps", maxSteps)
		}
	}
	r.halt()
}

// restart ends the process and starts the next one, which has to stand where the path says, once
// it has done again what its log has.
func (r *run) restart() {
	for {
		r.end()
		if r.processes++; r.processes > maxRestarts {
			r.fail("%d processes do not come to an end", r.processes)
			r.halt()
		}
		r.open()
		at, end := r.found()
		r.faults.silent(func() { r.compareRows(r.node.store, at, "after a restart") })
		r.halt()
		r.start()
		if !r.recover(at) || r.over() {
			continue
		}
		r.pos = end
		r.faults.silent(func() { r.compareRows(r.node.store, r.path[end], "recovered") })
		r.halt()
		return
	}
}

// found tells the block that an opened store stands at, and the place in the path that its log
// leads to from there.
func (r *run) found() (at *block, end int) {
	c, built := r.node.store.Cursor()
	if !built {
		r.fail("I1: the store has lost its state, which was at %s", name(r.path[r.pos]))
		r.halt()
	}
	if at = r.chain.known[c.Hash]; at == nil || cursorOf(at) != c {
		r.fail("I1: the store stands at %v, which it was never given", c)
		r.halt()
	}
	last := at
	for _, l := range r.node.store.Logged() {
		b := r.chain.known[l.Hash]
		switch {
		case b == nil:
			r.fail("I1: the log has %v, which it was never given", l)
		case l.Undone && b == last && b.parent != nil:
			last = b.parent
		case !l.Undone && b.parent == last:
			last = b
		default:
			r.fail("I1: the log has %v behind %s", l, name(last))
		}
		r.halt()
	}
	end = r.place(r.path, cursorOf(last))
	if end < r.pos {
		r.fail("I1: the store and its log end at %s after a restart, %s was acknowledged",
			name(last), name(r.path[r.pos]))
	}
	r.halt()
	return at, end
}

// recover has the log's blocks applied and undone again, as balsa.Open does; false: the process
// ended over it.
func (r *run) recover(at *block) bool {
	for _, l := range r.node.store.Logged() {
		b := r.chain.known[l.Hash]
		if b.parent == at {
			stored, err := r.node.store.LoggedBlock(l)
			if err != nil && !r.excused(err) {
				r.fail("reading the log: %v", err)
			}
			if err != nil {
				return false
			}
			if string(stored.BAL) != string(b.list) {
				r.fail("the log has another list of %s", name(b))
			}
		}
		to := b
		if l.Undone {
			to = b.parent
		}
		if !r.redo(b, to, l.Undone) {
			return false
		}
		at = to
	}
	return true
}

// redo asks for one step of the log until it is done.
func (r *run) redo(b, to *block, undo bool) bool {
	for rounds := 0; rounds <= maxRounds; rounds++ {
		done := false
		if undo {
			_, done = r.rewindRound([]*block{b, to}, 0)
		} else {
			at, _ := r.applyRound([]*block{b.parent, b}, 0)
			done = at == 1
		}
		r.halt()
		if r.over() {
			return false
		}
		if done {
			return true
		}
	}
	r.fail("the log's %s cannot be done again", name(b))
	r.halt()
	return false
}

// quiet is a point at which nobody has anything to do: everything is compared.
func (r *run) quiet(why string) {
	r.faults.silent(func() {
		c, built := r.node.store.Cursor()
		if !built || c.Hash != r.head.hash {
			r.fail("%s: the store stands at %v, want %s", why, c, name(r.head))
			return
		}
		r.compareRows(r.node.store, r.head, why)
	})
	r.halt()
	r.checkLetters()
	r.checkViews()
	if most := r.o.window + 64; r.sched.deepest > most {
		r.fail("I4: %d messages waited in one mailbox", r.sched.deepest)
	}
	r.halt()
}

// logHandler takes the log: its errors have to come of a fault.
type logHandler struct{ run *run }

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

// Handle implements slog.Handler.
func (h *logHandler) Handle(_ context.Context, rec slog.Record) error {
	if !h.run.faults.any() {
		h.run.fail("no fault was injected, and the log has an error: %s", rec.Message)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(string) slog.Handler { return h }

// shortError leaves out what is not the same in each run: paths and stacks are not in it anyway.
func shortError(err error) string {
	if err == nil {
		return "in order"
	}
	if errors.Is(err, state.ErrStoreFailed) {
		return state.ErrStoreFailed.Error()
	}
	return err.Error()
}
