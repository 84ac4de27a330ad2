package balsa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/internal/flatfile"
	"github.com/balsa-sync/balsa/state"
)

// ExportResult says what Export wrote.
type ExportResult struct {
	Cursor state.Cursor
	flatfile.Counts
}

// ctxEvery is after how many rows a long walk looks whether it shall go on.
const ctxEvery = 4096

// Export writes the flat state at the store's cursor to w, in the format of docs/leaves-format.md:
// the same bytes for the same state. It changes nothing. The rows are not proven: whoever imports
// them builds all tries and compares the root. progress, which may be nil, is called now and then.
func Export(ctx context.Context, o Options, w io.Writer, progress func(ExportResult)) (
	res ExportResult, err error) {
	if err := o.Validate(); err != nil {
		return res, err
	}
	o.ReadOnly = true
	store, err := state.Open(storeOptions(o, true))
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, ok := store.Cursor()
	if !ok {
		return res, fmt.Errorf("%s: %w", o.Dir, ErrNoState)
	}
	if n := len(store.Logged()); n > 0 {
		o.Logger.Warn("logged blocks lie beyond the state that is exported", "block", c.Number,
			"blocks", n)
	}
	sn := store.NewSnapshot()
	defer func() { err = errors.Join(err, sn.Close()) }()
	e := &exporter{ctx: ctx, sn: sn, progress: progress, res: ExportResult{Cursor: c}}
	err = e.run(w, store.ChainID())
	return e.res, err
}

// exporter walks a snapshot.
type exporter struct {
	ctx      context.Context
	sn       *state.Snapshot
	w        *flatfile.Writer
	progress func(ExportResult)
	res      ExportResult
	rows     int
	slim     []byte
}

func (e *exporter) run(w io.Writer, chainID uint64) error {
	h, err := e.sn.Header(e.res.Cursor.Number, e.res.Cursor.Hash)
	if err != nil {
		return err
	}
	if e.w, err = flatfile.NewWriter(w, chainID, h); err != nil {
		return err
	}
	if err := e.accounts(); err != nil {
		return err
	}
	if err := e.codes(); err != nil {
		return err
	}
	e.res.Counts = e.w.Counts()
	return e.w.Finish()
}

// step counts a row.
func (e *exporter) step() error {
	if e.rows++; e.rows%ctxEvery != 0 {
		return nil
	}
	e.res.Counts = e.w.Counts()
	if e.progress != nil {
		e.progress(e.res)
	}
	return e.ctx.Err()
}

func (e *exporter) accounts() error {
	slots := e.sn.AllSlots()
	defer slots.Close()
	more := slots.Next()
	it := e.sn.Accounts(common.Hash{})
	defer it.Close()
	for it.Next() {
		hash := it.Key()
		a, err := it.Account()
		if err != nil {
			return err
		}
		if more && bytes.Compare(addressOf(slots), hash[:]) < 0 {
			break // told below
		}
		e.slim = a.AppendSlim(e.slim[:0])
		if err := errors.Join(e.w.Account(hash, e.slim), e.step()); err != nil {
			return err
		}
		for ; more && slots.AccountHash() == hash; more = slots.Next() {
			if err := errors.Join(e.w.Slot(slots.Key(), slots.Value()), e.step()); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(it.Error(), slots.Error()); err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%w: slots of account %s, which does not exist", ErrVerify,
			slots.AccountHash())
	}
	return nil
}

func addressOf(it *state.SlotIter) []byte {
	h := it.AccountHash()
	return h[:]
}

func (e *exporter) codes() error {
	it := e.sn.Codes()
	defer it.Close()
	for it.Next() {
		if err := errors.Join(e.w.Code(it.Key(), it.Value()), e.step()); err != nil {
			return err
		}
	}
	return it.Error()
}
