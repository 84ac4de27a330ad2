package hashbench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s, processor time on one core, medians of %d rounds [least-most]\n\n",
		r.Arch, r.Go, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row(t, "message", "blocks", "lanes", "ns a message", "ns a permutation", "x/crypto ns", "ratio",
		"allocations a 1000")
	for _, m := range r.Messages {
		for _, l := range m.Lanes {
			row(t, fmt.Sprintf("%d bytes", m.Bytes), m.Blocks, l.Lanes, l.NS.Text(1),
				fmt.Sprintf("%.1f", l.PermutationNS.Median),
				fmt.Sprintf("%.0f", m.XCrypto.Median), l.Ratio.Text(2),
				fmt.Sprintf("%.1f", l.Allocs))
		}
	}
	row(t)
	row(t, "tries", "leaves each", "value", "lanes", "ns a leaf", "StackTrie ns", "ratio",
		"allocations", "StackTrie's", "ns without hashing", "kernel", "encoding", "structure", "other")
	for _, m := range r.Tries {
		for _, l := range m.Lanes {
			row(t, m.Tries, m.Leaves, fmt.Sprintf("%d bytes", m.ValueBytes), l.Lanes, l.NS.Text(0),
				m.StackTrie.Text(0), l.Ratio.Text(2), fmt.Sprintf("%.0f", l.Allocs),
				fmt.Sprintf("%.0f", m.StackTrieAllocs), fmt.Sprintf("%.0f", l.UnhashedNS.Median),
				percent(l.Shares.Kernel), percent(l.Shares.Encoding), percent(l.Shares.Structure),
				percent(l.Shares.Other))
		}
	}
	return t.Flush()
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func row(t *tabwriter.Writer, cells ...any) {
	for _, c := range cells {
		fmt.Fprint(t, c, "\t")
	}
	fmt.Fprintln(t)
}
