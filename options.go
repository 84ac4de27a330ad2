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

// StorageOptions say how the StorageActor works: see storageactor.Options.
type StorageOptions = storageactor.Options

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
	// NoSync acknowledges a block before it is on the disk: after a crash of the machine, not of the
	// process, the last blocks may be missing; the store is whole all the same. Default: false.
	NoSync bool
	// CacheBytes is the size of the store's block cache, at least state.MinCacheBytes. Default: the
	// store's.
	CacheBytes int64
	// ApplyTimeout bounds one Apply, and each step of a Rewind's request. Default: 10 minutes.
	ApplyTimeout time.Duration
	// Storage says how Import, Init and Rebuild build tries. Default: the StorageActor's.
	Storage StorageOptions
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
	if o.CacheBytes != 0 && o.CacheBytes < state.MinCacheBytes {
		return fmt.Errorf("%w: CacheBytes: %d is neither 0 (automatic) nor at least %d",
			ErrBadOptions, o.CacheBytes, state.MinCacheBytes)
	}
	if o.ApplyTimeout < 0 {
		return fmt.Errorf("%w: ApplyTimeout must not be negative", ErrBadOptions)
	}
	storage := o.Storage // its defaults are filled in where it is used
	if err := storage.Validate(); err != nil {
		return fmt.Errorf("%w: Storage: %w", ErrBadOptions, err)
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
