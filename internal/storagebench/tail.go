package storagebench

import (
	"context"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// TailBelow is the number of slots below which an account belongs to the tail.
const TailBelow = 1000

// tailSides are what is compared on it: the default; a message for each account, while a worker's
// accounts share iterator, builder, buffer and flush all the same; and nothing shared, where each
// account has a message, a table, a flush and its answer of its own, as without a dispatcher.
var tailSides = [...]TailSide{
	{Name: "batches of 64", Batch: 64},
	{Name: "batches of 1", Batch: 1},
	{Name: "unbatched", Batch: 1, Segment: 1},
}

// Tail compares batches on the small-account tail. The first side is compared with the others.
type Tail struct {
	Below  int        `json:"below_slots"`
	State  State      `json:"state"`
	Rounds int        `json:"rounds"`
	Sides  []TailSide `json:"sides"`
}

// TailSide is the storage phase of the tail with one size of batches.
type TailSide struct {
	Name    string `json:"name"`
	Batch   int    `json:"batch_accounts"`
	Segment int    `json:"segment_accounts,omitempty"` // 0: the default
	// Ratio is the storage phase's wall time on this side over that on the first.
	Ratio measure.Spread `json:"ratio"`
	// CPURatio is the same of the process's processor time during the storage phase.
	CPURatio    measure.Spread `json:"cpu_ratio"`
	WallS       measure.Spread `json:"storage_wall_s"`
	AccountUS   measure.Spread `json:"wall_us_account"`
	CPUAccount  measure.Spread `json:"trie_cpu_us_account"`
	Utilization measure.Spread `json:"utilization"`
	Builds      []Build        `json:"builds"`
}

// MeasureTail makes the tail of the shape in a store in dir and compares batches on it.
func MeasureTail(ctx context.Context, dir string, shape mainnetshape.Shape, o Options) (
	*Tail, error) {
	s, err := NewStore(ctx, dir, shape.Tail(TailBelow), o)
	if err != nil {
		return nil, err
	}
	var names []string
	var all []balsa.StorageOptions
	for i := range tailSides {
		storage, err := tailSides[i].options(o.Storage)
		if err != nil {
			return nil, err
		}
		names, all = append(names, tailSides[i].Name), append(all, storage)
	}
	builds, err := s.alternate(ctx, names, all)
	if err != nil {
		return nil, err
	}
	t := &Tail{Below: TailBelow, State: s.State, Rounds: o.Rounds}
	each := 1e6 / float64(s.State.StorageAccounts)
	for i, side := range tailSides {
		side.Builds = builds[i]
		side.Ratio = measure.Ratio(values(builds[i], storageWall), values(builds[0], storageWall))
		side.CPURatio = measure.Ratio(values(builds[i], storageCPU), values(builds[0], storageCPU))
		side.WallS = of(builds[i], storageWall)
		side.AccountUS = side.WallS.Times(each)
		side.CPUAccount = of(builds[i], func(b *Build) float64 { return b.Storage.TrieCPUS * each })
		side.Utilization = of(builds[i], func(b *Build) float64 { return b.Storage.Utilization })
		t.Sides = append(t.Sides, side)
	}
	return t, nil
}

// options are o for this side. What a requester may have outstanding stays the same.
func (s *TailSide) options(o balsa.StorageOptions) (balsa.StorageOptions, error) {
	if err := o.Validate(); err != nil {
		return o, err
	}
	o.BatchAccounts = s.Batch
	if s.Segment > 0 {
		o.SegmentAccounts = s.Segment
	}
	return o, nil
}
