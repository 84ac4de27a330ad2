package main

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/telemetry"
)

// buildDisplay shows how far a build is: a bar on a terminal, lines elsewhere. It is safe for
// concurrent use.
type buildDisplay struct {
	what  string
	log   *slog.Logger
	bytes func() (done, total int64) // of the file that is loaded
	now   func() time.Time
	start time.Time

	mu     sync.Mutex
	bar    *progressbar.ProgressBar // nil: lines
	latest time.Time
}

// barSteps is how finely the bar moves.
const barSteps = 1000

func (s *session) newBuildDisplay(what string, bytes func() (done, total int64)) *buildDisplay {
	d := &buildDisplay{what: what, log: s.log, bytes: bytes, now: time.Now}
	d.start = d.now()
	d.latest = d.start
	if telemetry.IsTerminal(s.app.stderr) {
		d.bar = progressbar.NewOptions64(barSteps,
			progressbar.OptionSetWriter(s.app.stderr),
			progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
		)
	}
	return d
}

// update shows p, unless something was shown just before.
func (d *buildDisplay) update(p balsa.BuildProgress) {
	interval := progressInterval
	if d.bar != nil {
		interval = barInterval
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if now.Sub(d.latest) < interval {
		return
	}
	d.latest = now
	phase, share := d.phase(&p)
	perSecond := float64(p.StorageLeaves) / max(now.Sub(d.start).Seconds(), 1e-9)
	if d.bar != nil {
		d.bar.Describe(fmt.Sprintf("%s: %d accounts, %d slots loaded, %d tries of %d slots built, "+
			"%.0f slots/s", phase, p.Accounts, p.Slots, p.StorageTries, p.StorageLeaves, perSecond))
		_ = d.bar.Set(int(share * barSteps)) // a terminal that went away is no reason to stop
		return
	}
	d.log.Info(d.what, "phase", phase, "percent", round1(100*share), "accounts", p.Accounts,
		"slots", p.Slots, "storage_tries", p.StorageTries, "storage_slots", p.StorageLeaves,
		"slots_per_s", round1(perSecond))
}

// phase names what a build is at, and how far it is with that.
func (d *buildDisplay) phase(p *balsa.BuildProgress) (name string, share float64) {
	done, total := d.bytes()
	switch {
	case p.AccountTrie:
		return "account trie", 1
	case p.Loading && total > 0:
		return "loading", min(float64(done)/float64(total), 1)
	}
	return "storage tries", p.Share
}

func (d *buildDisplay) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		_ = d.bar.Finish()
	}
}
