package storageactor

import (
	"slices"
	"time"

	"github.com/balsa-sync/balsa/messages"
)

// Report is what a phase was seen to take: see messages.BuildReport.
type Report = messages.BuildReport

// report is the phase as it stands.
func (s *stats) report(now time.Time) Report {
	if s.began.IsZero() {
		return Report{Workers: s.workers}
	}
	end := s.ended
	if s.open {
		end = now
	}
	r := Report{
		Workers: s.workers, WallS: end.Sub(s.began).Seconds(), TrieCPUS: s.cpu.Seconds(),
		BusyThreadS: s.busy.Seconds(), DispatcherWaitS: s.dispatcher.Seconds(),
		InputWaitS: s.input.Seconds(), BufferWaitS: s.buffer.Seconds(),
		SlotTurnover: s.turnover.turnover(), WriteS: s.write.Seconds(),
		FlushS: s.flushTime.Seconds(), Flushes: s.flushes,
		Jobs: s.jobs, JobsLost: s.lost, RunsStolen: s.stolen, HandedBack: s.handedBack,
		Accounts: s.accounts, Failed: s.failed, Leaves: s.leaves, BranchRows: s.rows,
		BytesWritten: s.bytes, Orphans: s.orphans, OrphanSlots: s.orphanSlots,
		TrieAvgMS: milliseconds(s.tries.mean()), TrieP99MS: milliseconds(s.tries.quantile(0.99)),
		TrieMaxS: s.tries.max.Seconds(), Largest: slices.Clone(s.largest),
		Rate1M: s.rate(end, time.Minute), Rate5M: s.rate(end, 5*time.Minute),
		Rate15M: s.rate(end, 15*time.Minute),
		Process: messages.ProcessUsage{
			UserCPUS:     (s.latest.user - s.first.user).Seconds(),
			SystemCPUS:   (s.latest.system - s.first.system).Seconds(),
			PeakRSSBytes: s.rssPeak, LifetimePeakRSSBytes: s.latest.rssMax, Samples: s.sampled,
		},
	}
	idle := s.idle
	for _, last := range s.lastEnds {
		idle += max(end.Sub(last), 0)
	}
	r.IdleThreadS = idle.Seconds()
	if r.WallS > 0 {
		r.Parallelism = r.TrieCPUS / r.WallS
		r.Utilization = r.BusyThreadS / (r.WallS * float64(s.workers))
	}
	return r
}

func (h *histogram) turnover() messages.Turnover {
	return messages.Turnover{
		Count: h.n, MeanUS: microseconds(h.mean()), P50US: microseconds(h.quantile(0.5)),
		P99US: microseconds(h.quantile(0.99)), MaxUS: microseconds(h.max),
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
