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

	command string
	monitor *telemetry.Monitor

	mu     sync.Mutex
	bar    *progressbar.ProgressBar // nil: lines
	left   estimate
	asked  time.Time // when something was last made of it
	latest time.Time // when a line was last logged
}

// barSteps is how finely the bar moves.
const barSteps = 1000

func (s *session) newBuildDisplay(what string, bytes func() (done, total int64)) *buildDisplay {
	d := &buildDisplay{what: what, log: s.log, bytes: bytes, now: time.Now}
	d.command, d.monitor = s.command, s.monitor
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
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if now.Sub(d.asked) < barInterval {
		return
	}
	d.asked = now
	phase, share := d.phase(&p)
	took := now.Sub(d.start)
	d.left.start(d.start)
	d.left.add(now, share)
	left := d.left.remaining(now, share)
	perSecond := float64(p.StorageLeaves) / max(took.Seconds(), 1e-9)
	d.monitor.SetProgress(&telemetry.Progress{
		Command: d.command, Phase: phase, Share: share, Seconds: took.Seconds(),
		Remaining: secondsLeft(left),
		Counts: map[string]float64{
			"accounts": float64(p.Accounts), "slots": float64(p.Slots),
			"storage_tries": float64(p.StorageTries), "storage_slots": float64(p.StorageLeaves),
			"slots_per_s": round1(perSecond),
		},
	})
	d.show(now, &p, reading{Percent: 100 * share, Remaining: left, SlotsPerSecond: perSecond}, phase)
}

// show draws the bar, or logs a line now and then.
func (d *buildDisplay) show(now time.Time, p *balsa.BuildProgress, r reading, phase string) {
	if d.bar != nil {
		d.bar.Describe(fmt.Sprintf("%s: %d accounts, %d slots loaded, %d tries of %d slots built, "+
			"%.0f slots/s, %s left", phase, p.Accounts, p.Slots, p.StorageTries, p.StorageLeaves,
			r.SlotsPerSecond, r.remaining()))
		_ = d.bar.Set(int(r.Percent / 100 * barSteps)) // a terminal that went away: no reason to stop
		return
	}
	if now.Sub(d.latest) < progressInterval {
		return
	}
	d.latest = now
	d.log.Info(d.what, "phase", phase, "percent", round1(r.Percent), "accounts", p.Accounts,
		"slots", p.Slots, "storage_tries", p.StorageTries, "storage_slots", p.StorageLeaves,
		"slots_per_s", round1(r.SlotsPerSecond), "remaining", r.remaining())
}

// accountTrieShare is what of a build is left when all storage tries are there, about.
const accountTrieShare = 0.05

// phase names what a build is at, and how far it is as a whole. Rows ascend by account hash, and so
// do the tries, so that both are as far as the hashes are.
func (d *buildDisplay) phase(p *balsa.BuildProgress) (name string, share float64) {
	done, total := d.bytes()
	name, share = "storage tries", p.Share
	switch {
	case p.AccountTrie:
		return "account trie", 1 - accountTrieShare
	case p.Loading && total > 0:
		name = "loading"
		share = (share + min(float64(done)/float64(total), 1)) / 2
	case p.Loading:
	case total > 0:
		share = (share + 1) / 2
	}
	return name, share * (1 - accountTrieShare)
}

func (d *buildDisplay) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		_ = d.bar.Finish()
	}
}
