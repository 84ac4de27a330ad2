package actors

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestProtoActorsInfoIsDebug(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	l := quiet(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
	l = l.With("a", 1).WithGroup("g")
	l.Info("info")
	if out.Len() != 0 {
		t.Fatalf("got %s", out.String())
	}
	l.Warn("warning")
	level.Set(slog.LevelDebug)
	l.Info("info")
	got := out.String()
	if !strings.Contains(got, "level=WARN msg=warning a=1") ||
		!strings.Contains(got, "level=DEBUG msg=info a=1") {
		t.Fatalf("got %s", got)
	}
}
