package bench

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// rebuildSide builds all tries from flat rows with balsa.Rebuild.
type rebuildSide struct {
	o      balsa.Options
	root   common.Hash
	report balsa.RebuildResult // of the last run
}

// newRebuildSide loads the state, whose root is known, into a store in dir.
func newRebuildSide(ctx context.Context, dir string, s FlatSizes, state *mainnetshape.State,
	root common.Hash) (*rebuildSide, error) {
	r := &rebuildSide{o: balsa.Options{Dir: dir, CacheBytes: int64(s.CacheMB) << 20 / 2}, root: root}
	_, err := balsa.Import(ctx, r.o, state.Source(mainnetshape.Header(root)), balsa.ImportOptions{})
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", dir, err)
	}
	return r, nil
}

// side is what is measured: from opening the store to having closed it, with all branch rows made
// again and on the disk, proven by the root, and in the place of the old ones.
func (r *rebuildSide) side() measure.Side {
	return measure.Side{Name: "balsa rebuild", Run: r.run}
}

func (r *rebuildSide) run(ctx context.Context) (measure.Sample, error) {
	measure.Settle()
	s, err := measure.Run(func() (err error) {
		r.report, err = balsa.Rebuild(ctx, r.o, balsa.RebuildOptions{})
		return err
	})
	if err == nil && r.report.Cursor.Root != r.root {
		err = fmt.Errorf("bench: Balsa's root is %v, want %v", r.report.Cursor.Root, r.root)
	}
	return s, err
}
