package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// terminalHandler writes records for people:
//
//	15:04:05.000 INFO  applied   block=36 root=0x…
type terminalHandler struct {
	mu     *sync.Mutex // shared by all that With made of one
	w      io.Writer
	level  slog.Level
	color  bool
	attrs  string // rendered
	prefix string // of keys: the open groups, each with a dot
}

func newTerminalHandler(w io.Writer, level slog.Level, color bool) *terminalHandler {
	return &terminalHandler{mu: new(sync.Mutex), w: w, level: level, color: color}
}

func (h *terminalHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// messageWidth aligns the attributes of most records.
const messageWidth = 32

func (h *terminalHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format("15:04:05.000 "))
	name, color := levelName(r.Level)
	if h.color {
		fmt.Fprintf(&b, "\x1b[%dm%-5s\x1b[0m ", color, name)
	} else {
		fmt.Fprintf(&b, "%-5s ", name)
	}
	b.WriteString(printable(r.Message))
	if r.NumAttrs() > 0 || h.attrs != "" {
		for n := len(r.Message); n < messageWidth; n++ {
			b.WriteByte(' ')
		}
	}
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.prefix, a)
		return true
	})
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String())
	return err
}

func (h *terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	var b strings.Builder
	for _, a := range attrs {
		appendAttr(&b, h.prefix, a)
	}
	c.attrs += b.String()
	return &c
}

func (h *terminalHandler) WithGroup(name string) slog.Handler {
	c := *h
	if name != "" {
		c.prefix += name + "."
	}
	return &c
}

// levelName gives the name of a level and its ANSI colour.
func levelName(l slog.Level) (string, int) {
	switch {
	case l >= slog.LevelError:
		return "ERROR", 31 // red
	case l >= slog.LevelWarn:
		return "WARN", 33 // yellow
	case l >= slog.LevelInfo:
		return "INFO", 32 // green
	}
	return "DEBUG", 36 // cyan
}

func appendAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, m := range v.Group() {
			appendAttr(b, prefix, m)
		}
		return
	}
	if a.Key == "" {
		return
	}
	fmt.Fprintf(b, " %s%s=%s", prefix, a.Key, quoted(text(v)))
}

func text(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	case slog.KindFloat64:
		return strconv.FormatFloat(v.Float64(), 'g', 6, 64)
	}
	return v.String()
}

// quoted quotes what would not read back as one word.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == '=' || !unicode.IsPrint(r)
	}) {
		return strconv.Quote(s)
	}
	return s
}

// printable keeps a message on its line, and escape sequences off the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
