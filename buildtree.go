package balsa

import (
	"context"
	"errors"
	"fmt"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/storageactor"
)

// storageTree is the actor tree of a build: a StorageActor alone.
type storageTree struct {
	sys    *actors.System
	client *storageactor.Client
}

// startStorage starts a StorageActor over the build. onFatal is called where it cannot be kept
// running.
func startStorage(ctx context.Context, o *Options, bulk *state.Bulk,
	onBuilt func([]messages.StorageResult, []messages.OrphanStorage), onFatal func(error),
) (*storageTree, error) {
	tracer := o.TracerProvider.Tracer(tracerName)
	sys, err := actors.NewSystem(actors.Options{
		Name: "balsa", Logger: o.Logger, Tracer: tracer, OnFatal: onFatal,
	})
	if err != nil {
		return nil, err
	}
	t := &storageTree{sys: sys}
	if err := t.start(o, storageactor.Config{
		System: sys, Store: storageactor.StoreOf(bulk), Tracer: tracer, Logger: o.Logger,
		Options: o.Storage,
	}, onBuilt); err != nil {
		stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
		defer done()
		return nil, errors.Join(err, t.stop(stopping))
	}
	return t, nil
}

func (t *storageTree) start(o *Options, cfg storageactor.Config,
	onBuilt func([]messages.StorageResult, []messages.OrphanStorage)) error {
	spec, err := storageactor.Spec(cfg)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadOptions, err)
	}
	pid, err := t.sys.Spawn(spec)
	if err != nil {
		return err
	}
	t.client, err = storageactor.NewClient(t.sys, pid, onBuilt)
	return err
}

// stop stops the actors. ctx bounds how long it waits.
func (t *storageTree) stop(ctx context.Context) error { return t.sys.Shutdown(ctx) }
