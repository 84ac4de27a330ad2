package balsa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/supervisor"
	"github.com/balsa-sync/balsa/telemetry"
)

// tracerName is the instrumentation scope of the engine's spans.
const tracerName = "github.com/balsa-sync/balsa"

// maxAttempts is how often a request is sent when the actor that had it in hand failed. Requests
// are idempotent, so sending one again is harmless.
const maxAttempts = 3

// Engine holds a state and keeps it at the head of the chain. Its methods may be called from any
// goroutine; blocks are applied one at a time in the order of the calls.
type Engine struct {
	opts    Options
	store   *state.Store
	shadow  *balactor.Shadow
	tree    *supervisor.Tree // nil: read-only
	request atomic.Uint64

	mu       sync.Mutex
	closed   bool // no new calls
	inFlight sync.WaitGroup

	closing sync.Mutex // one Close at a time
	stopped bool       // the actors were told
	ended   bool       // the store is closed

	hide func() // from the monitor; nil: read-only

	subscriptions balactor.Subscriptions

	open  context.Context         // until Close is called
	close context.CancelCauseFunc // ends it
}

// Block is a block to apply: what a consensus client or a peer gives of it.
type Block struct {
	Header *types.Header
	// BAL is the raw RLP of the block access list (EIP-7928). Nil or 0x80: not available.
	BAL []byte
	// Transactions is the number of transactions in the block, or -1 where it is not known. It
	// bounds the list's block access indices.
	Transactions int
}

// Applied says what a block did.
type Applied = messages.BlockApplied

