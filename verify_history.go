package balsa

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/state"
)

// verifyLogInterval is how often a line says which rows of the history are being checked.
const verifyLogInterval = 8 * time.Second

// pace ends a long walk with its context, and says now and then how far it is.
type pace struct {
	ctx    context.Context
	log    *slog.Logger
	rows   uint64
	latest time.Time
}

// step is called once a row.
func (p *pace) step(what string) error {
	p.rows++
	if p.rows%256 != 0 {
		return nil
	}
	if now := time.Now(); now.Sub(p.latest) >= verifyLogInterval {
		p.latest = now
		p.log.Info("verifying "+what, "rows", p.rows)
	}
	return p.ctx.Err()
}

// history checks the rows of blocks: headers from the first to the cursor, each the parent of the
// next, with number, access list and reverse diff; and that there are no others.
func (v *verifier) history() error {
	for _, check := range []func() error{v.headers, v.diffs, v.numbers, v.lists, v.unknown} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// headers walks the headers upwards, which needs no memory: a branch has one of each number.
func (v *verifier) headers() error {
	it := v.sn.Headers()
	it.SkipBad(v.badKey)
	defer it.Close()
	var last state.Cursor
	for first := true; it.Next(); first = false {
		if err := v.pace.step("headers"); err != nil {
			return err
		}
		number, hash := it.Number(), it.Hash()
		if !first && number != last.Number+1 {
			v.fault("header of block %d (%s): the one before it is of block %d (%s)", number, hash,
				last.Number, last.Hash)
		}
		h, err := it.Header()
		if err != nil {
			v.fault("%v", err)
			last = state.Cursor{Number: number, Hash: hash}
			continue
		}
		if got := h.Hash(); got != hash || h.Number == nil || !h.Number.IsUint64() ||
			h.Number.Uint64() != number {
			v.fault("header of block %d (%s): it is that of block %v (%s)", number, hash, h.Number, got)
		}
		if !first && number == last.Number+1 && h.ParentHash != last.Hash {
			v.fault("header of block %d (%s): its parent is %s, the block before it %s", number, hash,
				h.ParentHash, last.Hash)
		}
		if err := v.block(h, number, hash, first); err != nil {
			return err
		}
		last = state.Cursor{Number: number, Hash: hash, Root: h.Root}
		v.report.Headers++
	}
	if err := it.Error(); err != nil {
		return err
	}
	if last != v.report.Cursor {
		v.fault("header of block %d (%s), the cursor: the last header is of block %d (%s) with root %s",
			v.report.Cursor.Number, v.report.Cursor.Hash, last.Number, last.Hash, last.Root)
	}
	return nil
}

// block checks the other rows of a header's block. That which the store was built at was not
// applied: it has neither access list nor reverse diff.
func (v *verifier) block(h *types.Header, number uint64, hash common.Hash, first bool) error {
	n, ok, err := v.sn.HeaderNumber(hash)
	switch {
	case errors.Is(err, state.ErrBadRow):
		v.fault("%v", err)
	case err != nil:
		return err
	case !ok || n != number:
		v.fault("number of block %d (%s): it is missing, or another", number, hash)
	}
	if first {
		return nil
	}
	raw, ok, err := v.sn.BAL(hash)
	switch {
	case err != nil:
		return err
	case !ok:
		v.fault("block access list of block %d (%s): it is missing", number, hash)
	case h.BlockAccessListHash == nil || bal.Hash(raw) != *h.BlockAccessListHash:
		v.fault("block access list of block %d (%s): it has hash %s, the header says %v", number, hash,
			bal.Hash(raw), h.BlockAccessListHash)
	}
	if ok, err = v.sn.HasReverseDiff(number, hash); err == nil && !ok {
		v.fault("reverse diff of block %d (%s): it is missing", number, hash)
	}
	return err
}

// diffs decodes the reverse diffs.
func (v *verifier) diffs() error {
	it := v.sn.ReverseDiffs()
	it.SkipBad(v.badKey)
	defer it.Close()
	for it.Next() {
		if err := v.pace.step("reverse diffs"); err != nil {
			return err
		}
		if _, err := it.ReverseDiff(); err != nil {
			v.fault("%v", err)
		}
		ok, err := v.sn.HasHeader(it.Number(), it.Hash())
		if err != nil {
			return err
		}
		if !ok {
			v.fault("reverse diff of block %d (%s): the block has no header", it.Number(), it.Hash())
		}
		v.report.Diffs++
	}
	return it.Error()
}

// numbers finds those of blocks that have no header.
func (v *verifier) numbers() error {
	it := v.sn.Numbers()
	it.SkipBad(v.badKey)
	defer it.Close()
	for it.Next() {
		if err := v.ofKnownBlock(it, "number"); err != nil {
			return err
		}
	}
	return it.Error()
}

// lists finds access lists of blocks that have no header.
func (v *verifier) lists() error {
	it := v.sn.BALs()
	it.SkipBad(v.badKey)
	defer it.Close()
	for it.Next() {
		v.report.BALs++
		if err := v.ofKnownBlock(it, "block access list"); err != nil {
			return err
		}
	}
	return it.Error()
}

func (v *verifier) ofKnownBlock(it *state.BlockIter, what string) error {
	if err := v.pace.step(what + "s"); err != nil {
		return err
	}
	hash := it.Hash()
	n, ok, err := v.sn.HeaderNumber(hash)
	if errors.Is(err, state.ErrBadRow) {
		return nil // told at its header, or as a number without one
	}
	if err == nil && ok {
		ok, err = v.sn.HasHeader(n, hash)
	}
	if err == nil && !ok {
		v.fault("%s of block %s: the block has no header", what, hash)
	}
	return err
}

// unknown finds rows of no key space.
func (v *verifier) unknown() error {
	return v.sn.EachUnknown(func(key []byte) error {
		v.fault("row with key %x: there are no such rows", key[:min(len(key), 64)])
		return v.pace.step("unknown rows")
	})
}

// badKey takes rows whose keys do not parse.
func (v *verifier) badKey(what string, key []byte) {
	v.fault("%s with key %x: there are no such keys", what, bytes.Clone(key[:min(len(key), 128)]))
}
