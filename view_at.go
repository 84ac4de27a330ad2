package balsa

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// ViewAt makes a view of the state after an older block of the cursor's branch, back to
// Options.History blocks below the cursor. Reads, codes and proofs are those of that block; proofs
// are against its header's state root.
//
// It reads the reverse diffs of all blocks since, and keeps what they changed in memory: some 200
// bytes for each account or slot. Afterwards reads are as fast as at the cursor. The first proof
// costs as much as a block that changes all those accounts.
//
// Errors: ErrNoHistory for a block that is older, ErrUnknownBlock for one above the cursor.
func (e *Engine) ViewAt(ctx context.Context, number uint64) (*View, error) {
	return e.viewAt(ctx, func(*state.Snapshot) (uint64, error) { return number, nil })
}

// ViewAtHash is ViewAt for the block with a hash. The store knows the blocks of the cursor's branch
// alone, those within its history: any other one gives ErrUnknownBlock.
func (e *Engine) ViewAtHash(ctx context.Context, hash common.Hash) (*View, error) {
	return e.viewAt(ctx, func(sn *state.Snapshot) (uint64, error) {
		number, ok, err := sn.HeaderNumber(hash)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s is on another branch, not applied yet, or older than the history",
				ErrUnknownBlock, hash)
		}
		return number, err
	})
}

func (e *Engine) viewAt(ctx context.Context, find func(*state.Snapshot) (uint64, error)) (
	*View, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.inFlight.Done()
	v, err := e.view()
	if err != nil {
		return nil, err
	}
	number, err := find(v.sn)
	if err == nil {
		v.past, err = v.sn.At(ctx, number)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	v.cursor = v.past.Cursor()
	return v, nil
}

func (v *View) account(hash common.Hash) (state.Account, bool, error) {
	if v.past != nil {
		return v.past.Account(hash)
	}
	return v.sn.Account(hash)
}

func (v *View) slot(account, slot common.Hash) (common.Hash, error) {
	if v.past != nil {
		return v.past.Slot(account, slot)
	}
	return v.sn.Slot(account, slot)
}

func (v *View) accountTrie(r *state.Reader) (trie.Reader, error) {
	if v.past != nil {
		return v.past.AccountTrie(r)
	}
	return r.AccountTrie(), nil
}

func (v *View) storageTrie(r *state.Reader, account common.Hash) (trie.Reader, error) {
	if v.past != nil {
		return v.past.StorageTrie(r, account)
	}
	return r.StorageTrie(account), nil
}
