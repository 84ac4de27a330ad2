package balsa

import (
	"context"
	"errors"
	"fmt"

	"github.com/balsa-sync/balsa/state"
)

// RebuildOptions say how a Rebuild works.
type RebuildOptions struct {
	// Progress is called now and then, from any goroutine and from several at a time. Default: none.
	Progress func(BuildProgress)
}

// RebuildResult says what a Rebuild did.
type RebuildResult struct {
	Cursor state.Cursor
	// OrphanAccounts is how many accounts had slots and did not exist, or have no storage by what
	// the state root says. Their slots were removed.
	OrphanAccounts, OrphanSlots uint64
	// Corrected is how many accounts had another storage root in their rows than their slots give.
	Corrected uint64
	// Storage and AccountTrie are what the building took in this run.
	Storage, AccountTrie StorageReport
}

// Rebuild makes all branch rows again from the store's own flat state, through the StorageActor.
// The old rows stay until the new root is the cursor's; then the new ones take their place in one
// step. So it mends rows that are missing or damaged.
//
// Cut off at any moment, the next Rebuild goes on, unless blocks were applied meanwhile. A wrong
// root is a *WrongRootError: the flat state is damaged, and the store is left as it was.
func Rebuild(ctx context.Context, o Options, ro RebuildOptions) (res RebuildResult, err error) {
	if err := o.Validate(); err != nil {
		return res, err
	}
	store, err := state.Open(buildOptions(o, true))
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, ok := store.Cursor()
	if !ok {
		return res, fmt.Errorf("%s: %w", o.Dir, ErrNoState)
	}
	defer o.Monitor.Store(store.Metrics)()
	bulk, err := store.NewRebuild()
	if err != nil {
		return res, err
	}
	b := newBuild(o, bulk, c, ro.Progress)
	if err := b.end(nil, b.run(ctx)); err != nil {
		return res, err
	}
	r := b.result()
	return RebuildResult{
		Cursor: c, OrphanAccounts: r.OrphanAccounts, OrphanSlots: r.OrphanSlots,
		Corrected: r.Corrected, Storage: r.Storage, AccountTrie: r.AccountTrie,
	}, nil
}
