package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// FlatResult is what building all tries took the sides.
type FlatResult struct {
	Leaves uint64 // accounts and slots
	Names  []string
	Sides  []measure.Samples
}

// RunFlat builds all tries of one flat state with go-ethereum and with Balsa, in turn. Both come to
// the root that StackTries have, or the run fails.
func RunFlat(ctx context.Context, dir string, s FlatSizes) (*FlatResult, error) {
	state, err := mainnetshape.New(s.Shape)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	peer, err := newGeneratePeer(filepath.Join(dir, "geth"), s, state)
	if err != nil {
		return nil, err
	}
	ours, err := newRebuildSide(ctx, filepath.Join(dir, "balsa"), s, state, peer.root)
	if err != nil {
		return nil, err
	}
	sides := []measure.Side{peer.side(), ours.side()}
	samples, err := measure.Alternate(ctx, s.Rounds, sides...)
	if err != nil {
		return nil, err
	}
	r := &FlatResult{Leaves: state.Accounts() + state.Slots(), Sides: samples}
	for _, side := range sides {
		r.Names = append(r.Names, side.Name)
	}
	return r, nil
}

// Ratio is how many times as long as Balsa go-ethereum takes.
func (r *FlatResult) Ratio() measure.Spread {
	return measure.Ratio(r.Sides[0].Wall(), r.Sides[1].Wall())
}

// CPURatio is how many times Balsa's processor time go-ethereum takes.
func (r *FlatResult) CPURatio() measure.Spread {
	return measure.Ratio(r.Sides[0].CPU(), r.Sides[1].CPU())
}

// Table shows the sides.
func (r *FlatResult) Table() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "median [least-most]\twall, ms\tcpu, s\twall, ns a leaf\tcpu, ns a leaf\t\n")
	leaf := 1e9 / float64(r.Leaves)
	for i, s := range r.Sides {
		wall, cpu := measure.Of(s.Wall()), measure.Of(s.CPU())
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t\n", r.Names[i], wall.Times(1000).Text(0), cpu.Text(2),
			wall.Median*leaf, cpu.Median*leaf)
	}
	t.Flush()
	fmt.Fprintf(&b, "ratio: %s of wall time, %s of processor time, over %d leaves\n",
		r.Ratio().Text(2), r.CPURatio().Text(2), r.Leaves)
	return b.String()
}
