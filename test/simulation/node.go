package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cockroachdb/pebble/v2"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/storageactor"
	"github.com/balsa-sync/balsa/supervisor"
)

// node is one process: what is lost when it ends.
type node struct {
	disk   *disk
	store  *state.Store
	bulk   *state.Bulk // nil: nothing is built
	tree   *supervisor.Tree
	views  []view
	behind []func()    // checkpoints that have begun, and wait until they are drawn
	gaveUp atomic.Bool // an actor cannot be kept running
	failed atomic.Bool // the store takes no more writes
}

// view is a snapshot that is held while the store goes on.
type view struct {
	sn *state.Snapshot
	at *block
}

// tune takes away what Pebble does by itself.
func tune(o *pebble.Options) {
	o.DisableAutomaticCompactions = true
	o.DisableTableStats = true
	o.L0StopWritesThreshold = 1000
}

func (r *run) storeOptions() state.Options {
	n := r.node // OnFatal comes from another goroutine, when the next process may be there
	return state.Options{
		Dir: storeDir, FS: n.disk, AllowUnfinished: true, CacheBytes: state.MinCacheBytes,
		MemTableBytes: memTableBytes, Logger: r.logger, Tune: tune,
		CheckpointBlocks: r.o.checkpoint,
		OnFatal:          func(error) { n.failed.Store(true) },
		Background:       func(run func()) { n.behind = append(n.behind, run) },
	}
}

// storeDir is the store's directory on each disk.
const storeDir = "node"

// memTableBytes is more than a process writes: no memtable is flushed in Pebble's own time.
const memTableBytes = 1 << 20

// open starts a process on the disk that there is. It is tried again where a fault keeps it from
// opening.
func (r *run) open() {
	for tries := 0; ; tries++ {
		mem := r.disk
		n := &node{disk: newDisk(mem, &r.faults, r.diskRNG, &r.ops)}
		r.node = n
		var err error
		if n.store, err = state.Open(r.storeOptions()); err == nil && !n.disk.ended.Load() {
			return
		}
		if err == nil {
			err = errors.Join(errInjected, n.store.Close())
		}
		if !errors.Is(err, errInjected) && !n.disk.failed {
			r.fail("opening the store: %v", err)
		}
		if tries > 20 {
			r.fail("the store cannot be opened: %v", err)
		}
		r.halt()
		r.note("**", "opening failed: %v", shortError(err))
		if n.disk.image != nil {
			r.disk = n.disk.image
		} else {
			r.disk = n.disk.after(true)
		}
	}
}

// start starts the actors, with bulk for a build, and blocks where there is a state.
func (r *run) start() {
	cfg := supervisor.Config{
		Actors: actors.Options{
			Clock: r.clock, Mailbox: r.sched.newMailbox, Dispatcher: r.sched, Base: r.base,
		},
		Logger: r.logger, Tracer: noop.NewTracerProvider().Tracer(""),
		BalApply: r.o.apply, Storage: r.o.storage,
		OnFatal: func(error) { r.node.gaveUp.Store(true) },
	}
	if r.node.bulk != nil {
		cfg.Build = storageactor.StoreOf(r.node.bulk)
	}
	if _, built := r.node.store.Cursor(); built {
		cfg.Store = r.node.store
	}
	r.faults.silent(func() {
		r.sched.inline = true
		tree, err := supervisor.Start(context.Background(), cfg)
		r.sched.inline = false
		if err != nil {
			r.fail("starting the actors: %v", err)
			r.halt()
		}
		r.node.tree = tree
	})
}

// over tells whether the process has ended, or has to.
func (r *run) over() bool {
	n := r.node
	return n.disk.ended.Load() || n.gaveUp.Load() || n.failed.Load() || n.disk.full || r.storeFailed
}

