package balactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie/classic"
)

// replayer computes a block's state root the shadow's way (D4): a journaled world state takes the
// block access list index by index, and classic tries take what it says has changed. Of the
// canonical way it uses the list's decoder and the store's read side, nothing else.
type replayer struct {
	state  *world.State
	hasher world.Hasher
	events []event
	fault  func(*world.Changes) // for tests
}

// replay does all of it. It does not close m's snapshot.
func (r *replayer) replay(ctx context.Context, m *messages.CompareRoot) (
	out *messages.BlockReplayed) {
	out = &messages.BlockReplayed{Request: m.Request}
	if r.hasher == nil {
		r.hasher = world.NewScalar()
	}
	list, err := r.decode(m)
	if err != nil {
		out.Refused = err
		return out
	}
	reader, err := m.Parent.NewReader()
	if err != nil {
		out.Err = err
		return out
	}
	defer func() { out.Err = errors.Join(out.Err, reader.Close()) }()
	changes, err := r.changes(ctx, reader, m.Parent, list)
	switch {
	case errors.Is(err, world.ErrBalance), errors.Is(err, world.ErrOrphanSlot):
		out.Refused = err
		return out
	case err != nil:
		out.Err = err
		return out
	}
	if r.fault != nil {
		r.fault(changes)
	}
	cursor, _ := m.Parent.Cursor()
	if out.Root, out.Err = stateRoot(ctx, reader, cursor.Root, changes); out.Err != nil {
		return out
	}
	if out.Root != m.Root {
		out.Differs = firstDifference(m.Accounts, changes.Accounts)
	}
	return out
}

// decode checks the list against its header again, with the shadow's own hash.
func (r *replayer) decode(m *messages.CompareRoot) (*bal.AccessList, error) {
	if got := r.hasher.Sum(m.BAL); got != *m.Header.BlockAccessListHash {
		return nil, fmt.Errorf("%w: the header has %s, the list %s", ErrBALHash,
			*m.Header.BlockAccessListHash, got)
	}
	return bal.Decode(m.BAL, bal.Limits{
		GasLimit: m.Header.GasLimit, Transactions: m.Transactions,
	})
}

// changes applies the list to the parent's state.
func (r *replayer) changes(ctx context.Context, reader *state.Reader, sn *state.Snapshot,
	list *bal.AccessList) (*world.Changes, error) {
	p := worldParent{reader, sn}
	if r.state == nil {
		r.state = world.New(p, r.hasher)
	} else {
		r.state.Reset(p)
	}
	if err := r.warm(ctx, p, list); err != nil {
		return nil, err
	}
	r.order(list)
	for i := range r.events {
		e := &r.events[i]
		if i == 0 || e.index() != r.events[i-1].index() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r.state.Snapshot()
		}
		if err := r.apply(e, &list.Accounts[e.account]); err != nil {
			return nil, err
		}
	}
	return r.state.Commit()
}

// warm reads what the list changes, in the order of keys.
func (r *replayer) warm(ctx context.Context, p worldParent, list *bal.AccessList) error {
	type key struct {
		hash common.Hash
		at   int
	}
	byHash := func(a, b key) int { return bytes.Compare(a.hash[:], b.hash[:]) }
	var accounts, slots []key
	for i := range list.Accounts {
		if a := &list.Accounts[i]; a.Changed() {
			accounts = append(accounts, key{r.hasher.Sum(a.Address[:]), i})
		}
	}
	slices.SortFunc(accounts, byHash)
	r.state.Grow(len(accounts), list.SlotsChanged())
	for _, k := range accounts {
		if err := ctx.Err(); err != nil {
			return err
		}
		a := &list.Accounts[k.at]
		pre, existed, err := p.Account(k.hash)
		if err != nil {
			return err
		}
		r.state.WarmAccount(a.Address, k.hash, pre, existed)
		if pre.StorageRoot == world.EmptyRoot {
			continue
		}
		slots = slots[:0]
		for j := range a.StorageChanges {
			slots = append(slots, key{r.hasher.Sum(a.StorageChanges[j].Slot[:]), j})
		}
		slices.SortFunc(slots, byHash)
		for _, s := range slots {
			value, err := p.Slot(k.hash, s.hash)
			if err != nil {
				return err
			}
			r.state.WarmSlot(a.Address, a.StorageChanges[s.at].Slot, s.hash, value)
		}
	}
	return nil
}

// event is one change of one field or slot after one block access index.
type event struct {
	order   uint64 // the index, then the place in the list
	account int32  // in the list
	kind    eventKind
	slot    int32 // in the account's StorageChanges
	at      int32 // in the changes of the field or slot
}

type eventKind uint8

const (
	eventBalance eventKind = iota
	eventNonce
	eventCode
	eventSlot
)

func (e *event) index() uint32 { return uint32(e.order >> 32) }

