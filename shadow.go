package balsa

import (
	"context"

	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/telemetry"
)

// ShadowOptions say whether blocks' roots are computed a second way: see balactor.ShadowOptions.
type ShadowOptions = balactor.ShadowOptions

// ShadowFaults are planted by tests: see balactor.ShadowFaults.
type ShadowFaults = balactor.ShadowFaults

// ShadowStats count what the shadow has compared, and what it has not: see balactor.ShadowStats.
type ShadowStats = balactor.ShadowStats

// ShadowStats counts what the shadow (Options.Shadow) has compared since Open, and what it has not,
// by reason. It may be called after Close, too.
func (e *Engine) ShadowStats() ShadowStats { return e.shadow.Stats() }

// AwaitShadow waits until at most n blocks wait for the shadow, or are in its hand, or until ctx
// ends. The engine itself never waits for the shadow.
func (e *Engine) AwaitShadow(ctx context.Context, n int) error { return e.shadow.Await(ctx, n) }

// showShadow lets the monitor see the shadow's counts.
func (e *Engine) showShadow() {
	if !e.shadow.Enabled() {
		return
	}
	e.opts.Monitor.Shadow(func() telemetry.ShadowCounts {
		st := e.shadow.Stats()
		return telemetry.ShadowCounts{
			Comparisons: st.Comparisons, Mismatches: st.Mismatches, Failures: st.Failures,
			Skipped: st.Skipped.ByReason(), Waiting: int(st.Waiting),
		}
	})
}
