package telemetry

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"
)

// ErrLogOptions is returned for a log format or a verbosity that is none.
var ErrLogOptions = errors.New("bad log options")

// Format is how log records are written.
type Format string

// The formats of logs.
const (
	FormatTerminal Format = "terminal" // for people: time, level, message, attributes
	FormatLogfmt   Format = "logfmt"   // key=value
	FormatJSON     Format = "json"     // an object a line
)

// Formats lists the formats.
func Formats() []Format { return []Format{FormatTerminal, FormatLogfmt, FormatJSON} }

// The verbosities. Each says what those before it say too.
const (
	VerbositySilent = iota
	VerbosityError
	VerbosityWarn
	VerbosityInfo
	VerbosityDebug
)

// LogOptions says what is logged and how.
type LogOptions struct {
	// Format of the records. Default: FormatTerminal.
	Format Format
	// Verbosity is VerbositySilent to VerbosityDebug.
	Verbosity int
	// Writer takes the records, one Write each. Default: os.Stderr.
	Writer io.Writer
	// Color the levels. It is ignored but for FormatTerminal. Default: whether Writer is a
	// terminal and NO_COLOR (no-color.org) is not set.
	Color *bool
	// SampleBurst records with the same level and message are let through in SampleWindow, then
	// the next one in the window after it says how many were left out. Records below warnings are
	// not counted: they are rare by design, and a warning in a loop is what fills disks.
	// Default: 20 in 10 s.
	SampleBurst  int
	SampleWindow time.Duration
}

// NewLogger makes a logger. It is safe for concurrent use.
func NewLogger(o LogOptions) (*slog.Logger, error) {
	if o.Writer == nil {
		o.Writer = os.Stderr
	}
	if o.SampleBurst <= 0 {
		o.SampleBurst = 20
	}
	if o.SampleWindow <= 0 {
		o.SampleWindow = 10 * time.Second
	}
	level, err := levelOf(o.Verbosity)
	if err != nil {
		return nil, err
	}
	if o.Verbosity == VerbositySilent {
		return slog.New(slog.DiscardHandler), nil
	}
	std := &slog.HandlerOptions{Level: level}
	var h slog.Handler
	switch o.Format {
	case FormatTerminal, "":
		color := IsTerminal(o.Writer) && os.Getenv("NO_COLOR") == ""
		if o.Color != nil {
			color = *o.Color
		}
		h = newTerminalHandler(o.Writer, level, color)
	case FormatLogfmt:
		h = slog.NewTextHandler(o.Writer, std)
	case FormatJSON:
		h = slog.NewJSONHandler(o.Writer, std)
	default:
		return nil, fmt.Errorf("%w: format %q is none of %v", ErrLogOptions, o.Format, Formats())
	}
	return slog.New(newSampler(h, o.SampleBurst, o.SampleWindow)), nil
}

func levelOf(verbosity int) (slog.Level, error) {
	switch verbosity {
	case VerbositySilent, VerbosityError:
		return slog.LevelError, nil
	case VerbosityWarn:
		return slog.LevelWarn, nil
	case VerbosityInfo:
		return slog.LevelInfo, nil
	case VerbosityDebug:
		return slog.LevelDebug, nil
	}
	return 0, fmt.Errorf("%w: verbosity %d is not between %d and %d", ErrLogOptions, verbosity,
		VerbositySilent, VerbosityDebug)
}

// IsTerminal says whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
