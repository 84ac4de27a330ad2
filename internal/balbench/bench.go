package balbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/measure"
)

// Options say how blocks are measured.
type Options struct {
	CacheBytes int64 // of each store
	NoSync     bool  // Balsa does not wait for the disk; go-ethereum never does
	Workers    int   // of Balsa's engines; 0: one a processor
	Rounds     int   // segments of each contestant
	Blocks     int   // of a segment
	Warmup     int   // blocks before the first segment, which are not measured
	Geth       bool  // go-ethereum takes part, and gives the roots
	Logger     *slog.Logger

	settle func() time.Duration // waits until the process is quiet; nil: measure.Settle
}

// Validate refuses what cannot be measured.
func (o *Options) Validate() error {
	if o.Rounds < 1 || o.Blocks < 1 || o.Warmup < 0 || o.CacheBytes < 0 {
		return fmt.Errorf("%w: %d rounds of %d blocks after %d, %d bytes of cache", ErrBadOptions,
			o.Rounds, o.Blocks, o.Warmup, o.CacheBytes)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.settle == nil {
		o.settle = measure.Settle
	}
	return nil
}

// Bench has the stores of one state that contestants get clones of.
type Bench struct {
	State *State
	o     Options
	dir   string
}

// New makes the state's stores in dir, or takes those that are there.
func New(ctx context.Context, dir string, shape Shape, o Options) (*Bench, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Logger.Info("making a state", "accounts", shape.All(), "slots",
		shape.Contracts*shape.Slots)
	s, err := NewState(shape)
	if err != nil {
		return nil, err
	}
	b := &Bench{State: s, o: o, dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	_, err = balsa.Import(ctx, o.engine(b.base(Bulk)), s.Source(), balsa.ImportOptions{})
	if err != nil && !errors.Is(err, balsa.ErrInitialised) {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	if o.Geth {
		if err := b.makeGeth(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// base is the folder of the store that a path's contestants get clones of.
func (b *Bench) base(path string) string {
	if path == Geth {
		return filepath.Join(b.dir, "geth")
	}
	return filepath.Join(b.dir, "balsa")
}

// makeGeth makes go-ethereum's store, which has its name once it is whole.
func (b *Bench) makeGeth() error {
	dir := b.base(Geth)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	b.o.Logger.Info("making go-ethereum's store")
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("balbench: %w", err)
	}
	db, err := MakeGeth(part, b.gethCacheMB(), b.State)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("balbench: %w", err)
	}
	return os.Rename(part, dir)
}

func (b *Bench) gethCacheMB() int { return int(b.o.CacheBytes >> 20 * 2) } // half are memtables

// open gives the contestant a clone in dir.
func (b *Bench) open(ctx context.Context, c Contestant, dir string) (side, error) {
	if err := Clone(b.base(c.Path), dir); err != nil {
		return nil, err
	}
	if c.Path != Geth {
		return b.openEngine(ctx, dir, c.Set)
	}
	db, err := OpenGeth(dir, b.gethCacheMB())
	if err != nil {
		return nil, err
	}
	s, err := NewStateDB(db, b.State.Root)
	if err != nil {
		return nil, fmt.Errorf("balbench: %s: %w", dir, err)
	}
	return gethSide{s}, nil
}
