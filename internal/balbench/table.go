package balbench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/balsa-sync/balsa/internal/measure"
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

func decimals(n int, v float64) string { return fmt.Sprintf("%.*f", n, v) }

// WriteTable writes the report for people.
func (rep *Report) WriteTable(w io.Writer) error {
	for _, r := range slices.Concat(rep.Families, rep.Growth, rep.Sizes) {
		if err := r.WriteTable(w); err != nil {
			return err
		}
	}
	if rep.Workers != nil {
		if err := rep.Workers.WriteTable(w); err != nil {
			return err
		}
	}
	for _, of := range []struct {
		title, axis string
		results     []*Result
		x           func(*Result) string
	}{
		{"families", "family", rep.Families, func(r *Result) string {
			return fmt.Sprintf("%s, %d", r.Family, r.State.Accounts)
		}},
		{"growth with the state, mixed blocks", "accounts", rep.Growth, func(r *Result) string {
			return fmt.Sprint(r.State.All())
		}},
		{"growth with the block, mixed blocks", "accounts a block", rep.Sizes,
			func(r *Result) string { return decimals(0, r.Accounts) }},
	} {
		if len(of.results) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: medians; ratios over the rounds [least-most]\n", of.title)
		if err := writeSummary(w, of.axis, of.results, of.x); err != nil {
			return err
		}
	}
	return rep.writeMedianFamily(w)
}

// WriteTable writes one family's contestants.
func (r *Result) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "\n%s: %s\nstate of %d accounts, %d of them with %d slots; %.0f accounts and %.0f "+
		"slots a block; %d rounds of %d blocks; roots by %s\n", r.Family, r.Doc, r.State.All(),
		r.State.Contracts, r.State.Slots, r.Accounts, r.Slots, r.Rounds, r.Blocks, r.Roots)
	t := newTable(w)
	row(t, "", "blocks/s", "slots/s", "ms a block", "median", "p90", "p95", "p99", "min", "max",
		"settling", "processor")
	for i := range r.Rows {
		x := &r.Rows[i]
		row(t, x.Name, decimals(1, x.BlocksS), decimals(0, x.SlotsS), decimals(2, x.MS.Average),
			decimals(2, x.MS.Median), decimals(2, x.MS.P90), decimals(2, x.MS.P95),
			decimals(2, x.MS.P99), decimals(2, x.MS.Min), decimals(2, x.MS.Max),
			decimals(2, x.SettleMS), decimals(2, x.CPUMS))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Rows {
		if x := &r.Rows[i]; len(x.Phases) > 0 {
			var parts []string
			for _, p := range x.Phases {
				parts = append(parts, fmt.Sprintf("%s %.2f (%.0f %%)", p.Name, p.MS, 100*p.Share))
			}
			fmt.Fprintf(w, "  %s, ms and share: %s\n", x.Name, strings.Join(parts, ", "))
		}
	}
	for _, x := range r.Ratios {
		what := "ratio"
		if x.Control {
			what = "control"
		}
		fmt.Fprintf(w, "  %s %s / %s: %s\n", what, x.Of, x.To, x.Ratio.Text(3))
	}
	return nil
}

// writeSummary writes a line for each result: the medians of all contestants and all ratios.
func writeSummary(w io.Writer, axis string, results []*Result, x func(*Result) string) error {
	t := newTable(w)
	cells := []any{axis}
	for i := range results[0].Rows {
		cells = append(cells, results[0].Rows[i].Name+", ms")
	}
	for _, r := range results[0].Ratios {
		cells = append(cells, r.Of+" / "+r.To)
	}
	row(t, append(cells, "us an account or slot")...)
	for _, r := range results {
		cells := []any{x(r)}
		for i := range r.Rows {
			cells = append(cells, decimals(2, r.Rows[i].MS.Median))
		}
		for i := range r.Ratios {
			cells = append(cells, r.Ratios[i].Ratio.Text(2))
		}
		row(t, append(cells, decimals(2, r.itemUS()))...)
	}
	return t.Flush()
}

// itemUS is what an account or slot that changes takes on Balsa's default path, in microseconds.
func (r *Result) itemUS() float64 {
	i := slices.IndexFunc(r.Rows, func(w Row) bool { return w.Path != Geth })
	if i < 0 || r.Accounts+r.Slots == 0 {
		return 0
	}
	return 1000 * r.Rows[i].MS.Median / (r.Accounts + r.Slots)
}

// writeMedianFamily says what the ratios of all families come to.
func (rep *Report) writeMedianFamily(w io.Writer) error {
	if len(rep.Families) == 0 {
		return nil
	}
	for _, x := range rep.Families[0].Ratios {
		var medians []float64
		for _, r := range rep.Families {
			if s := r.Ratio(x.Of, x.To); s != nil {
				medians = append(medians, s.Median)
			}
		}
		s := measure.Of(medians)
		if _, err := fmt.Fprintf(w, "  %s / %s over %d families: %s\n", x.Of, x.To, s.Count,
			s.Text(3)); err != nil {
			return err
		}
	}
	return nil
}
