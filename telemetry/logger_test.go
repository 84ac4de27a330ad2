package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

func testLogger(t *testing.T, o LogOptions) (*slog.Logger, *bytes.Buffer) {
	t.Helper()
	b := new(bytes.Buffer)
	o.Writer = b
	l, err := NewLogger(o)
	if err != nil {
		t.Fatal(err)
	}
	return l, b
}

func TestFormats(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		o    LogOptions
		want []string
		not  []string
	}{
		"terminal": {LogOptions{Format: FormatTerminal, Verbosity: VerbosityInfo},
			[]string{"INFO  applied ", " block=36", ` why="a b"`, " g.x=1 g.y=2", " w.z=z\n"},
			[]string{"\x1b"}},
		"terminal in colour": {LogOptions{Verbosity: VerbosityInfo, Color: &yes},
			[]string{"\x1b[32mINFO \x1b[0m applied"}, nil},
		"logfmt": {LogOptions{Format: FormatLogfmt, Verbosity: VerbosityInfo},
			[]string{"level=INFO msg=applied block=36", `why="a b"`, "g.x=1 g.y=2", "w.z=z"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := testLogger(t, c.o)
			l.With("block", 36).Info("applied", "why", "a b",
				slog.Group("g", "x", 1, "y", 2), slog.Group("w", "z", "z"))
			for _, s := range c.want {
				if !strings.Contains(b.String(), s) {
					t.Errorf("%q is not in %q", s, b)
				}
			}
			for _, s := range c.not {
				if strings.Contains(b.String(), s) {
					t.Errorf("%q is in %q", s, b)
				}
			}
		})
	}
}

func TestJSONIsAnObjectALine(t *testing.T) {
	l, b := testLogger(t, LogOptions{Format: FormatJSON, Verbosity: VerbosityInfo})
	l.Info("one", "n", 1)
	l.Error("two\nlines")
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %q", len(lines), b)
	}
	var v struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(lines[1]), &v); err != nil {
		t.Fatal(err)
	}
	if v.Level != "ERROR" || v.Msg != "two\nlines" {
		t.Errorf("%+v", v)
	}
}

func TestVerbosityLetsThroughWhatItNames(t *testing.T) {
	for v, want := range []string{"", "e", "ew", "ewi", "ewid"} {
		for _, f := range Formats() {
			l, b := testLogger(t, LogOptions{Format: f, Verbosity: v})
			got := ""
			for _, x := range []struct {
				name  string
				level slog.Level
			}{{"e", slog.LevelError}, {"w", slog.LevelWarn}, {"i", slog.LevelInfo}, {"d", slog.LevelDebug}} {
				b.Reset()
				l.Log(context.Background(), x.level, "message")
				if b.Len() > 0 {
					got += x.name
				}
			}
			if got != want {
				t.Errorf("%s, verbosity %d: %q, want %q", f, v, got, want)
			}
		}
	}
}

func TestBadLogOptionsAreErrors(t *testing.T) {
	for _, o := range []LogOptions{{Format: "xml", Verbosity: 3}, {Verbosity: -1}, {Verbosity: 5}} {
		if _, err := NewLogger(o); !errors.Is(err, ErrLogOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestTerminalKeepsARecordOnOneLine(t *testing.T) {
	l, b := testLogger(t, LogOptions{Verbosity: VerbosityInfo})
	l.WithGroup("in").With("a", 1).Info("bad \x1b[2J\nmessage", "k", "line\nbreak", "e", "",
		"err", fmt.Errorf("x=y"), "at", time.Unix(0, 0).UTC(), "f", 0.1)
	s := b.String()
	if strings.Count(s, "\n") != 1 || strings.Contains(s, "\x1b") {
		t.Errorf("%q", s)
	}
	for _, want := range []string{` in.a=1`, ` in.k="line\nbreak"`, ` in.e=""`, ` in.err="x=y"`,
		" in.at=1970-01-01T00:00:00Z", " in.f=0.1"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in %q", want, s)
		}
	}
}

func TestRepeatedWarningsAreLeftOutAndCounted(t *testing.T) {
	var b bytes.Buffer
	h := newSampler(slog.NewTextHandler(&b, nil), 2, time.Second)
	start := time.Unix(1000, 0)
	say := func(after time.Duration, level slog.Level, msg string) string {
		b.Reset()
		r := slog.NewRecord(start.Add(after), level, msg, 0)
		if err := h.WithAttrs([]slog.Attr{slog.Int("a", 1)}).Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for i, want := range []bool{true, true, false, false, false} {
		if got := say(0, slog.LevelWarn, "m") != ""; got != want {
			t.Errorf("repetition %d: written %v", i, got)
		}
	}
	if say(0, slog.LevelWarn, "another") == "" || say(0, slog.LevelError, "m") == "" {
		t.Error("another record was left out")
	}
	for range 5 {
		if say(0, slog.LevelInfo, "m") == "" {
			t.Error("an info was left out")
		}
	}
	if s := say(time.Second, slog.LevelWarn, "m"); !strings.Contains(s, "left_out=3") {
		t.Errorf("next window: %q", s)
	}
	if s := say(time.Second, slog.LevelWarn, "m"); s == "" || strings.Contains(s, "left_out") {
		t.Errorf("next window, second: %q", s)
	}
}

func TestSamplerIsBounded(t *testing.T) {
	h := newSampler(slog.DiscardHandler, 1, time.Second)
	for i := range 3 * repeatKeysMax {
		r := slog.NewRecord(time.Unix(1, 0), slog.LevelError, fmt.Sprint(i), 0)
		if err := h.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if n := len(h.seen.counts); n > repeatKeysMax {
			t.Fatalf("%d messages held", n)
		}
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(new(bytes.Buffer)) {
		t.Error("taken for a terminal")
	}
}
