package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/balsa-sync/balsa"
)

type report = balsa.StorageReport

// reportLine is a line of the table: what it says of a report, and in which unit.
type reportLine struct {
	name, unit string
	value      func(r *report) string
}

func seconds(f func(r *report) float64) func(r *report) string {
	return func(r *report) string { return fmt.Sprintf("%.3f", f(r)) }
}

func count[T int | int64 | uint64](f func(r *report) T) func(r *report) string {
	return func(r *report) string { return fmt.Sprintf("%d", f(r)) }
}

// reportLines are what printBuildReports prints, in this order.
var reportLines = []reportLine{
	{"wall", "s", seconds(func(r *report) float64 { return r.WallS })},
	{"workers", "", count(func(r *report) int { return r.Workers })},
	{"trie cpu", "s", seconds(func(r *report) float64 { return r.TrieCPUS })},
	{"parallelism", "cpu/wall", seconds(func(r *report) float64 { return r.Parallelism })},
	{"utilization", "% of workers x wall", func(r *report) string {
		return fmt.Sprintf("%.1f", 100*r.Utilization)
	}},
	{"idle threads", "s", seconds(func(r *report) float64 { return r.IdleThreadS })},
	{"dispatcher wait", "s", seconds(func(r *report) float64 { return r.DispatcherWaitS })},
	{"input wait", "s", seconds(func(r *report) float64 { return r.InputWaitS })},
	{"buffer wait", "s", seconds(func(r *report) float64 { return r.BufferWaitS })},
	{"slot turnover mean", "us", seconds(func(r *report) float64 { return r.SlotTurnover.MeanUS })},
	{"  p50", "us", seconds(func(r *report) float64 { return r.SlotTurnover.P50US })},
	{"  p99", "us", seconds(func(r *report) float64 { return r.SlotTurnover.P99US })},
	{"  max", "us", seconds(func(r *report) float64 { return r.SlotTurnover.MaxUS })},
	{"  count", "", count(func(r *report) uint64 { return r.SlotTurnover.Count })},
	{"writing", "s", seconds(func(r *report) float64 { return r.WriteS })},
	{"flushing", "s", seconds(func(r *report) float64 { return r.FlushS })},
	{"flushes", "", count(func(r *report) int { return r.Flushes })},
	{"jobs", "", count(func(r *report) int { return r.Jobs })},
	{"accounts", "", count(func(r *report) int { return r.Accounts })},
	{"leaves", "", count(func(r *report) int { return r.Leaves })},
	{"branch rows", "", count(func(r *report) int { return r.BranchRows })},
	{"written", "bytes", count(func(r *report) int64 { return r.BytesWritten })},
	{"trie mean", "ms", seconds(func(r *report) float64 { return r.TrieAvgMS })},
	{"trie p99", "ms", seconds(func(r *report) float64 { return r.TrieP99MS })},
	{"trie max", "s", seconds(func(r *report) float64 { return r.TrieMaxS })},
	{"largest trie", "% of the wall, first job to last", func(r *report) string {
		if len(r.Largest) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f", 100*(r.Largest[0].LastS-r.Largest[0].FirstS)/max(r.WallS, 1e-9))
	}},
	{"  its leaves", "% of all", func(r *report) string {
		if len(r.Largest) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f", 100*float64(r.Largest[0].Leaves)/float64(max(r.Leaves, 1)))
	}},
	{"leaves, last minute", "1/s", seconds(func(r *report) float64 { return r.Rate1M.LeavesPerS })},
	{"  last 5 minutes", "1/s", seconds(func(r *report) float64 { return r.Rate5M.LeavesPerS })},
	{"  last 15 minutes", "1/s", seconds(func(r *report) float64 { return r.Rate15M.LeavesPerS })},
	{"process cpu, user", "s", seconds(func(r *report) float64 { return r.Process.UserCPUS })},
	{"  system", "s", seconds(func(r *report) float64 { return r.Process.SystemCPUS })},
	{"peak memory", "bytes resident", count(func(r *report) int64 { return r.Process.PeakRSSBytes })},
}

// printBuildReports prints what the building of the storage tries and of the account trie took.
func (s *session) printBuildReports(storage, accounts *report) error {
	return writeBuildReports(s.app.stdout, storage, accounts)
}

func writeBuildReports(out io.Writer, storage, accounts *report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tstorage\taccounts\t\n")
	for _, l := range reportLines {
		fmt.Fprintf(w, "%s\t%s\t%s\t %s\n", l.name, l.value(storage), l.value(accounts), l.unit)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(storage.Largest) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nlargest storage tries:\n")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "account hash\tleaves\ttrie s\tfirst s\tlast s\tbuilt in\t\n")
	for _, a := range storage.Largest {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%s\t\n", a.HashPrefix, a.Leaves, a.Seconds, a.FirstS,
			a.LastS, a.Kind)
	}
	fmt.Fprintln(w)
	return w.Flush()
}
