package balsa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/storageactor"
)

// stopWait bounds how long the actors of a build, and a source that is being read, are waited for
// when the build ends early.
const stopWait = 10 * time.Second

// StorageReport is what the building of tries was seen to take: see storageactor.Report.
type StorageReport = storageactor.Report

// build is a build of all tries, over rows that are loaded meanwhile (Import), or are there
// (Rebuild).
type build struct {
	o        Options
	bulk     *state.Bulk
	target   state.Cursor
	src      Source // nil: nothing is loaded
	chunk    int    // rows that become visible together
	progress *progress
	results  *storageResults
	codes    map[common.Hash]struct{} // nil: not asked for
	more     bool                     // more codes than were noted

	storage, accounts StorageReport
}

// run builds everything and says whether the root is the target's. The rows are not committed.
func (b *build) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.results = newStorageResults(b.progress)
	t, err := startStorage(ctx, &b.o, b.bulk, b.results.built, func(err error) { cancel(err) })
	if err != nil {
		return err
	}
	chunks, loadErr, loadOver := b.startLoading(ctx)
	err = b.feed(ctx, t, chunks)
	if e := loadErr(err); e != nil {
		err = e // what the loader met is the cause; the feeder met an end of its chunks
	}
	if err == nil {
		b.progress.loadingOver.Store(true)
		err = b.finish(ctx, t)
	}
	if err != nil && context.Cause(ctx) != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	cancel(err)
	loadOver()
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer done()
	return errors.Join(err, t.stop(stopping))
}

// startLoading starts the loader. loadErr gives its error once the chunks are over; loadOver waits
// for it, but not for a source that hangs: the build's methods refuse it from then on.
func (b *build) startLoading(ctx context.Context) (
	chunks <-chan loaded, loadErr func(error) error, loadOver func()) {
	if b.src == nil {
		all := make(chan loaded, 1)
		all <- loaded{all: true}
		close(all)
		return all, func(error) error { return nil }, func() {}
	}
	l := newLoader(b.bulk, b.src, b.chunk, b.progress)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.run(ctx)
	}()
	loadErr = func(fed error) error {
		if fed != nil {
			return nil
		}
		<-ended
		return l.err
	}
	loadOver = func() {
		timer := time.NewTimer(stopWait)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		}
	}
	return l.out, loadErr, loadOver
}

// feed asks for storage tries as their slots become loaded, until everything is loaded.
func (b *build) feed(ctx context.Context, t *storageTree, chunks <-chan loaded) (err error) {
	reader, err := b.bulk.NewReader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	f := &feeder{
		client: t.client, reader: reader, results: b.results, built: b.bulk.Built(),
		codes: b.codes, progress: b.progress,
	}
	defer func() { b.more = f.codesMore }()
	for {
		select {
		case l, ok := <-chunks:
			if !ok {
				return nil
			}
			if err := f.feed(ctx, l); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finish waits for the storage tries, builds the account trie, and compares the root.
func (b *build) finish(ctx context.Context, t *storageTree) error {
	if err := t.client.Wait(ctx); err != nil {
		return err
	}
	if err := b.results.err(); err != nil {
		return err
	}
	b.progress.accountTop.Store(true)
	b.progress.tell()
	built, err := t.client.BuildAccounts(ctx)
	if err != nil {
		return err
	}
	if b.storage, b.accounts, err = t.client.Report(ctx); err != nil {
		return err
	}
	if built.Root == b.target.Root {
		return nil
	}
	r := b.results
	r.mu.Lock()
	defer r.mu.Unlock()
	return &WrongRootError{
		Number: b.target.Number, Hash: b.target.Hash, Want: b.target.Root, Got: built.Root,
		Built: true, Differing: r.differing, DifferingCount: r.different,
	}
}

// end commits a build that came out right, and ends any other: one that would come to the same
// again is wiped, all else can be gone on with.
func (b *build) end(h *types.Header, err error) error {
	switch {
	case err == nil:
		return b.bulk.Commit(h, b.target)
	case errors.Is(err, ErrWrongRoot), isInput(err):
		return errors.Join(err, b.bulk.Abort())
	}
	return errors.Join(err, b.bulk.Pause())
}

// missingCodes counts the codes that were noted and that the build does not hold, and has the store
// remember it where there are any.
func (b *build) missingCodes(ctx context.Context) (missing uint64, err error) {
	if err := b.bulk.Sync(); err != nil {
		return 0, err
	}
	hashes := make([]common.Hash, 0, len(b.codes))
	for h := range b.codes {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(x, y common.Hash) int { return x.Cmp(y) })
	for i, h := range hashes {
		if i%ctxEvery == 0 && ctx.Err() != nil {
			return missing, ctx.Err()
		}
		ok, err := b.bulk.HasCode(h)
		if err != nil {
			return missing, err
		}
		if !ok {
			missing++
		}
	}
	if missing > 0 || b.more {
		b.bulk.CodesMayBeMissing()
	}
	return missing, nil
}

// explain says in which case a build begins anew though there is one to go on with.
func explain(store *state.Store, o *Options, want state.BulkOptions) error {
	p, ok, err := store.Build()
	if err != nil || !ok {
		return err
	}
	if p.BulkOptions == want {
		o.Logger.Info("going on with the build that was cut off", "block", want.Target.Number,
			"storage_ranges", p.Ranges, "branch_rows", p.Rows)
	} else {
		o.Logger.Warn("beginning anew: the build that was cut off is of another input",
			"of_block", p.Target.Number, "of", p.Source, "now_block", want.Target.Number,
			"now", want.Source)
	}
	return nil
}

func cursorOf(h *types.Header) (state.Cursor, error) {
	if h == nil || h.Number == nil || !h.Number.IsUint64() {
		return state.Cursor{}, fmt.Errorf("%w: its number", ErrBadHeader)
	}
	return state.Cursor{Number: h.Number.Uint64(), Hash: h.Hash(), Root: h.Root}, nil
}

const (
	buildCacheBytes    = 32 << 20
	buildMemTableBytes = 8 << 20
)

// buildOptions are the store's for a build: it reads each block once and writes next to nothing
// through memtables, so that neither is worth the memory that blocks are given.
func buildOptions(o Options, mustExist bool) state.Options {
	so := storeOptions(o, mustExist)
	if so.CacheBytes == 0 || so.CacheBytes > buildCacheBytes {
		so.CacheBytes = buildCacheBytes
	}
	so.MemTableBytes = buildMemTableBytes
	return so
}

func newBuild(o Options, bulk *state.Bulk, target state.Cursor, f func(BuildProgress)) *build {
	return &build{o: o, bulk: bulk, target: target, progress: &progress{f: f}}
}
