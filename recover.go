package balsa

import (
	"context"
	"errors"
	"fmt"

	"github.com/balsa-sync/balsa/state"
)

// recover does again what was acknowledged before a crash and is in the store's log alone, through
// the actor that did it first: each block is proven against its header again.
func (e *Engine) recover(ctx context.Context) error {
	logged := e.store.Logged()
	if len(logged) == 0 {
		return nil
	}
	e.opts.Logger.Info("applying logged blocks again", "checkpoint", e.Cursor().Number,
		"blocks", len(logged), "last", logged[len(logged)-1].Number)
	for _, l := range logged {
		if err := e.again(ctx, l); err != nil {
			return fmt.Errorf("%w: %v: %w", ErrRecovery, l, err)
		}
	}
	e.opts.Logger.Info("logged blocks are applied", "cursor", e.Cursor().Number)
	return nil
}

// again applies a logged block, or undoes it.
func (e *Engine) again(ctx context.Context, l state.Logged) error {
	if !l.Undone {
		b, err := e.store.LoggedBlock(l)
		if err != nil {
			return err
		}
		_, err = e.Apply(ctx, Block{Header: b.Header, BAL: b.BAL, Transactions: -1})
		return err
	}
	sn := e.store.NewSnapshot()
	h, err := sn.Header(l.Number, l.Hash)
	if err = errors.Join(err, sn.Close()); err != nil {
		return err
	}
	_, err = e.Rewind(ctx, h.ParentHash)
	return err
}

// Logged returns the blocks that were acknowledged before a crash and wait to be applied, or
// undone, again. Open does that, so there are some only where the engine is read-only: its cursor
// is that of the last checkpoint.
func (e *Engine) Logged() []state.Logged { return e.store.Logged() }
