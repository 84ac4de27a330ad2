package balbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/messages"
)

// Contestant is one of those that go through the same blocks.
type Contestant struct {
	// Name is its own, Path what it has in common with those that work alike: its controls.
	Name, Path string
	// Procs is on how many processors the process runs during its segments; 0: as ever.
	Procs int
	// Set sets an engine's options; nil for go-ethereum.
	Set func(o *balsa.Options)
}

// Geth is the path of go-ethereum.
const Geth = "geth"

// Bulk is the path that Balsa takes where nothing is said.
const Bulk = "bulk"

// Journaled is the path through a journal, on the same trie engine.
const Journaled = "journaled"

// paths are Balsa's ways to apply a block, the default first.
var paths = []Contestant{
	{Name: Bulk, Path: Bulk, Set: func(o *balsa.Options) { o.Apply = balsa.ApplyBulk }},
	{Name: Journaled, Path: Journaled,
		Set: func(o *balsa.Options) { o.Apply = balsa.ApplyJournaled }},
}

// Paths gives a contestant for each of Balsa's ways to apply a block, and with control a second one
// for each.
func Paths(control bool) []Contestant {
	all := append([]Contestant(nil), paths...)
	if control {
		for _, p := range paths {
			p.Name += " again"
			all = append(all, p)
		}
	}
	return all
}

// Reference gives go-ethereum.
func Reference() Contestant { return Contestant{Name: Geth, Path: Geth} }

// Workers gives the bulk path with n workers, which the others are compared with, with one, and
// with one on one processor.
func Workers(n int) []Contestant {
	with := func(name string, procs, n int) Contestant {
		return Contestant{Name: name, Path: name, Procs: procs,
			Set: func(o *balsa.Options) { o.Workers = n }}
	}
	return []Contestant{
		with(fmt.Sprintf("%d workers", n), 0, n), with(OneWorker, 0, 1),
		with(OneWorker+", 1 processor", 1, 1),
	}
}

// OneWorker is the contestant with one worker on all processors.
const OneWorker = "1 worker"

// side is a contestant at work on its store.
type side interface {
	// apply applies a block on top of the one before. Phases are nil where they are not known.
	apply(ctx context.Context, h *types.Header, list []byte) (common.Hash, *messages.Phases, error)
	close(ctx context.Context) error
}

// closeTimeout bounds an engine's close: nothing is in hand then.
const closeTimeout = time.Minute

type engineSide struct{ e *balsa.Engine }

// openEngine opens the store in dir.
func (b *Bench) openEngine(ctx context.Context, dir string, set func(*balsa.Options)) (
	*engineSide, error) {
	o := b.o.engine(dir)
	set(&o)
	e, err := balsa.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	return &engineSide{e}, nil
}

func (o *Options) engine(dir string) balsa.Options {
	return balsa.Options{Dir: dir, CacheBytes: o.CacheBytes, NoSync: o.NoSync, Workers: o.Workers,
		Logger: slog.New(slog.DiscardHandler)}
}

func (s *engineSide) apply(ctx context.Context, h *types.Header, list []byte) (
	common.Hash, *messages.Phases, error) {
	a, err := s.e.Apply(ctx, balsa.Block{Header: h, BAL: list, Transactions: Transactions})
	switch {
	case err != nil:
		return common.Hash{}, nil, err
	case a.Known:
		return common.Hash{}, nil, fmt.Errorf("balbench: block %d was known", a.Number)
	}
	return a.Root, &a.Phases, nil
}

// noRoot is the hash of nothing.
var noRoot = common.Hash{common.HashLength - 1: 1}

// root is the root that a block comes to.
func (s *engineSide) root(ctx context.Context, h *types.Header, list []byte) (common.Hash, error) {
	h = types.CopyHeader(h)
	h.Root = noRoot
	_, _, err := s.apply(ctx, h, list)
	var wrong *balsa.WrongRootError
	if !errors.As(err, &wrong) {
		return common.Hash{}, fmt.Errorf("balbench: a block without a root: %w", err)
	}
	return wrong.Got, nil
}

func (s *engineSide) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return s.e.Close(ctx)
}

type gethSide struct{ *StateDB }

func (s gethSide) apply(_ context.Context, h *types.Header, list []byte) (
	common.Hash, *messages.Phases, error) {
	root, err := s.Apply(h, list)
	return root, nil, err
}

func (s gethSide) close(context.Context) error { return s.abandon() }