// Open opens the store that Init made and starts the engine. After a crash it first applies the
// blocks again that were acknowledged and are in the log alone; one that does not apply is
// ErrRecovery, and nothing is lost. A read-only engine stands at the last checkpoint then: see
// Logged.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	store, err := state.Open(storeOptions(o, true))
	if err != nil {
		return nil, err
	}
	shadow, err := balactor.NewShadow(o.Shadow)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	e := &Engine{opts: o, store: store, shadow: shadow}
	e.open, e.close = context.WithCancelCause(context.Background())
	if _, ok := store.Cursor(); !ok {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Dir, ErrNoState), store.Close())
	}
	if o.ReadOnly {
		if n := len(store.Logged()); n > 0 {
			o.Logger.Warn("logged blocks lie beyond the state: opening the store for writing applies "+
				"them", "checkpoint", e.Cursor().Number, "blocks", n)
		}
		return e, nil
	}
	tracer := o.TracerProvider.Tracer(tracerName)
	e.tree, err = supervisor.Start(ctx, supervisor.Config{
		Actors: actors.Options{Name: "balsa", AskTimeout: o.ApplyTimeout},
		Store:  store, Tracer: tracer, Logger: o.Logger,
		BalApply: balactor.Options{Workers: o.Workers, Apply: o.Apply},
		OnFatal:  o.OnFatal, Monitor: o.Monitor, Shadow: shadow,
		Subscriptions: &e.subscriptions,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	e.hide = o.Monitor.Store(store.Metrics)
	e.showShadow()
	if err := e.recover(ctx); err != nil {
		// Not ctx itself, whose end may be what went wrong.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return nil, errors.Join(err, e.Close(closing))
	}
	return e, nil
}

// closeTimeout bounds how long an engine that did not open waits for its actors.
const closeTimeout = 10 * time.Second

func storeOptions(o Options, mustExist bool) state.Options {
	return state.Options{
		Dir: o.Dir, FS: o.FS, ReadOnly: o.ReadOnly, MustExist: mustExist, NoSync: o.NoSync,
		CacheBytes: o.CacheBytes, History: uint64(max(o.History, 0)),
		CheckpointBlocks: o.CheckpointBlocks,
		CheckpointBytes:  o.CheckpointBytes, Logger: o.Logger, OnFatal: o.OnFatal,
	}
}

// Apply applies the block on top of the cursor and proves its state root. A block that the store
// holds already is answered with Applied.Known. On any error the store is as it was.
//
// When ctx ends before the block is applied, work on it stops soon afterwards, but it may have been
// applied by then; applying it again is harmless. That is why Apply copies what it is given: the
// caller may use its buffers again in any case.
func (e *Engine) Apply(ctx context.Context, b Block) (Applied, error) {
	id := e.request.Add(1)
	b.BAL = bytes.Clone(b.BAL)
	if b.Header != nil {
		b.Header = types.CopyHeader(b.Header)
	}
	wanted, done := e.wanted(ctx)
	defer done()
	m, err := e.ask(ctx, func(to *actor.PID) any {
		return &messages.ApplyBlock{
			Request: id, Header: b.Header, BAL: b.BAL, Transactions: b.Transactions,
			Ctx: wanted, ReplyTo: to,
		}
	})
	if err != nil {
		return Applied{}, err
	}
	switch m := m.(type) {
	case *messages.BlockApplied:
		return *m, nil
	case *messages.BlockRejected:
		return Applied{}, m.Err
	}
	return Applied{}, fmt.Errorf("the engine answered ApplyBlock with %T", m)
}

// Rewind undoes blocks until the one with the given hash, an ancestor of the cursor, is the cursor
// again, and proves the state root after each. On an error the cursor is returned where it stopped.
func (e *Engine) Rewind(ctx context.Context, to common.Hash) (state.Cursor, error) {
	id := e.request.Add(1)
	wanted, done := e.wanted(ctx)
	defer done()
	m, err := e.ask(ctx, func(pid *actor.PID) any {
		return &messages.Rewind{Request: id, To: to, Ctx: wanted, ReplyTo: pid}
	})
	if err != nil {
		return e.Cursor(), err
	}
	switch m := m.(type) {
	case *messages.Rewound:
		return m.Cursor, nil
	case *messages.RewindRejected:
		return m.Cursor, m.Err
	}
	return e.Cursor(), fmt.Errorf("the engine answered Rewind with %T", m)
}

// wanted gives the context that the work on a request goes by: it ends with ctx, with the call,
// which calls done, and with the engine (ErrClosed).
func (e *Engine) wanted(ctx context.Context) (wanted context.Context, done func()) {
	wanted, cancel := context.WithCancelCause(e.open)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return wanted, func() { stop(); cancel(nil) }
}

// ask sends a request to the BalApplyActor and waits for the answer.
func (e *Engine) ask(ctx context.Context, msg func(*actor.PID) any) (any, error) {
	if e.tree == nil {
		return nil, ErrReadOnly
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.inFlight.Done()
	for attempt := 1; ; attempt++ {
		m, err := e.tree.System.Ask(ctx, e.tree.BalApply, msg)
		if !errors.Is(err, actors.ErrRestarted) || attempt == maxAttempts {
			return m, err
		}
		trace.SpanFromContext(ctx).AddEvent(telemetry.EventRetried, trace.WithAttributes(
			attribute.Int(telemetry.AttrAttempt, attempt)))
	}
}

// enter notes a call that Close waits for.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.inFlight.Add(1)
	return nil
}

// Cursor is the block whose state the store holds.
func (e *Engine) Cursor() state.Cursor {
	c, _ := e.store.Cursor() // Open refuses a store without one
	return c
}

// BlockHash returns the hash of the block with a number on the cursor's branch. It is false above
// the cursor, and below the block that Init was given.
func (e *Engine) BlockHash(number uint64) (hash common.Hash, ok bool, err error) {
	if err := e.enter(); err != nil {
		return common.Hash{}, false, err
	}
	defer e.inFlight.Done()
	sn := e.store.NewSnapshot()
	hash, ok, err = sn.BlockHash(number)
	return hash, ok, errors.Join(err, sn.Close())
}

// ChainID is the chain's id as Init was given it.
func (e *Engine) ChainID() uint64 { return e.store.ChainID() }

// Close refuses new calls, has Apply and Rewind give up what they have in hand (ErrGivenUp), waits
// for all calls until ctx ends, stops the actors in order and closes the store. Every View must
// have been closed: with one open, or where ctx ends before the actors have let go of the store,
// Close returns an error and may be called again. Closing an engine that is closed is harmless.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.close(ErrClosed)
	e.subscriptions.Close(ErrClosed)
	e.shadow.Close()

	e.closing.Lock()
	defer e.closing.Unlock()
	if e.ended {
		return nil
	}
	done := make(chan struct{})
	go func() { e.inFlight.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done(): // the actors are stopped all the same, and the calls end with an error
	}
	var err error
	if e.tree != nil && !e.stopped {
		e.stopped = true
		e.hide()
		err = e.tree.Stop(ctx)
		err = errors.Join(err, e.shadow.Drain())
	}
	storeErr := e.store.Close()
	e.ended = storeErr == nil
	return errors.Join(err, storeErr)
}
