package storagebench

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/balsa-sync/balsa/internal/mainnetshape"
)

func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func row(t *tabwriter.Writer, cells ...any) {
	for _, c := range cells {
		fmt.Fprint(t, c, "\t")
	}
	fmt.Fprintln(t)
}

// WriteTable writes the sweep for people.
func (s *Sweep) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "\nsweep over %s, medians of %d rounds [least-most]\n", s.Name, s.Rounds)
	t := newTable(w)
	row(t, s.Axis, "wall, s", "storage, s", "utilisation, %", "dispatcher wait, s", "of the wall, %",
		"turnover p99, us")
	for i := range s.Points {
		p := &s.Points[i]
		row(t, p.Value, p.WallS.Text(2), p.StorageWallS.Text(2), p.Utilization.Times(100).Text(1),
			p.DispatcherWaitS.Text(3), p.DispatcherWait.Times(100).Text(2), p.TurnoverP99US.Text(1))
	}
	return t.Flush()
}

// WriteTable writes the comparison for people.
func (t *Tail) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "\nthe small-account tail: %d accounts with fewer than %d slots, %d slots in all, "+
		"alone in a store;\nthe storage phase, medians of %d rounds [least-most]\n",
		t.State.StorageAccounts, t.Below, t.State.Slots, t.Rounds)
	tw := newTable(w)
	row(tw, "", "storage, s", "wall, us an account", "trie cpu, us an account",
		"utilisation, %", "wall against the first", "process cpu against the first")
	for i := range t.Sides {
		s := &t.Sides[i]
		row(tw, s.Name, s.WallS.Text(3), s.AccountUS.Text(2), s.CPUAccount.Text(2),
			s.Utilization.Times(100).Text(1), s.Ratio.Text(2), s.CPURatio.Text(2))
	}
	return tw.Flush()
}

// WriteTable writes the growth for people.
func (g *Growth) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "\nhow the cost of a leaf grows: the storage phase, ns a leaf\n")
	t := newTable(w)
	row(t, "scale", "leaves", "trie cpu", "process cpu", "wall", "largest trie, % of the wall",
		"% of the leaves")
	for i := range g.Points {
		p := &g.Points[i]
		row(t, fmt.Sprintf("1/%.0f", 1/p.Scale), p.State.Slots, p.StorageNS.Text(0),
			p.ProcessNS.Text(0), p.WallNS.Text(0), p.LargestShare.Times(100).Text(1),
			fmt.Sprintf("%.1f", 100*p.LargestLeaves))
	}
	if err := t.Flush(); err != nil || g.Storage == nil {
		return err
	}
	hours := func(ns float64) float64 { return ns * mainnetshape.MainnetSlots / 1e9 / 3600 }
	_, err := fmt.Fprintf(w, "at mainnet's %d leaves (10^%.2f): %.0f ns of trie cpu a leaf, "+
		"%.2f hours; %.0f ns of process cpu, %.2f hours\n"+
		"%+.0f and %+.0f ns for each tenfold; assumed: %s\n",
		g.MainnetLeaves, math.Log10(mainnetshape.MainnetSlots), g.MainnetStorageNS,
		hours(g.MainnetStorageNS), g.MainnetProcessNS, hours(g.MainnetProcessNS), g.Storage.Slope,
		g.Process.Slope, g.Assumption)
	return err
}
