package storagebench

import (
	"context"
	"fmt"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// TailBelow is the number of slots below which an account belongs to the tail.
const TailBelow = 1000

// tailBatches are the batches that are compared on it: the default, and none.
var tailBatches = [2]int{64, 1}

// Tail compares batches on the small-account tail.
type Tail struct {
	Below  int        `json:"below_slots"`
	State  State      `json:"state"`
	Rounds int        `json:"rounds"`
	Sides  []TailSide `json:"sides"`
	// Ratio is the storage phase's wall time with batches of one over that with batches of 64.
	Ratio measure.Spread `json:"ratio"`
	// CPURatio is the same of the process's processor time during the storage phase.
	CPURatio measure.Spread `json:"cpu_ratio"`
}

// TailSide is the storage phase of the tail with one size of batches.
type TailSide struct {
	Batch       int            `json:"batch_accounts"`
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
	for _, n := range tailBatches {
		storage := o.Storage
		storage.BatchAccounts = n
		names, all = append(names, fmt.Sprintf("batch=%d", n)), append(all, storage)
	}
	builds, err := s.alternate(ctx, names, all)
	if err != nil {
		return nil, err
	}
	t := &Tail{
		Below: TailBelow, State: s.State, Rounds: o.Rounds,
		Ratio:    measure.Ratio(values(builds[1], storageWall), values(builds[0], storageWall)),
		CPURatio: measure.Ratio(values(builds[1], storageCPU), values(builds[0], storageCPU)),
	}
	each := 1e6 / float64(s.State.StorageAccounts)
	for i, n := range tailBatches {
		wall := of(builds[i], storageWall)
		t.Sides = append(t.Sides, TailSide{
			Batch: n, WallS: wall, AccountUS: wall.Times(each), Builds: builds[i],
			CPUAccount: of(builds[i], func(b *Build) float64 {
				return b.Storage.TrieCPUS * each
			}),
			Utilization: of(builds[i], func(b *Build) float64 { return b.Storage.Utilization }),
		})
	}
	return t, nil
}
