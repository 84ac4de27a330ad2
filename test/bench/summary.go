package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Summary describes the times of a run of blocks.
type Summary struct{ Average, Median, P90, P99, Max time.Duration }

// Summarize reduces the times, of which there must be one at least. The p-th percentile is the
// least time that p percent of the blocks do not exceed.
func Summarize(times []time.Duration) Summary {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	percentile := func(p int) time.Duration { return sorted[(n*p+99)/100-1] }
	var sum time.Duration
	for _, d := range sorted {
		sum += d
	}
	return Summary{Average: sum / time.Duration(n), Median: percentile(50), P90: percentile(90),
		P99: percentile(99), Max: sorted[n-1]}
}

// Millis is a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// InAll is what an average block took with its share of what went on in the background and of what
// the side had put off until its close.
func (r *Result) InAll() time.Duration {
	sum := r.Settle + r.Close
	for _, d := range r.Blocks {
		sum += d
	}
	return sum / time.Duration(len(r.Blocks))
}

// Table shows the results side by side, in milliseconds a block, and how many times as long as
// the last side each takes.
func Table(results []Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %8s %8s %8s %8s %8s %9s %9s %9s %14s %13s\n", "ms a block", "average",
		"median", "p90", "p99", "max", "settle", "in all", "close, s", "ratio, in all",
		"ratio, median")
	ours := results[len(results)-1]
	last := Summarize(ours.Blocks)
	for _, r := range results {
		s := Summarize(r.Blocks)
		settled := r.Settle / time.Duration(len(r.Blocks))
		fmt.Fprintf(&b, "%-14s %8.2f %8.2f %8.2f %8.2f %8.2f %9.2f %9.2f %9.2f %14.2f %13.2f\n",
			r.Name, Millis(s.Average), Millis(s.Median), Millis(s.P90), Millis(s.P99),
			Millis(s.Max), Millis(settled), Millis(r.InAll()), r.Close.Seconds(),
			float64(r.InAll())/float64(ours.InAll()),
			float64(s.Median)/float64(last.Median))
	}
	return b.String()
}
