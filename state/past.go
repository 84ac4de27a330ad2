package state

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// Past is the state after an older block of the cursor's branch: a snapshot, and over it what the
// blocks since have changed, as it was. It is safe for concurrent use and as long of use as its
// snapshot is open.
//
// At reads the reverse diffs of all those blocks once, and Past keeps the changed accounts and
// slots in memory: some 200 bytes for each. After that a read costs a look-up in a map, or what it
// costs at the cursor. Account proofs need the older account trie: at the first, all changed
// accounts are put back in memory through the trie's updater, which costs as much as a block that
// changes so many. So do those of a storage trie, for the slots of its account.
type Past struct {
	sn *Snapshot
	at Cursor
	// What was there of all that has changed since; nil where there was nothing.
	accounts map[common.Hash][]byte
	slots    map[common.Hash]map[common.Hash][]byte

	mu      sync.Mutex
	account *pastTrie
	storage map[common.Hash]*pastTrie
}

// At returns the state after the block with the given number on the snapshot's branch. Errors:
// ErrUnknownBlock above the cursor, ErrNoHistory where the way back is not in the store any more.
func (sn *Snapshot) At(ctx context.Context, number uint64) (*Past, error) {
	c, ok := sn.Cursor()
	switch {
	case !ok:
		return nil, ErrNotBuilt
	case number > c.Number:
		return nil, fmt.Errorf("state at block %d: %w: the cursor is %v", number, ErrUnknownBlock, c)
	}
	if _, known, err := sn.BlockHash(number); err != nil {
		return nil, err
	} else if !known {
		first, err := sn.oldest()
		return nil, errors.Join(fmt.Errorf("state at block %d: %w: it begins at block %d", number,
			ErrNoHistory, first), err)
	}
	p := &Past{sn: sn, at: c, accounts: map[common.Hash][]byte{},
		slots:   map[common.Hash]map[common.Hash][]byte{},
		storage: map[common.Hash]*pastTrie{}}
	for p.at.Number > number {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.back(); err != nil {
			return nil, fmt.Errorf("state at block %d: %w", number, err)
		}
	}
	return p, nil
}

// oldest is the number of the oldest block that the store knows.
func (sn *Snapshot) oldest() (uint64, error) {
	it := sn.Headers()
	defer it.Close()
	if !it.Next() {
		if err := it.Error(); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: there is no header", ErrCorrupt)
	}
	return it.Number(), nil
}

// back goes to the parent's state. The store knows the older block: what is lacking is lost.
func (p *Past) back() (err error) {
	defer func() {
		if errors.Is(err, ErrUnknownBlock) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}()
	h, err := p.sn.Header(p.at.Number, p.at.Hash)
	if err != nil {
		return err
	}
	parent, err := p.sn.Header(p.at.Number-1, h.ParentHash)
	if err != nil {
		return err
	}
	d, err := p.sn.ReverseDiff(p.at.Number, p.at.Hash)
	if err != nil {
		return err
	}
	for i := range d.Accounts {
		p.accounts[d.Accounts[i].Hash] = d.Accounts[i].Pre
	}
	for i := range d.Slots {
		w := &d.Slots[i]
		of := p.slots[w.Account]
		if of == nil {
			of = map[common.Hash][]byte{}
			p.slots[w.Account] = of
		}
		of[w.Slot] = w.Pre
	}
	p.at = Cursor{Number: p.at.Number - 1, Hash: h.ParentHash, Root: parent.Root}
	return nil
}

// Cursor returns the block whose state it is.
func (p *Past) Cursor() Cursor { return p.at }

// Account returns the account with the given address hash; false if there was none.
func (p *Past) Account(hash common.Hash) (Account, bool, error) {
	row, changed := p.accounts[hash]
	switch {
	case !changed:
		return p.sn.Account(hash)
	case row == nil:
		return Account{}, false, nil
	}
	a, err := decodeAccountRow(&hash, row)
	return a, err == nil, err
}

// Slot returns the value of the account's slot with the given hash, zero if it was not set.
func (p *Past) Slot(account, slot common.Hash) (common.Hash, error) {
	row, changed := p.slots[account][slot]
	switch {
	case !changed:
		return p.sn.Slot(account, slot)
	case row == nil:
		return common.Hash{}, nil
	}
	v, err := DecodeSlot(row)
	if err != nil {
		return common.Hash{}, fmt.Errorf("slot %x of account %x: %w", slot, account, corrupt(err))
	}
	return v, nil
}

// Code returns the code with the given hash; false if the store does not have it. What a code's
// account had at the block is there: only undoing a block takes the codes away that it brought.
func (p *Past) Code(hash common.Hash) ([]byte, bool, error) { return p.sn.Code(hash) }
