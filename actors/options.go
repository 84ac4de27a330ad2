package actors

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	// defaultMaxIdle bounds the parked goroutines: each keeps its grown stack, some 8 KB, and a
	// few for each core are enough for the wake-ups of a chain of actors.
	defaultMaxIdle    = 64
	defaultAskTimeout = 30 * time.Second
)

// Options configures a System. The zero value is usable.
type Options struct {
	// Name tells systems apart in logs. Default "balsa".
	Name string
	// Logger takes the kit's and proto.actor's log records. Default: none are written.
	Logger *slog.Logger
	// Clock drives timers, backoffs and AskTimeout. Default RealClock().
	Clock Clock
	// Tracer is what actors start the spans of their jobs with. Default: one that does nothing.
	Tracer trace.Tracer
	// MaxIdle bounds the goroutines that the own dispatcher keeps parked. Default 64.
	MaxIdle int
	// AskTimeout bounds an Ask whose context has no deadline. Default 30 s.
	AskTimeout time.Duration
	// Restarts is how top-level actors are restarted. Its zero value means its defaults.
	Restarts Restarts
	// OnFatal is called once, on a goroutine of its own, when a top-level actor has used up its
	// restarts; the error wraps ErrGaveUp and, if it was one, the error the actor panicked with.
	// It starts the orderly exit. Default: the error is logged.
	OnFatal func(error)
	// Waited is told how long a message waited in the mailbox of the actor at path, of one message in
	// some sixteen. It is called by the actor's own goroutine, and must not wait. Replaced mailboxes
	// tell nothing. Default: nobody is told.
	Waited func(path string, wait time.Duration)
	// Mailbox and Dispatcher replace the own ones; a simulator does that. Defaults: the own ones.
	// A replaced dispatcher is not closed by Shutdown.
	Mailbox    actor.MailboxProducer
	Dispatcher actor.Dispatcher
	// Base is proto.actor's system to live in, which takes milliseconds to make: a simulator has one
	// for many systems, one after another. No actor may be left in it, and its log lines go where its
	// maker sends them. Shutdown leaves it as it was. Default: one of its own.
	Base *actor.ActorSystem
}

// Validate fills in the defaults and refuses what contradicts.
func (o *Options) Validate() error {
	if o.MaxIdle < 0 {
		return fmt.Errorf("%w: MaxIdle %d is negative", ErrBadOptions, o.MaxIdle)
	}
	if o.AskTimeout < 0 {
		return fmt.Errorf("%w: AskTimeout %v is negative", ErrBadOptions, o.AskTimeout)
	}
	if err := o.Restarts.validate(); err != nil {
		return fmt.Errorf("%w: Restarts: %w", ErrBadOptions, err)
	}
	if o.Name == "" {
		o.Name = "balsa"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = RealClock()
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	if o.MaxIdle == 0 {
		o.MaxIdle = defaultMaxIdle
	}
	if o.AskTimeout == 0 {
		o.AskTimeout = defaultAskTimeout
	}
	if o.Mailbox == nil {
		o.Mailbox = func() actor.Mailbox { return newMailbox() }
	}
	return nil
}
