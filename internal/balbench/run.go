package balbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/messages"
)

// run is one family's blocks on their way through the contestants.
type run struct {
	b       *Bench
	f       Family
	dir     string
	lanes   []lane
	scout   *engineSide // gives the roots; nil where go-ethereum does
	parent  *types.Header
	n       int // blocks so far
	account int // that changed, in measured blocks
	slot    int
}

// lane is a contestant with what it took.
type lane struct {
	c      Contestant
	s      side
	blocks []time.Duration
	rounds []time.Duration // the segments
	settle time.Duration
	cpu    time.Duration
	phases messages.Phases // sums
}

// made is a block as the contestants get it.
type made struct {
	header *types.Header
	list   []byte
}

// Run takes a family's blocks through the contestants.
func (b *Bench) Run(ctx context.Context, f Family, cs []Contestant) (res *Result, err error) {
	r := &run{b: b, f: f, parent: b.State.Header}
	if r.dir, err = os.MkdirTemp(b.dir, "run-"); err != nil {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	defer func() { err = errors.Join(err, r.close(ctx), os.RemoveAll(r.dir)) }()
	if err := r.open(ctx, cs); err != nil {
		return nil, err
	}
	if b.o.Warmup > 0 {
		if err := r.round(ctx, b.o.Warmup, 0, false); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for round := range b.o.Rounds {
		b.o.Logger.Debug("applying blocks", "family", f.Name, "round", round+1)
		if err := r.round(ctx, b.o.Blocks, round, true); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return r.result(), nil
}

// open opens the contestants, go-ethereum first.
func (r *run) open(ctx context.Context, cs []Contestant) error {
	cs = slices.Clone(cs)
	slices.SortStableFunc(cs, func(a, b Contestant) int {
		switch {
		case a.Path == Geth && b.Path != Geth:
			return -1
		case a.Path != Geth && b.Path == Geth:
			return 1
		}
		return 0
	})
	for i, c := range cs {
		s, err := r.b.open(ctx, c, filepath.Join(r.dir, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		r.lanes = append(r.lanes, lane{c: c, s: s})
	}
	if len(cs) > 0 && cs[0].Path == Geth {
		return nil
	}
	dir := filepath.Join(r.dir, "scout")
	if err := Clone(r.b.base(Bulk), dir); err != nil {
		return err
	}
	var err error
	r.scout, err = r.b.openEngine(ctx, dir, paths[0].Set)
	return err
}

func (r *run) close(ctx context.Context) error {
	var errs []error
	for _, l := range r.lanes {
		errs = append(errs, l.s.close(ctx))
	}
	if r.scout != nil {
		errs = append(errs, r.scout.close(ctx))
	}
	return errors.Join(errs...)
}

// round takes the next blocks through all contestants. Who gives the roots comes first.
func (r *run) round(ctx context.Context, n, round int, measured bool) error {
	blocks := make([]made, n)
	for i := range blocks {
		r.n++
		l := r.f.AccessList(r.b.State.Shape, r.n)
		list := bal.Encode(l)
		before := &types.Header{Number: bigInt(r.n - 1)}
		blocks[i] = made{NewHeader(before, common.Hash{}, list), list}
		if measured {
			for j := range l.Accounts {
				if l.Accounts[j].Changed() {
					r.account++
				}
			}
			r.slot += l.SlotsChanged()
		}
	}
	rest := r.lanes
	if r.scout == nil {
		rest = r.lanes[1:]
		if err := r.segment(ctx, &r.lanes[0], blocks, true, measured); err != nil {
			return err
		}
	} else if err := r.explore(ctx, blocks); err != nil {
		return err
	}
	for i := range rest {
		if round%2 == 1 {
			i = len(rest) - 1 - i
		}
		if err := r.segment(ctx, &rest[i], blocks, false, measured); err != nil {
			return err
		}
	}
	return nil
}

// explore has the scout give the roots.
func (r *run) explore(ctx context.Context, blocks []made) error {
	for i := range blocks {
		b := &blocks[i]
		b.header.ParentHash = r.parent.Hash()
		root, err := r.scout.root(ctx, b.header, b.list)
		if err != nil {
			return err
		}
		b.header.Root = root
		if _, _, err := r.scout.apply(ctx, b.header, b.list); err != nil {
			return fmt.Errorf("scout: block %v: %w", b.header.Number, err)
		}
		r.parent = b.header
	}
	return nil
}

// segment takes blocks through one contestant; with roots, it gives them.
func (r *run) segment(ctx context.Context, l *lane, blocks []made, roots, measured bool) error {
	if l.c.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(l.c.Procs))
	}
	runtime.GC()
	r.b.o.settle()
	cpu, whole := measure.CPUTime(), time.Duration(0)
	for i := range blocks {
		b := &blocks[i]
		start := time.Now()
		root, phases, err := l.s.apply(ctx, b.header, b.list)
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("%s: block %v: %w", l.c.Name, b.header.Number, err)
		}
		if roots {
			b.header.Root, b.header.ParentHash = root, r.parent.Hash()
			r.parent = b.header
		} else if root != b.header.Root {
			return fmt.Errorf("%s: block %v: root %v, want %v", l.c.Name, b.header.Number, root,
				b.header.Root)
		}
		if whole += took; measured {
			l.blocks = append(l.blocks, took)
			if phases != nil {
				addPhases(&l.phases, phases)
			}
		}
	}
	settle := r.b.o.settle()
	if measured {
		l.rounds = append(l.rounds, whole)
		l.settle += settle
		l.cpu += measure.CPUTime() - cpu
	}
	return nil
}
