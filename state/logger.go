package state

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleLogger carries Pebble's log lines to slog. Fatalf fails the store and ends the goroutine
// that called it: returning would let Pebble go on with half-done work, and a panic on one of its
// own goroutines would end the process. Goexit runs the deferred unlocks, so that reads go on.
// Writes run on goroutines that may end (failure.run); reads do not call Fatalf. While the store
// opens the goroutine is parked instead: what Pebble defers there takes away the memory that its
// background goroutines use.
type pebbleLogger struct {
	log  *slog.Logger
	fail *failure
}

var _ pebble.Logger = pebbleLogger{}

func (l pebbleLogger) line(level slog.Level, format string, args []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "pebble: "+fmt.Sprintf(format, args...))
	}
}

func (l pebbleLogger) Infof(format string, args ...any)  { l.line(slog.LevelDebug, format, args) }
func (l pebbleLogger) Errorf(format string, args ...any) { l.line(slog.LevelError, format, args) }

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.line(slog.LevelError, format, args)
	l.fail.set(fatalError{fmt.Sprintf("pebble: "+format, args...), firstError(args)})
	if l.fail.opening() {
		park()
	}
	runtime.Goexit()
}

// fatalError is a line of Fatalf, and the error in it if there was one.
type fatalError struct {
	line string
	err  error
}

func (e fatalError) Error() string { return e.line }
func (e fatalError) Unwrap() error { return e.err }

func firstError(args []any) error {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return err
		}
	}
	return nil
}

// maxBackgroundErrors is how many flushes and compactions may fail in a row. Pebble tries again at
// once and for ever, without a pause; at some point the disk is no use.
const maxBackgroundErrors = 16

// listener watches Pebble's background work.
func listener(log *slog.Logger, fail *failure) *pebble.EventListener {
	var inRow atomic.Int32
	good := func(err error) {
		if err == nil {
			inRow.Store(0)
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			log.Error("flush or compaction failed", "err", err)
			if inRow.Add(1) == maxBackgroundErrors {
				fail.set(fmt.Errorf("%d flushes and compactions failed in a row: %w",
					maxBackgroundErrors, readError(err)))
			}
		},
		// The read that met the damage returns ErrCorrupt; without this handler Pebble calls Fatalf.
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("file is damaged", "path", info.Path, "err", info.Details)
		},
		FlushEnd:      func(i pebble.FlushInfo) { good(i.Err) },
		CompactionEnd: func(i pebble.CompactionInfo) { good(i.Err) },
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			log.Warn("writes wait for flushes or compactions", "reason", i.Reason)
		},
	}
}
