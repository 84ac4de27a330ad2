package telemetry

import "go.opentelemetry.io/otel/metric"

// ShadowCounts are what a shadow has done since the engine was opened.
type ShadowCounts struct {
	Comparisons uint64            `json:"comparisons"`
	Mismatches  uint64            `json:"mismatches"`
	Failures    uint64            `json:"failures"`
	Skipped     map[string]uint64 `json:"skipped"` // by reason
	Waiting     int               `json:"waiting"` // blocks that wait for it
}

// Verdict is what the counts say: "off" is for nil, and "silent" for a shadow that has compared
// nothing, which is not the same as "good".
func (c *ShadowCounts) Verdict() string {
	switch {
	case c == nil:
		return "off"
	case c.Mismatches > 0:
		return "mismatch"
	case c.Failures > 0:
		return "failure"
	case c.Comparisons == 0:
		return "silent"
	}
	return "good"
}

// Shadow shows a shadow's counts.
func (m *Monitor) Shadow(read func() ShadowCounts) {
	if m != nil {
		m.shadow.Store(&read)
	}
}

func (m *Monitor) shadowCounts() *ShadowCounts {
	read := m.shadow.Load()
	if read == nil {
		return nil
	}
	c := (*read)()
	return &c
}

// observeShadow makes the metrics balsa.shadow.*. balsa.shadow.enabled is there without a shadow
// too, so that an alert can tell one that is off from one that is silent.
func (m *Monitor) observeShadow(r *register) {
	enabled := r.gauge("balsa.shadow.enabled", "1", "1: blocks are compared with a second trie")
	done := r.total("balsa.shadow.comparisons", "{block}", "Blocks compared")
	mismatches := r.total("balsa.shadow.mismatches", "{block}", "Blocks whose roots differed")
	failures := r.total("balsa.shadow.failures", "{block}", "Comparisons that failed")
	skipped := r.total("balsa.shadow.skipped", "{block}", "Blocks not compared, by reason")
	waiting := r.gauge("balsa.shadow.waiting", "{block}", "Blocks that wait for their comparison")
	r.observe(func(o metric.Observer) {
		c := m.shadowCounts()
		if c == nil {
			o.ObserveInt64(enabled, 0)
			return
		}
		o.ObserveInt64(enabled, 1)
		o.ObserveInt64(done, int64(c.Comparisons))
		o.ObserveInt64(mismatches, int64(c.Mismatches))
		o.ObserveInt64(failures, int64(c.Failures))
		o.ObserveInt64(waiting, int64(c.Waiting))
		for reason, n := range c.Skipped {
			o.ObserveInt64(skipped, int64(n), one(KeyReason, reason))
		}
	})
}
