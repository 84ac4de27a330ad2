package actors

import (
	"context"
	"log/slog"
	"runtime"
)

// maxStack bounds the stack in a log record, in bytes: the frames that matter are its first.
const maxStack = 8 << 10

// stack is the caller's stack, cut to maxStack.
func stack() slog.Attr {
	buf := make([]byte, maxStack)
	return slog.String("stack", string(buf[:runtime.Stack(buf, false)]))
}

// quiet is a logger for proto.actor. What that says at level Info (a system has started, a failure
// is being handled) is the kit's business, and said by it: it becomes Debug.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(quietHandler{l.Handler()}) }

type quietHandler struct{ slog.Handler }

func (h quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, quieter(level))
}

func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = quieter(r.Level)
	return h.Handler.Handle(ctx, r)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}

func quieter(level slog.Level) slog.Level {
	if level < slog.LevelWarn {
		return min(level, slog.LevelDebug)
	}
	return level
}

// isPowerOfTwo picks the occurrences of an event that are logged, so that a flood writes few lines.
func isPowerOfTwo(n uint64) bool { return n&(n-1) == 0 }
