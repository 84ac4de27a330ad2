package balsa

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
)

// ImportOptions say how an Import works.
type ImportOptions struct {
	// ChunkRows is after how many rows those loaded become durable, and their tries are built, beside
	// the loading of the next ones. It cuts a table, which is worth having some tens of megabytes.
	// Default: 524,288.
	ChunkRows int
	// Progress is called now and then, from any goroutine and from several at a time. Default: none.
	Progress func(BuildProgress)
}

// ImportResult says what an Import did.
type ImportResult struct {
	Cursor   state.Cursor
	Accounts uint64 // read from the source
	Slots    uint64
	Codes    uint64
	// CodesMissing is how many different codes accounts have that the store does not. The state root
	// says nothing of them: it holds their hashes.
	CodesMissing uint64
	// CodesUncounted: there are more codes than are counted; CodesMissing is at least so many.
	CodesUncounted bool
	// OrphanAccounts is how many accounts had slots and did not exist, or have no storage by what
	// the state root says. Their slots were left out.
	OrphanAccounts, OrphanSlots uint64
	// Corrected is how many accounts had another storage root in the source than their slots give.
	// The state root shows that the slots are right.
	Corrected uint64
	// Storage and AccountTrie are what the building took in this run.
	Storage, AccountTrie StorageReport
}

// Import loads the rows of a source into a store without a state, builds all tries through the
// StorageActor meanwhile, and checks that the root is the one of the source's header. Nothing is in
// the store before that; then all of it is, in one step.
//
// Cut off at any moment, by ctx, a crash or an error of the disk, the next Import of the same
// source goes on: rows that are held are passed over, tries that are stored are not built again.
// With another source it begins anew. Where the root is wrong, or the source itself is, going on
// would come to the same: what was built is wiped, and the store is as one that was never built.
//
// Errors: ErrInitialised with the cursor where the store holds this block already, ErrOtherState
// where it holds another, *WrongRootError, ErrInput.
func Import(ctx context.Context, o Options, src Source, io ImportOptions) (
	res ImportResult, err error) {
	if err := o.Validate(); err != nil {
		return res, err
	}
	chainID, h := src.Target()
	target, err := cursorOf(h)
	if err != nil {
		return res, err
	}
	if target.Number == math.MaxUint64 {
		return res, fmt.Errorf("%w: no block can follow number %d", ErrBadHeader, target.Number)
	}
	so := buildOptions(o, false)
	so.AllowUnfinished = true
	store, err := state.Open(so)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if have, ok := store.Cursor(); ok {
		return ImportResult{Cursor: have}, alreadyThere(store, target, have)
	}
	bo := state.BulkOptions{ChainID: chainID, Target: target, Source: src.Mark()}
	if err := explain(store, &o, bo); err != nil {
		return res, err
	}
	defer o.Monitor.Store(store.Metrics)()
	bulk, err := store.NewBulk(bo)
	if err != nil {
		return res, err
	}
	b := newBuild(o, bulk, target, io.Progress)
	b.src, b.chunk = src, io.ChunkRows
	b.codes = make(map[common.Hash]struct{})
	err = b.run(ctx)
	var missing uint64
	if err == nil {
		missing, err = b.missingCodes(ctx)
	}
	if err := b.end(h, err); err != nil {
		return res, err
	}
	res = b.result()
	res.CodesMissing = missing
	return res, nil
}

func (b *build) result() ImportResult {
	return ImportResult{
		Cursor:   b.target,
		Accounts: b.progress.accounts.Load(), Slots: b.progress.slots.Load(),
		Codes: b.progress.codes.Load(), CodesUncounted: b.more,
		OrphanAccounts: b.results.orphans, OrphanSlots: b.results.orphanSlots,
		Corrected: b.results.different,
		Storage:   b.storage, AccountTrie: b.accounts,
	}
}

// alreadyThere says whether the store's state is one that grew out of the wanted block.
func alreadyThere(store *state.Store, want, have state.Cursor) error {
	sn := store.NewSnapshot()
	defer sn.Close()
	if _, known, err := sn.HeaderNumber(want.Hash); err != nil {
		return err
	} else if known {
		return ErrInitialised
	}
	return fmt.Errorf("%w: block %d (%s) and none of block %d (%s)", ErrOtherState,
		have.Number, have.Hash, want.Number, want.Hash)
}
