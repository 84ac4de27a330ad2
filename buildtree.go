package balsa

import (
	"context"
	"errors"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/storageactor"
	"github.com/balsa-sync/balsa/supervisor"
)

// storageTree is the actor tree of a build: a StorageActor below the supervisor.
type storageTree struct {
	tree   *supervisor.Tree
	client *storageactor.Client
}

// startStorage starts a StorageActor over the build. onFatal is called where it cannot be kept
// running.
func startStorage(ctx context.Context, o *Options, bulk *state.Bulk,
	onBuilt func([]messages.StorageResult, []messages.OrphanStorage), onFatal func(error),
) (*storageTree, error) {
	storage := o.Storage
	if storage.Meter == nil {
		storage.Meter = o.Monitor.Meter()
	}
	tree, err := supervisor.Start(ctx, supervisor.Config{
		Actors: actors.Options{Name: "balsa"}, Tracer: o.TracerProvider.Tracer(tracerName),
		Logger: o.Logger, Build: storageactor.StoreOf(bulk), Storage: storage, OnFatal: onFatal,
		Monitor: o.Monitor,
	})
	if err != nil {
		return nil, err
	}
	t := &storageTree{tree: tree}
	if t.client, err = storageactor.NewClient(tree.System, tree.Storage, onBuilt); err != nil {
		stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
		defer done()
		return nil, errors.Join(err, t.stop(stopping))
	}
	o.Monitor.Credit(t.client.CreditWaits)
	return t, nil
}

// stop stops the actors. ctx bounds how long it waits.
func (t *storageTree) stop(ctx context.Context) error { return t.tree.Stop(ctx) }
