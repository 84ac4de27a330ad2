package balsa

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/storageactor"
	"github.com/balsa-sync/balsa/telemetry"
)

// Apply is a way from a block access list to the block's state.
type Apply = balactor.Apply

// The ways to apply a block. They give the same results; the journaled one is there to be measured
// against.
const (
	ApplyBulk      = balactor.ApplyBulk
	ApplyJournaled = balactor.ApplyJournaled
)

// StorageOptions say how the StorageActor works: see storageactor.Options.
type StorageOptions = storageactor.Options

const (
	// AllHistory is an Options.History without end.
	AllHistory = -1
	// DefaultHistory is the default Options.History.
	DefaultHistory = 256
)

// Options say where the state is and how the engine works. Only Dir has no default.
type Options struct {
	// Dir is the store's directory, on FS.
	Dir string
	// FS is the file system. Default: the disk.
	FS state.FS
	// ReadOnly opens the store for View and Verify alone. Default: false.
	ReadOnly bool
	// Workers is how many AccountBatch actors share a block's work. Default: GOMAXPROCS.
	Workers int
	// Apply says how block access lists become new values: see balactor.Apply. Default: ApplyBulk.
	Apply Apply
	// NoSync acknowledges a block before it is on the disk: after a crash of the machine, not of the
	// process, the last blocks may be missing; the store is whole all the same. Otherwise Apply
	// returns when the block's header and access list are on the disk, and Open applies it again after
	// a crash if its rows are not. Default: false.
	NoSync bool
	// CacheBytes is the size of the store's block cache, at least state.MinCacheBytes. Default: the
	// store's.
	CacheBytes int64
	// CheckpointBlocks is after how many blocks a checkpoint begins, beside the blocks that follow; 1:
	// each block waits for its own. CheckpointBytes begins one sooner, where the rows in memory have
	// reached so many bytes; three times as much is the bound. Default: the store's, 64 and 128 MB.
	CheckpointBlocks int
	CheckpointBytes  int64
	// History is for how many blocks below the cursor the engine can undo blocks (Rewind) and read
	// older states (ViewAt). What only older blocks need is removed as new ones come: their headers,
	// access lists and reverse diffs. AllHistory removes nothing. Default: 256.
	History int
	// ApplyTimeout bounds one Apply, and each step of a Rewind's request. Default: 10 minutes.
	ApplyTimeout time.Duration
	// Storage says how Import, Init and Rebuild build tries. Default: the StorageActor's.
	Storage StorageOptions
	// Shadow says whether a shadow computes blocks' roots a second way, beside the engine. Default:
	// none does.
	Shadow ShadowOptions
	// Logger takes the engine's log. Default: none.
	Logger *slog.Logger
	// TracerProvider makes the spans' tracer. Default: none are made.
	TracerProvider trace.TracerProvider
	// Monitor shows the engine from outside: metrics and status. Default: nothing is shown.
	Monitor *telemetry.Monitor
	// OnFatal is called at most once, when the store or an actor cannot go on. The embedder closes
	// the engine, but not from within the call, and exits. Default: nothing; Apply fails from then on.
	OnFatal func(error)
}

// Validate fills in the defaults and refuses what cannot work.
func (o *Options) Validate() error {
	if o.Dir == "" {
		return fmt.Errorf("%w: Dir is not set", ErrBadOptions)
	}
	if o.Workers < 0 || o.Workers > balactor.MaxWorkers {
		return fmt.Errorf("%w: Workers: %d is not between 0 (automatic) and %d",
			ErrBadOptions, o.Workers, balactor.MaxWorkers)
	}
	if o.Apply > ApplyJournaled {
		return fmt.Errorf("%w: Apply: there is no way %d", ErrBadOptions, o.Apply)
	}
	if o.CacheBytes != 0 && o.CacheBytes < state.MinCacheBytes {
		return fmt.Errorf("%w: CacheBytes: %d is neither 0 (automatic) nor at least %d",
			ErrBadOptions, o.CacheBytes, state.MinCacheBytes)
	}
	if o.CheckpointBlocks < 0 || o.CheckpointBlocks > state.MaxCheckpointBlocks {
		return fmt.Errorf("%w: CheckpointBlocks: %d is not between 0 (automatic) and %d",
			ErrBadOptions, o.CheckpointBlocks, state.MaxCheckpointBlocks)
	}
	if n := o.CheckpointBytes; n != 0 &&
		(n < state.MinCheckpointBytes || n > state.MaxCheckpointBytes) {
		return fmt.Errorf("%w: CheckpointBytes: %d is neither 0 (automatic) nor from %d to %d",
			ErrBadOptions, n, state.MinCheckpointBytes, state.MaxCheckpointBytes)
	}
	if o.ApplyTimeout < 0 {
		return fmt.Errorf("%w: ApplyTimeout must not be negative", ErrBadOptions)
	}
	if o.History < AllHistory {
		return fmt.Errorf("%w: History: %d is neither AllHistory, 0 (automatic) nor positive",
			ErrBadOptions, o.History)
	}
	storage := o.Storage // its defaults are filled in where it is used
	if err := storage.Validate(); err != nil {
		return fmt.Errorf("%w: Storage: %w", ErrBadOptions, err)
	}
	if err := o.Shadow.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrBadOptions, err)
	}
	if o.History == 0 {
		o.History = DefaultHistory
	}
	if o.ApplyTimeout == 0 {
		o.ApplyTimeout = 10 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if f := o.OnFatal; f != nil { // the store and the supervisor may both call it
		var once sync.Once
		o.OnFatal = func(err error) { once.Do(func() { f(err) }) }
	}
	if o.TracerProvider == nil {
		o.TracerProvider = noop.NewTracerProvider()
	}
	return nil
}
