package main

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/balsa-sync/balsa/telemetry"
)

// progressInterval is how often a line says how far a replay is, where there is no bar.
const progressInterval = 8 * time.Second

// meter counts what a replay does. It is safe for concurrent use.
type meter struct {
	bytes func() (done, total int64) // read of the files, and their size; total 0: not known
	now   func() time.Time
	start time.Time

	mu     sync.Mutex
	blocks int // applied
	over   int // passed over
	slots  int
	last   uint64 // number of the block applied last
	left   estimate
}

func newMeter(bytes func() (done, total int64)) *meter {
	return &meter{bytes: bytes, now: time.Now, start: time.Now()}
}

func (m *meter) elapsed() time.Duration { return m.now().Sub(m.start) }

func (m *meter) applied(number uint64, slots int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks++
	m.slots += slots
	m.last = number
}

func (m *meter) passed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over++
}

// reading is a meter at one moment.
type reading struct {
	Block           uint64 // applied last
	Blocks          int
	BlocksPerSecond float64
	SlotsPerSecond  float64
	Percent         float64       // of the files' bytes; NaN: not known
	Remaining       time.Duration // -1: not known
}

func (m *meter) read() reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	done, total := m.bytes()
	took := m.elapsed()
	r := reading{Block: m.last, Blocks: m.blocks, Percent: math.NaN(), Remaining: -1}
	if took > 0 {
		r.BlocksPerSecond = float64(m.blocks) / took.Seconds()
		r.SlotsPerSecond = float64(m.slots) / took.Seconds()
	}
	if total > 0 {
		share := min(float64(done)/float64(total), 1) // a file may have grown
		r.Percent = 100 * share
		now := m.now()
		m.left.start(m.start)
		m.left.add(now, share)
		r.Remaining = m.left.remaining(now, share)
	}
	return r
}

// percent and remaining say what may not be known.
func (r reading) percent() string {
	if math.IsNaN(r.Percent) {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", r.Percent)
}

func (r reading) remaining() string {
	if r.Remaining < 0 {
		return "unknown"
	}
	return r.Remaining.Round(time.Second).String()
}

// String is the text beside the bar.
func (r reading) String() string {
	return fmt.Sprintf("block %d, %d blocks, %.1f blocks/s, %.0f slots/s, %s left",
		r.Block, r.Blocks, r.BlocksPerSecond, r.SlotsPerSecond, r.remaining())
}

// display shows a meter. update is called after each block, from one goroutine.
type display interface {
	update()
	finish()
}

// newDisplay gives a bar where standard error is a terminal, and lines elsewhere.
func (s *session) newDisplay(m *meter) display {
	d := display(newLines(m, s.log))
	if telemetry.IsTerminal(s.app.stderr) {
		d = newBar(m, s.app.stderr)
	}
	return &shared{display: d, m: m, s: s}
}

// shared shows the same to who asks for the status from outside.
type shared struct {
	display
	m      *meter
	s      *session
	latest time.Time
}

func (d *shared) update() {
	d.display.update()
	now := d.m.now()
	if now.Sub(d.latest) < barInterval {
		return
	}
	d.latest = now
	r := d.m.read()
	p := &telemetry.Progress{
		Command: d.s.command, Phase: "blocks", Share: -1, Seconds: d.m.elapsed().Seconds(),
		Counts: map[string]float64{
			"block": float64(r.Block), "blocks": float64(r.Blocks),
			"blocks_per_s": round1(r.BlocksPerSecond), "slots_per_s": round1(r.SlotsPerSecond),
		},
	}
	if !math.IsNaN(r.Percent) {
		p.Share = r.Percent / 100
	}
	p.Remaining = secondsLeft(r.Remaining)
	d.s.monitor.SetProgress(p)
}

// secondsLeft is a remaining time in seconds; nil: not known.
func secondsLeft(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	left := d.Seconds()
	return &left
}

// bar shows the meter on one line that is written over.
type bar struct {
	m      *meter
	bar    *progressbar.ProgressBar
	latest time.Time
}

func newBar(m *meter, w io.Writer) *bar {
	_, total := m.bytes()
	if total <= 0 {
		total = -1 // a spinner
	}
	return &bar{m: m, bar: progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(20),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(),
	)}
}

// barInterval is how often the bar is drawn.
const barInterval = 100 * time.Millisecond

func (b *bar) update() {
	now := b.m.now()
	if now.Sub(b.latest) < barInterval {
		return
	}
	b.latest = now
	done, _ := b.m.bytes()
	b.bar.Describe(b.m.read().String())
	_ = b.bar.Set64(done) // a terminal that went away is no reason to stop
}

func (b *bar) finish() { _ = b.bar.Finish() }

// lines logs the meter now and then.
type lines struct {
	m      *meter
	log    *slog.Logger
	latest time.Time
}

func newLines(m *meter, log *slog.Logger) *lines {
	return &lines{m: m, log: log, latest: m.now()}
}

func (l *lines) update() {
	now := l.m.now()
	if now.Sub(l.latest) < progressInterval {
		return
	}
	l.latest = now
	r := l.m.read()
	l.log.Info("replaying", "block", r.Block, "blocks", r.Blocks,
		"blocks_per_s", round1(r.BlocksPerSecond), "slots_per_s", round1(r.SlotsPerSecond),
		"percent", r.percent(), "remaining", r.remaining())
}

func (l *lines) finish() {}

func round1(f float64) float64 { return math.Round(f*10) / 10 }
