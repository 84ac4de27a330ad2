package balbench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Plan says what is measured in one go.
type Plan struct {
	Families []Family
	// States are the numbers of plain accounts of the states that the families run on.
	States []int
	// BlockAccounts, where it is not 0, is how many accounts a block of any family changes.
	BlockAccounts int
	// Growth are the numbers of plain accounts of the states, and Sizes those of the accounts that
	// change in a block, at which the mixed family is measured to see how its cost grows.
	Growth, Sizes []int
	// Workers, where it is above 1, is the number of workers that are compared with one.
	Workers int
	Control bool // a second contestant of each path
}

// Validate refuses what cannot be measured.
func (p *Plan) Validate() error {
	for _, n := range slices.Concat(p.States, p.Growth) {
		if err := ShapeOf(n).Validate(); err != nil {
			return err
		}
	}
	for _, n := range p.Sizes {
		if n < 1 || n > GasLimit/itemCost/4 {
			return fmt.Errorf("%w: blocks of %d accounts", ErrBadOptions, n)
		}
	}
	if p.BlockAccounts < 0 || p.BlockAccounts > GasLimit/itemCost/4 || p.Workers < 0 {
		return fmt.Errorf("%w: blocks of %d accounts, %d workers", ErrBadOptions, p.BlockAccounts,
			p.Workers)
	}
	if len(p.States) == 0 && len(p.Families)+len(p.Sizes)+p.Workers > 0 {
		return fmt.Errorf("%w: no state", ErrBadOptions)
	}
	return nil
}

// itemCost is what an item of an access list takes of a block's gas limit (EIP-7928).
const itemCost = 2000

// Report is what a Plan gave.
type Report struct {
	Processors int       `json:"processors"`
	NoSync     bool      `json:"no_sync"`
	CacheBytes int64     `json:"cache_bytes"`
	Families   []*Result `json:"families"`
	Workers    *Result   `json:"workers,omitempty"` // mixed blocks on the largest state
	Growth     []*Result `json:"growth,omitempty"`  // mixed blocks on growing states
	Sizes      []*Result `json:"sizes,omitempty"`   // growing mixed blocks on the largest state
	Plots      []string  `json:"plots,omitempty"`
}

// Measure does what the plan says. Stores are made in dir, and stay there.
func Measure(ctx context.Context, dir string, p Plan, o Options) (*Report, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	rep := &Report{Processors: runtime.GOMAXPROCS(0), NoSync: o.NoSync, CacheBytes: o.CacheBytes}
	all := Paths(p.Control)
	if o.Geth {
		all = append(all, Reference())
	}
	largest := 0
	if len(p.States) > 0 {
		largest = slices.Max(p.States)
	}
	states := slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.States, p.Growth))))
	for _, n := range states {
		b, err := New(ctx, filepath.Join(dir, fmt.Sprintf("state-%d", n)), ShapeOf(n), o)
		if err != nil {
			return nil, err
		}
		if slices.Contains(p.States, n) {
			if err := rep.families(ctx, b, p, all); err != nil {
				return nil, err
			}
		}
		if n == largest {
			if err := rep.onLargest(ctx, b, p, all); err != nil {
				return nil, err
			}
		}
		if slices.Contains(p.Growth, n) {
			if err := b.into(ctx, &rep.Growth, mixed(p.BlockAccounts), all); err != nil {
				return nil, err
			}
		}
	}
	return rep, nil
}

// mixed is the mixed family with so many accounts a block, mainnet's number for 0.
func mixed(accounts int) Family {
	all := Families()
	f := all[slices.IndexFunc(all, func(f Family) bool { return f.Name == Mixed })]
	f.Load = f.Load.scaled(accounts)
	return f
}

// into adds a result to a list.
func (b *Bench) into(ctx context.Context, to *[]*Result, f Family, cs []Contestant) error {
	b.o.Logger.Info("measuring", "family", f.Name, "accounts_a_block", f.Load.Accounts,
		"state", b.State.Shape.All())
	res, err := b.Run(ctx, f, cs)
	if err == nil {
		*to = append(*to, res)
	}
	return err
}

func (rep *Report) families(ctx context.Context, b *Bench, p Plan, all []Contestant) error {
	for _, f := range p.Families {
		f.Load = f.Load.scaled(p.BlockAccounts)
		if err := b.into(ctx, &rep.Families, f, all); err != nil {
			return err
		}
	}
	return nil
}

// onLargest measures what is measured on one state alone.
func (rep *Report) onLargest(ctx context.Context, b *Bench, p Plan, all []Contestant) error {
	for _, n := range p.Sizes {
		if err := b.into(ctx, &rep.Sizes, mixed(n), all); err != nil {
			return err
		}
	}
	if p.Workers < 2 {
		return nil
	}
	var one []*Result
	if err := b.into(ctx, &one, mixed(p.BlockAccounts), Workers(p.Workers)); err != nil {
		return err
	}
	rep.Workers = one[0]
	return nil
}

// Clean removes the stores that Measure made for a state.
func Clean(dir string, accounts int) error {
	return os.RemoveAll(filepath.Join(dir, fmt.Sprintf("state-%d", accounts)))
}
