package balsa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
)

// loadChunk is the default of ImportOptions.ChunkRows.
const loadChunk = 1 << 19

// maxLoadedAhead bounds the chunks whose accounts nobody has been asked for yet.
const maxLoadedAhead = 4

// loaded says what workers may take: all rows of accounts before upTo, or all.
type loaded struct {
	upTo   common.Hash
	all    bool
	counts []slotCount // ascending, of accounts whose slots came since the last one
}

// slotCount is an account with the number of its slots.
type slotCount struct {
	account common.Hash
	slots   int
}

// loader takes the rows of a source into a build. It runs on a goroutine of its own.
type loader struct {
	bulk     *state.Bulk
	src      Source
	out      chan loaded
	progress *progress

	account, slotAccount, slot common.Hash // held since an earlier run
	accountOK, slotOK          bool

	most   int // rows in a chunk
	chunk  int // rows since the last sync
	counts []slotCount
	last   common.Hash // account of the last slot
	any    bool
	err    error // read when out is closed
}

func newLoader(bulk *state.Bulk, src Source, chunk int, p *progress) *loader {
	if chunk <= 0 {
		chunk = loadChunk
	}
	l := &loader{
		bulk: bulk, src: src, most: chunk, out: make(chan loaded, maxLoadedAhead), progress: p,
	}
	l.account, l.accountOK, l.slotAccount, l.slot, l.slotOK = bulk.Resume()
	return l
}

// run loads everything and closes out.
func (l *loader) run(ctx context.Context) {
	defer close(l.out)
	l.err = l.load(ctx)
}

func (l *loader) load(ctx context.Context) error {
	if l.accountOK && l.slotOK {
		// The accounts before both are there with their slots. Tables of slots may be ahead of tables
		// of accounts, or the other way round.
		upTo := l.slotAccount
		if bytes.Compare(l.account[:], upTo[:]) < 0 {
			upTo = l.account
		}
		if err := l.tell(ctx, loaded{upTo: upTo}); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		if n%ctxEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			l.progress.tell()
		}
		row, err := l.src.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := l.add(row); err != nil {
			return err
		}
		if l.chunk < l.most {
			continue
		}
		if err := l.sync(ctx, false); err != nil {
			return err
		}
	}
	return l.sync(ctx, true)
}

// add takes a row, unless the store holds it already.
func (l *loader) add(r *Row) error {
	switch r.Kind {
	case AccountRow:
		l.progress.accounts.Add(1)
		if l.accountOK && bytes.Compare(r.Hash[:], l.account[:]) <= 0 {
			return nil
		}
		l.chunk++
		return l.bulk.Account(r.Hash, &r.Account)
	case SlotRow:
		l.progress.slots.Add(1)
		if l.count(r) {
			return nil
		}
		l.chunk++
		return l.bulk.SlotRLP(&r.Hash, &r.Slot, r.Value)
	case CodeRow:
		l.progress.codes.Add(1)
		return l.bulk.Code(r.Value)
	}
	return fmt.Errorf("%w: a row of kind %d", ErrInput, r.Kind)
}

// count counts a slot, and says whether the store holds it already.
func (l *loader) count(r *Row) (held bool) {
	if n := len(l.counts); n > 0 && l.counts[n-1].account == r.Hash {
		l.counts[n-1].slots++
	} else {
		l.counts = append(l.counts, slotCount{r.Hash, 1})
	}
	l.last, l.any = r.Hash, true
	if !l.slotOK {
		return false
	}
	c := bytes.Compare(r.Hash[:], l.slotAccount[:])
	return c < 0 || c == 0 && bytes.Compare(r.Slot[:], l.slot[:]) <= 0
}

// sync makes what was added visible and says so.
func (l *loader) sync(ctx context.Context, all bool) error {
	if err := l.bulk.Sync(); err != nil {
		return err
	}
	l.chunk = 0
	out := loaded{all: all, upTo: l.last, counts: l.counts}
	if !all && !l.any {
		return nil
	}
	l.counts = nil
	if n := len(out.counts); !all && n > 0 { // the last account's slots may go on
		l.counts = append(l.counts, out.counts[n-1])
		out.counts = out.counts[:n-1]
	}
	return l.tell(ctx, out)
}

func (l *loader) tell(ctx context.Context, m loaded) error {
	select {
	case l.out <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isInput says whether an error of loading is the source's fault: going on with the same source
// would come to the same.
func isInput(err error) bool {
	for _, e := range []error{ErrInput, state.ErrKeyOrder, state.ErrDuplicateKey, state.ErrZeroSlot,
		state.ErrBadSlot} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
