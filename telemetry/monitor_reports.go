package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/balsa-sync/balsa/messages"
)

// reportGauges are the metrics of a build's report: what each shows of it. They are gauges, because
// they begin anew with each build.
var reportGauges = []struct {
	name, unit, what string
	value            func(*messages.BuildReport) float64
}{
	{"workers", "{worker}", "Workers that build tries",
		func(r *messages.BuildReport) float64 { return float64(r.Workers) }},
	{"wall.time", "s", "From the first request to the last answer",
		func(r *messages.BuildReport) float64 { return r.WallS }},
	{"cpu.time", "s", "Processor time of the threads that built tries",
		func(r *messages.BuildReport) float64 { return r.TrieCPUS }},
	{"busy.time", "s", "Wall time of workers at a job, summed",
		func(r *messages.BuildReport) float64 { return r.BusyThreadS }},
	{"idle.time", "s", "Wall time of workers without a job, summed",
		func(r *messages.BuildReport) float64 { return r.IdleThreadS }},
	{"dispatcher_wait.time", "s", "Wall time in which a worker had nothing though there was work",
		func(r *messages.BuildReport) float64 { return r.DispatcherWaitS }},
	{"input_wait.time", "s", "Wall time in which a worker had nothing because there was no work",
		func(r *messages.BuildReport) float64 { return r.InputWaitS }},
	{"buffer_wait.time", "s", "Wall time of workers waiting for a buffer, summed",
		func(r *messages.BuildReport) float64 { return r.BufferWaitS }},
	{"parallelism", "1", "cpu.time by wall.time",
		func(r *messages.BuildReport) float64 { return r.Parallelism }},
	{"utilization", "1", "busy.time by workers x wall.time",
		func(r *messages.BuildReport) float64 { return r.Utilization }},
	{"jobs", "{job}", "Jobs done", func(r *messages.BuildReport) float64 { return float64(r.Jobs) }},
	{"jobs_lost", "{job}", "Jobs lost to workers that failed, and run again",
		func(r *messages.BuildReport) float64 { return float64(r.JobsLost) }},
	{"runs_stolen", "{run}", "Halves of a worker's run that another one took",
		func(r *messages.BuildReport) float64 { return float64(r.RunsStolen) }},
	{"handed_back", "{account}", "Accounts that turned out larger than was known",
		func(r *messages.BuildReport) float64 { return float64(r.HandedBack) }},
	{"orphans", "{account}", "Accounts that are not there, with slots that are",
		func(r *messages.BuildReport) float64 { return float64(r.Orphans) }},
	{"orphan_slots", "{slot}", "Slots of accounts that are not there",
		func(r *messages.BuildReport) float64 { return float64(r.OrphanSlots) }},
	{"memory.peak", "By", "Most resident memory in the phase",
		func(r *messages.BuildReport) float64 { return float64(r.Process.PeakRSSBytes) }},
}

// observeReports makes the metrics balsa.storage.* that show the report of the build under way, or
// of the last one. What a StorageActor counts itself is not among them.
func (m *Monitor) observeReports(r *register) {
	gauges := make([]metric.Float64ObservableGauge, len(reportGauges))
	for i, g := range reportGauges {
		gauges[i] = r.level("balsa.storage."+g.name, g.unit, g.what)
	}
	trie := r.level("balsa.storage.trie.time", "s", "A trie's processor time: mean, p99 and max")
	leaves := r.level("balsa.storage.leaf_rate", "{leaf}/s", "Leaves built over a window")
	accounts := r.level("balsa.storage.account_rate", "{account}/s", "Accounts built over a window")
	cores := r.level("balsa.storage.cores", "1", "Cores in use over a window")
	waits := r.gauge("balsa.storage.credit_waits", "{wait}", "Times that the feeder had no credit")
	wait := r.level("balsa.storage.credit_wait.time", "s", "The feeder's wait for credit, summed")
	r.observe(func(o metric.Observer) {
		m.mu.Lock()
		credit := m.credit
		m.mu.Unlock()
		if credit != nil {
			n, total := credit()
			o.ObserveInt64(waits, int64(n))
			o.ObserveFloat64(wait, total.Seconds())
		}
		both := m.reports.Load()
		if both == nil {
			return
		}
		for phase, report := range map[string]*messages.BuildReport{
			"storage": both.storage, "accounts": both.accounts,
		} {
			attr := one(KeyPhase, phase)
			for i, g := range reportGauges {
				o.ObserveFloat64(gauges[i], g.value(report), attr)
			}
			for stat, s := range map[string]float64{
				"mean": report.TrieAvgMS / 1e3, "p99": report.TrieP99MS / 1e3, "max": report.TrieMaxS,
			} {
				o.ObserveFloat64(trie, s, two(KeyPhase, phase, KeyStat, stat))
			}
			for window, rate := range map[string]messages.Rate{
				"1m": report.Rate1M, "5m": report.Rate5M, "15m": report.Rate15M,
			} {
				attr := two(KeyPhase, phase, KeyWindow, window)
				o.ObserveFloat64(leaves, rate.LeavesPerS, attr)
				o.ObserveFloat64(accounts, rate.AccountsPerS, attr)
				o.ObserveFloat64(cores, rate.ProcessCPUCores, attr)
			}
		}
	})
}

// two is an attribute set of two attributes.
func two(k1 attribute.Key, v1 string, k2 attribute.Key, v2 string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(k1.String(v1), k2.String(v2)))
}

// Progress is how far a command is.
type Progress struct {
	Command string `json:"command"`
	Phase   string `json:"phase"`
	// Share is from 0 to 1; negative: not known.
	Share float64 `json:"share"`
	// Remaining is in seconds; nil: not known.
	Remaining *float64 `json:"remainingSeconds"`
	// Seconds is how long the command has been running.
	Seconds float64 `json:"seconds"`
	// Counts and rates by name, as the command's lines name them.
	Counts map[string]float64 `json:"counts"`
}

// SetProgress shows how far a command is. p is not to be changed afterwards.
func (m *Monitor) SetProgress(p *Progress) {
	if m != nil {
		m.progress.Store(p)
	}
}

// observeProgress makes the metrics balsa.progress.*.
func (m *Monitor) observeProgress(r *register) {
	share := r.level("balsa.progress.share", "1", "How far the command is, from 0 to 1")
	left := r.level("balsa.progress.remaining.time", "s", "What is left, estimated")
	r.observe(func(o metric.Observer) {
		p := m.progress.Load()
		if p == nil {
			return
		}
		if p.Share >= 0 {
			o.ObserveFloat64(share, p.Share, one(KeyPhase, p.Phase))
		}
		if p.Remaining != nil {
			o.ObserveFloat64(left, *p.Remaining)
		}
	})
}
