package balsa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// Genesis is a state to start from: that of block 0, or of any block whose header is known.
type Genesis struct {
	ChainID uint64
	Header  *types.Header // of the block after which the state is this
	Alloc   map[common.Address]types.Account
}

// initBatch is how many accounts Init takes at a time, so that their storage tries are hashed
// together.
const initBatch = 256

// Init builds the store's state and checks that it has the header's root. Nothing is in the store
// before that; an Init that was cut off is begun anew by the next one.
//
// Errors: ErrInitialised with the cursor where the store holds this block already, ErrOtherState
// where it holds another, *WrongRootError where the root is not the header's.
func Init(ctx context.Context, o Options, g Genesis) (state.Cursor, error) {
	if err := o.Validate(); err != nil {
		return state.Cursor{}, err
	}
	if g.Header == nil || g.Header.Number == nil || !g.Header.Number.IsUint64() {
		return state.Cursor{}, ErrBadHeader
	}
	so := storeOptions(o, false)
	so.AllowUnfinished = true
	store, err := state.Open(so)
	if err != nil {
		return state.Cursor{}, err
	}
	c, err := initStore(ctx, store, g)
	return c, errors.Join(err, store.Close())
}

func initStore(ctx context.Context, store *state.Store, g Genesis) (state.Cursor, error) {
	want := state.Cursor{
		Number: g.Header.Number.Uint64(), Hash: g.Header.Hash(), Root: g.Header.Root,
	}
	if have, ok := store.Cursor(); ok {
		return have, alreadyThere(store, want, have)
	}
	bulk, err := store.NewBulk(state.BulkOptions{ChainID: g.ChainID, Target: want})
	if err == nil && bulk.Begun() {
		// What an earlier run left is not gone on with.
		if err = bulk.Abort(); err == nil {
			bulk, err = store.NewBulk(state.BulkOptions{ChainID: g.ChainID, Target: want})
		}
	}
	if err != nil {
		return state.Cursor{}, err
	}
	root, err := buildState(ctx, bulk, g.Alloc)
	if err == nil && root != want.Root {
		err = &WrongRootError{Number: want.Number, Hash: want.Hash, Want: want.Root, Got: root}
	}
	if err != nil {
		return state.Cursor{}, errors.Join(err, bulk.Abort())
	}
	return want, bulk.Commit(g.Header, want)
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

// allocEntry is an account of a genesis under its key in the state.
type allocEntry struct {
	hash common.Hash
	addr common.Address
}

// buildState writes flat state, branch rows and codes, and returns the state root.
func buildState(ctx context.Context, bulk *state.Bulk, alloc map[common.Address]types.Account) (
	common.Hash, error) {
	entries := make([]allocEntry, 0, len(alloc))
	for addr := range alloc {
		entries = append(entries, allocEntry{keccak.Sum(addr[:]), addr})
	}
	slices.SortFunc(entries, func(a, b allocEntry) int {
		return bytes.Compare(a.hash[:], b.hash[:])
	})
	b := &stateBuild{bulk: bulk, rows: bulk.NewRows()}
	b.accounts = trie.NewBuilder(trie.Options{Sink: accountRows{b.rows}})
	b.storage = trie.NewBuilder(trie.Options{Sink: b})
	b.accounts.Begin(0)
	for batch := range slices.Chunk(entries, initBatch) {
		if err := ctx.Err(); err != nil {
			return common.Hash{}, err
		}
		if err := b.batch(batch, alloc); err != nil {
			return common.Hash{}, err
		}
	}
	id, err := b.accounts.End()
	if err == nil {
		err = b.accounts.Flush()
	}
	if err == nil {
		_, err = b.rows.Flush(state.KeyRange{To: common.MaxHash})
	}
	return b.accounts.Root(id), err
}

// stateBuild builds a state from batches of accounts.
type stateBuild struct {
	bulk     *state.Bulk
	accounts *trie.Builder
	storage  *trie.Builder
	rows     *state.BulkRows
	hashes   []common.Hash // of the batch's accounts
	leaf     []byte
}

// accountRows is the trie.Sink of the account trie.
type accountRows struct{ *state.BulkRows }

// PutBranch implements trie.Sink.
func (r accountRows) PutBranch(_ uint32, p trie.Path, br trie.Branch) error {
	return r.PutAccountBranch(p, br)
}

// DeleteBranch implements trie.Sink. A build deletes nothing.
func (r accountRows) DeleteBranch(uint32, trie.Path) error { return errors.ErrUnsupported }

// PutBranch implements trie.Sink for the storage tries.
func (b *stateBuild) PutBranch(tag uint32, p trie.Path, br trie.Branch) error {
	return b.rows.PutStorageBranch(&b.hashes[tag], p, br)
}

// DeleteBranch implements trie.Sink. A build deletes nothing.
func (b *stateBuild) DeleteBranch(uint32, trie.Path) error { return errors.ErrUnsupported }

func (b *stateBuild) batch(entries []allocEntry, alloc map[common.Address]types.Account) error {
	b.hashes = b.hashes[:0]
	for i := range entries {
		b.hashes = append(b.hashes, entries[i].hash)
	}
	b.storage.Reset()
	ids := make([]int, len(entries))
	for i, e := range entries {
		id, err := b.storageTrie(uint32(i), e, alloc[e.addr].Storage)
		if err != nil {
			return fmt.Errorf("account %s: %w", e.addr, err)
		}
		ids[i] = id
	}
	if err := b.storage.Flush(); err != nil {
		return err
	}
	for i, e := range entries {
		if err := b.account(e, alloc[e.addr], b.storage.Root(ids[i])); err != nil {
			return fmt.Errorf("account %s: %w", e.addr, err)
		}
	}
	return nil
}

// storageTrie starts one storage trie. A slot of value zero does not exist.
func (b *stateBuild) storageTrie(tag uint32, e allocEntry, slots map[common.Hash]common.Hash) (
	int, error) {
	type slot struct{ hash, value common.Hash }
	sorted := make([]slot, 0, len(slots))
	for k, v := range slots {
		if v != (common.Hash{}) {
			sorted = append(sorted, slot{keccak.Sum(k[:]), v})
		}
	}
	slices.SortFunc(sorted, func(a, b slot) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	b.storage.Begin(tag)
	for i := range sorted {
		s := &sorted[i]
		if err := b.bulk.Slot(e.hash, s.hash, s.value); err != nil {
			return 0, err
		}
		if err := b.storage.Leaf(&s.hash, state.EncodeSlot(s.value)); err != nil {
			return 0, err
		}
	}
	return b.storage.End()
}

func (b *stateBuild) account(e allocEntry, from types.Account, root common.Hash) error {
	a := state.NewAccount()
	a.Nonce, a.StorageRoot = from.Nonce, root
	if from.Balance != nil {
		balance, overflow := uint256.FromBig(from.Balance)
		if overflow || from.Balance.Sign() < 0 {
			return fmt.Errorf("balance %s is not a number of 256 bits", from.Balance)
		}
		a.Balance = *balance
	}
	if len(from.Code) > 0 {
		a.CodeHash = keccak.Sum(from.Code)
		if err := b.bulk.Code(from.Code); err != nil {
			return err
		}
	}
	if err := b.bulk.Account(e.hash, &a); err != nil {
		return err
	}
	b.leaf = a.AppendFull(b.leaf[:0])
	return b.accounts.Leaf(&e.hash, b.leaf)
}