// order takes the list apart and puts its changes into the order in which the block made them.
func (r *replayer) order(list *bal.AccessList) {
	r.events = r.events[:0]
	for i := range list.Accounts {
		a := &list.Accounts[i]
		add := func(index uint32, kind eventKind, slot, at int) {
			r.events = append(r.events, event{
				order:   uint64(index)<<32 | uint64(len(r.events)),
				account: int32(i), kind: kind, slot: int32(slot), at: int32(at),
			})
		}
		for j := range a.BalanceChanges {
			add(a.BalanceChanges[j].Index, eventBalance, 0, j)
		}
		for j := range a.NonceChanges {
			add(a.NonceChanges[j].Index, eventNonce, 0, j)
		}
		for j := range a.CodeChanges {
			add(a.CodeChanges[j].Index, eventCode, 0, j)
		}
		for s := range a.StorageChanges {
			for j := range a.StorageChanges[s].Changes {
				add(a.StorageChanges[s].Changes[j].Index, eventSlot, s, j)
			}
		}
	}
	slices.SortFunc(r.events, func(a, b event) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
}

// apply makes one change. Empty accounts are swept at the end of the block: see package world.
func (r *replayer) apply(e *event, a *bal.AccountChanges) error {
	switch e.kind {
	case eventBalance:
		have, err := r.state.GetBalance(a.Address)
		if err != nil {
			return err
		}
		want, d := &a.BalanceChanges[e.at].Balance, new(uint256.Int)
		if want.Lt(&have) {
			return r.state.SubBalance(a.Address, d.Sub(&have, want))
		}
		return r.state.AddBalance(a.Address, d.Sub(want, &have))
	case eventNonce:
		return r.state.SetNonce(a.Address, a.NonceChanges[e.at].Nonce)
	case eventCode:
		return r.state.SetCode(a.Address, a.CodeChanges[e.at].Code)
	}
	s := &a.StorageChanges[e.slot]
	return r.state.SetState(a.Address, s.Slot, s.Changes[e.at].Value)
}

// stateRoot updates the storage tries of what changed, then the account trie. It sets the storage
// roots in the changes.
func stateRoot(ctx context.Context, reader *state.Reader, root common.Hash,
	changes *world.Changes) (common.Hash, error) {
	accounts, err := classic.Open(root, trieSource{reader.AccountTrie()})
	if err != nil {
		return common.Hash{}, fmt.Errorf("account trie: %w", err)
	}
	for i := range changes.Accounts {
		if err := ctx.Err(); err != nil {
			return common.Hash{}, err
		}
		a := &changes.Accounts[i]
		if err := storageRoot(reader, a); err != nil {
			return common.Hash{}, fmt.Errorf("account %s: storage trie: %w", a.Address, err)
		}
		var before, after []byte
		if a.Existed {
			before = accountRLP(&a.Pre)
		}
		if a.Exists {
			after = accountRLP(&a.Post)
		}
		if err := accounts.Change(a.Hash, before, after); err != nil {
			return common.Hash{}, fmt.Errorf("account %s: account trie: %w", a.Address, err)
		}
	}
	return accounts.Hash()
}

var errStorageLeft = errors.New("an account that goes away leaves storage")

func storageRoot(reader *state.Reader, a *world.AccountChange) error {
	if len(a.Slots) == 0 {
		return nil
	}
	t, err := classic.Open(a.Pre.StorageRoot, trieSource{reader.StorageTrie(a.Hash)})
	if err != nil {
		return err
	}
	for i := range a.Slots {
		s := &a.Slots[i]
		if err := t.Change(s.Hash, slotRLP(&s.Pre), slotRLP(&s.Post)); err != nil {
			return err
		}
	}
	if a.Post.StorageRoot, err = t.Hash(); err != nil {
		return err
	}
	if !a.Exists && a.Post.StorageRoot != world.EmptyRoot {
		return errStorageLeft
	}
	return nil
}

// accountRLP is an account's leaf.
func accountRLP(a *world.Account) []byte {
	enc, err := rlp.EncodeToBytes(gethAccount(a))
	if err != nil {
		panic(err) // no account fails
	}
	return enc
}

func gethAccount(a *world.Account) *types.StateAccount {
	return &types.StateAccount{
		Nonce: a.Nonce, Balance: &a.Balance, Root: a.StorageRoot, CodeHash: a.CodeHash[:],
	}
}

// slotRLP is a slot's leaf, nil where the slot is zero.
func slotRLP(v *common.Hash) []byte {
	value := common.TrimLeftZeroes(v[:])
	switch {
	case len(value) == 0:
		return nil
	case len(value) == 1 && value[0] < 0x80:
		return value
	}
	return append(append(make([]byte, 0, 1+len(value)), 0x80+byte(len(value))), value...)
}

// firstDifference finds the first account that both sides leave differently.
func firstDifference(canonical []state.AccountWrite,
	shadow []world.AccountChange) *messages.AccountDifference {
	for len(canonical)+len(shadow) > 0 {
		order := 0
		switch {
		case len(shadow) == 0:
			order = -1
		case len(canonical) == 0:
			order = 1
		default:
			order = canonical[0].Hash.Cmp(shadow[0].Hash)
		}
		d := &messages.AccountDifference{}
		if order <= 0 {
			d.Hash, d.Canonical = canonical[0].Hash, canonical[0].Post
			canonical = canonical[1:]
		}
		if order >= 0 {
			a := &shadow[0]
			d.Hash, d.Address = a.Hash, a.Address
			if a.Exists {
				d.Shadow = types.SlimAccountRLP(*gethAccount(&a.Post))
			}
			shadow = shadow[1:]
		}
		if order != 0 || !bytes.Equal(d.Canonical, d.Shadow) {
			return d
		}
	}
	return nil
}
