package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// testMeter has read a quarter of its bytes in ten seconds.
func testMeter() (*meter, *time.Time) {
	now := time.Unix(1000, 0)
	m := newMeter(func() (int64, int64) { return 250, 1000 })
	m.now, m.start = func() time.Time { return now }, now
	now = now.Add(10 * time.Second)
	for i := range 20 {
		m.applied(uint64(100+i), 50)
	}
	return m, &now
}

func TestProgressCountsBlocksSlotsShareAndTime(t *testing.T) {
	m, _ := testMeter()
	m.passed() // not a block applied
	r := m.read()
	want := reading{Block: 119, Blocks: 20, BlocksPerSecond: 2, SlotsPerSecond: 100, Percent: 25,
		Remaining: 30 * time.Second}
	if r != want {
		t.Errorf("%+v\nwant %+v", r, want)
	}
	if s := r.String(); s != "block 119, 20 blocks, 2.0 blocks/s, 100 slots/s, 30s left" {
		t.Errorf("%q", s)
	}
}

func TestProgressOfUnknownSizeSaysSo(t *testing.T) {
	m, _ := testMeter()
	m.bytes = func() (int64, int64) { return 250, 0 }
	if r := m.read(); r.percent() != "unknown" || r.remaining() != "unknown" {
		t.Errorf("%+v", r)
	}
	m.bytes = func() (int64, int64) { return 0, 10 }
	if r := m.read(); r.percent() != "0.0" || r.remaining() != "unknown" {
		t.Errorf("nothing read yet: %+v", r)
	}
	m.bytes = func() (int64, int64) { return 20, 10 } // the file has grown
	if r := m.read(); r.percent() != "100.0" || r.remaining() != "0s" {
		t.Errorf("beyond the end: %+v", r)
	}
}

func TestALineComesEveryEightSeconds(t *testing.T) {
	m, now := testMeter()
	var b bytes.Buffer
	l := newLines(m, slog.New(slog.NewTextHandler(&b, nil)))
	lines := func() int { return strings.Count(b.String(), "msg=replaying") }
	for i, want := range []int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2} {
		l.update()
		if lines() != want {
			t.Fatalf("%d lines after %d s, want %d", lines(), i, want)
		}
		*now = now.Add(time.Second)
	}
	for _, s := range []string{"block=119", "blocks=20", "blocks_per_s=", "slots_per_s=",
		"percent=25.0", "remaining="} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("%s is not in %s", s, &b)
		}
	}
}

func TestBarShowsTheReadingAndGoesAway(t *testing.T) {
	m, now := testMeter()
	var b bytes.Buffer
	p := newBar(m, &b)
	p.update()
	if !strings.Contains(b.String(), "block 119, 20 blocks, 2.0 blocks/s, 100 slots/s, 30s left") ||
		!strings.Contains(b.String(), "25%") {
		t.Errorf("%q", b.String())
	}
	drawn := b.Len()
	p.update() // too soon
	if b.Len() != drawn {
		t.Error("drawn again at once")
	}
	*now = now.Add(time.Second)
	p.update()
	if b.Len() == drawn {
		t.Error("not drawn again after a second")
	}
	p.finish()
	if !strings.HasSuffix(b.String(), "\r") {
		t.Errorf("the line is not cleared: %q", b.String())
	}
}

func TestVerifySaysHowFarItIs(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(1000, 0)
	s := &session{log: slog.New(slog.NewTextHandler(&b, nil))}
	progress := s.verifyProgress(func() time.Time { return now })
	progress(common.Hash{0x40})
	if b.Len() != 0 {
		t.Errorf("said at once: %s", &b)
	}
	now = now.Add(progressInterval)
	progress(common.Hash{0x80})
	progress(common.Hash{0x90})
	if !strings.Contains(b.String(), "percent=50") || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%s", &b)
	}
}
