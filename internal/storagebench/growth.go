package storagebench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// GrowthAssumption is what a Growth's extrapolation rests on.
const GrowthAssumption = "processor time a leaf = a + b x log10(leaves), by least squares: each " +
	"tenfold of the state adds the same, as levels of tries and tables do. Where it falls instead, " +
	"which fixed costs of small builds make it do, it is taken to stay as at the largest scale. " +
	"Disk and memory are assumed to keep up as they do here"

// Growth says how the cost of a leaf grows with the state.
type Growth struct {
	Points     []GrowthPoint `json:"points"`
	Assumption string        `json:"assumption"`
	// Storage and Process are nanoseconds a leaf over the decimal logarithm of the leaves; nil where
	// there are too few scales.
	Storage *measure.Line `json:"storage_fit,omitempty"`
	Process *measure.Line `json:"process_fit,omitempty"`
	// MainnetLeaves are mainnet's, and the rest is what the lines say at that number.
	MainnetLeaves    int     `json:"mainnet_leaves"`
	MainnetStorageNS float64 `json:"mainnet_storage_ns_leaf"`
	MainnetProcessNS float64 `json:"mainnet_process_ns_leaf"`
}

// GrowthPoint is one scale.
type GrowthPoint struct {
	Scale float64 `json:"scale"`
	State State   `json:"state"`
	// StorageNS is the processor time of the threads that built storage tries, ProcessNS that of the
	// process during the storage phase, both in nanoseconds a leaf.
	StorageNS measure.Spread `json:"storage_ns_leaf"`
	ProcessNS measure.Spread `json:"process_ns_leaf"`
	WallNS    measure.Spread `json:"wall_ns_leaf"`
	// LargestShare is the share of the wall time from the largest trie's first job to its last one's
	// end, LargestLeaves its share of the leaves.
	LargestShare  measure.Spread `json:"largest_share_of_wall"`
	LargestLeaves float64        `json:"largest_share_of_leaves"`
	Builds        []Build        `json:"builds"`
}

// MeasureScale builds one more scale, in a store in dir.
func (g *Growth) MeasureScale(ctx context.Context, dir string, scale float64, o Options) error {
	shape, err := mainnetshape.Mainnet(scale)
	if err != nil {
		return err
	}
	s, err := NewStore(ctx, dir, shape, o)
	if err != nil {
		return err
	}
	return g.Measure(ctx, s, scale)
}

// Measure adds a point for a store.
func (g *Growth) Measure(ctx context.Context, s *Store, scale float64) error {
	var builds []Build
	for round := range s.o.Rounds {
		s.o.Logger.Info("building", "scale", scale, "round", round+1)
		b, err := s.Rebuild(ctx, s.o.Storage)
		if err != nil {
			return fmt.Errorf("scale %v: %w", scale, err)
		}
		builds = append(builds, b)
	}
	p := newGrowthPoint(scale, s.State, builds)
	g.Points = append(g.Points, p)
	return nil
}

func newGrowthPoint(scale float64, state State, builds []Build) GrowthPoint {
	leaf := func(f func(*Build) float64) measure.Spread {
		return of(builds, func(b *Build) float64 {
			return f(b) * 1e9 / float64(max(b.Storage.Leaves, 1))
		})
	}
	p := GrowthPoint{
		Scale: scale, State: state, Builds: builds,
		StorageNS: leaf(func(b *Build) float64 { return b.Storage.TrieCPUS }),
		ProcessNS: leaf(storageCPU),
		WallNS:    leaf(storageWall),
	}
	var shares []float64
	for i := range builds {
		if r := &builds[i].Storage; len(r.Largest) > 0 {
			l := r.Largest[0]
			shares = append(shares, (l.LastS-l.FirstS)/max(r.WallS, 1e-9))
			p.LargestLeaves = float64(l.Leaves) / float64(max(r.Leaves, 1))
		}
	}
	p.LargestShare = measure.Of(shares)
	return p
}

// Extrapolate fits the lines, where there are two scales or more.
func (g *Growth) Extrapolate() error {
	g.Assumption, g.MainnetLeaves = GrowthAssumption, mainnetshape.MainnetSlots
	if len(g.Points) < 2 {
		return nil
	}
	last := slices.MaxFunc(g.Points, func(a, b GrowthPoint) int {
		return cmp.Compare(a.State.Slots, b.State.Slots)
	})
	var x, storage, process []float64
	for _, p := range g.Points {
		x = append(x, math.Log10(float64(p.State.Slots)))
		storage = append(storage, p.StorageNS.Median)
		process = append(process, p.ProcessNS.Median)
	}
	fit := func(y []float64, atLast float64) (*measure.Line, float64, error) {
		l, err := measure.FitLine(x, y)
		at := l.At(math.Log10(mainnetshape.MainnetSlots))
		if l.Slope < 0 {
			at = atLast
		}
		return &l, at, err
	}
	var err error
	if g.Storage, g.MainnetStorageNS, err = fit(storage, last.StorageNS.Median); err != nil {
		return err
	}
	g.Process, g.MainnetProcessNS, err = fit(process, last.ProcessNS.Median)
	return err
}