// stopActors stops the actors in order, as an embedder does.
func (r *run) stopActors() {
	n := r.node
	if n.tree == nil {
		return
	}
	sys := n.tree.System
	r.sched.dead, r.sched.inline = true, true
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // do not wait: what can be delivered has been when a call returns
	_ = sys.Shutdown(ctx)
	r.sched.dead, r.sched.inline = false, false
	r.sched.runnable = r.sched.runnable[:0]
	r.clock.timers = r.clock.timers[:0]
	if left := sys.Stats().Actors; len(left) > 0 {
		r.fail("%d actors do not stop, the first is %s", len(left), left[0].Path)
		r.base = newBase()
	}
	n.tree = nil
}

// end ends the process, and gives the disk to the next one. Where the end was no fault of the
// disk's it is an orderly one, after which nothing may be lost.
func (r *run) end() {
	n := r.node
	r.checkLetters()
	r.closeViews()
	r.stopActors()
	err := n.store.Close()
	switch {
	case n.disk.ended.Load():
		r.disk = n.disk.image
	case err == nil:
		r.disk = n.disk.after(r.diskRNG.IntN(2) == 0)
	case n.disk.image != nil && errors.Is(err, state.ErrStoreFailed):
		r.disk = n.disk.image
	case r.faults.any() && r.excused(err): // everything acknowledged was durable before
		r.disk = n.disk.after(true)
	default:
		r.fail("closing the store: %v", err)
	}
	r.storeFailed = false
	r.note("**", "the process ends: %v", shortError(err))
	r.halt()
}

func (r *run) closeViews() {
	for _, v := range r.node.views {
		if err := v.sn.Close(); err != nil {
			r.fail("closing a snapshot: %v", err)
		}
	}
	r.node.views = nil
}

// checkLetters looks for messages that went nowhere.
func (r *run) checkLetters() {
	if r.node.tree == nil || r.faults.any() {
		return
	}
	st := r.node.tree.System.Stats()
	if st.DeadLetters > 0 || st.RefusedNils > 0 || st.Dropped > 0 {
		r.fail("no fault was injected, and there are %d dead letters, %d nils, %d dropped messages",
			st.DeadLetters, st.RefusedNils, st.Dropped)
	}
}

func newBase() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

// workerOptions are how a run's actors work: as small as its state.
type workerOptions struct {
	apply   balactor.Options
	storage storageactor.Options
	window  int // blocks that are sent ahead of the answer
	// checkpoint is after how many blocks the store makes a checkpoint.
	checkpoint int
}

func (w workerOptions) String() string {
	return fmt.Sprintf("checkpoints after %d; window %d; "+
		"apply %d workers, batches of %d, parallel from %d, queue %d; "+
		"storage %d workers, %d flushers, %d buffers, large %d, split %d, parts %d, batch %d/%d, "+
		"segment %d/%d/%d, credit %d",
		w.checkpoint, w.window,
		w.apply.Workers, w.apply.BatchSlots, w.apply.ParallelAccounts, w.apply.MaxQueued,
		w.storage.Workers, w.storage.Flushers, w.storage.Buffers, w.storage.LargeLeaves,
		w.storage.SplitLeaves, w.storage.PartLeaves, w.storage.BatchAccounts, w.storage.BatchLeaves,
		w.storage.SegmentAccounts, w.storage.SegmentLeaves, w.storage.SegmentBytes,
		w.storage.Credit)
}

func (r *run) drawOptions() workerOptions {
	n := r.planRNG.IntN
	w := workerOptions{
		window: 1 + n(6), checkpoint: []int{1, 1, 2, 3, 5, 9, 64}[n(7)],
		apply: balactor.Options{
			Workers: 1 + n(3), MaxQueued: 1 + n(6), BatchSlots: 1 + n(12), ParallelAccounts: 1 + n(6),
		},
		storage: storageactor.Options{
			Workers: 1 + n(3), LargeLeaves: 4 + n(10), PartLeaves: 2 + n(8),
			BatchAccounts: 1 + n(6), BatchLeaves: 1 + n(40), SegmentAccounts: 1 + n(12),
			SegmentLeaves: 1 + n(100), SegmentBytes: 1 + n(4000), Credit: 1 + n(40),
		},
	}
	w.storage.SplitLeaves = w.storage.LargeLeaves + n(10)
	w.storage.Flushers = 1 + n(2)
	w.storage.Buffers = w.storage.Workers + n(4)
	return w
}
