package storageactor

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
)

// Config is what a StorageActor works with.
type Config struct {
	System  *actors.System
	Store   Store
	Tracer  trace.Tracer
	Logger  *slog.Logger
	Options Options
}

// Name is the StorageActor's name below its supervisor.
const Name = "storage"

// Spec says how the StorageActor is spawned.
func Spec(cfg Config) (actors.Spec, error) {
	if err := cfg.Options.Validate(); err != nil {
		return actors.Spec{}, fmt.Errorf("%s: %w", Name, err)
	}
	return actors.Spec{
		Name:     Name,
		New:      func() actor.Actor { return &storageActor{} },
		Children: cfg.Options.Restarts,
	}, nil
}

type storageActor struct{}

// Receive implements actor.Actor.
func (a *storageActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *messages.BuildStorage:
		c.Send(m.ReplyTo, &messages.BuildRejected{Request: m.Request, Err: ErrBadRequest})
	case *messages.BuildAccounts:
		c.Send(m.ReplyTo, &messages.BuildRejected{Request: m.Request, Err: ErrBadRequest})
	}
}
