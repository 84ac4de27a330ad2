package balactor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/actors/actorstest"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// many is more items than any test lets a job come to.
const many = 200_000

var errWhy = errors.New("planted reason")

// tap ends a context at the n-th item that goes through it.
type tap struct {
	n, seen int
	end     context.CancelCauseFunc
}

func newTap(n int) (context.Context, *tap) {
	ctx, end := context.WithCancelCause(context.Background())
	return ctx, &tap{n: n, end: end}
}

func (p *tap) item() {
	if p.seen++; p.seen == p.n {
		p.end(errWhy)
	}
}

// check says that the work was given up soon behind the n-th item.
func (p *tap) check(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrGivenUp) || !errors.Is(err, errWhy) || errors.Is(err, state.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	if p.seen < p.n || p.seen > p.n+wantedEvery {
		t.Errorf("%d items, given up at %d", p.seen, p.n)
	}
}

// tapped is a parent whose accounts have more slots and branches than can be counted.
type tapped struct {
	account     state.Account
	slots, trie *tap
}

func (p tapped) Account(*common.Hash) (state.Account, bool, error) { return p.account, true, nil }
func (p tapped) HasCode(common.Hash) (bool, error)                 { return true, nil }

func (p tapped) Slot(_, _ *common.Hash) ([]byte, error) {
	if p.slots != nil {
		p.slots.item()
	}
	return []byte{1}, nil
}

func (p tapped) EachSlot(_ common.Hash, f func(common.Hash, []byte) error) error {
	for i := range many {
		p.slots.item()
		if err := f(key(i), []byte{1}); err != nil {
			return err
		}
	}
	return nil
}

func (p tapped) StorageTrie(common.Hash) trie.Reader { return p }

// FirstBranch makes up branches with sixteen children, five deep.
func (p tapped) FirstBranch(at trie.Path) (trie.Path, trie.Branch, bool, error) {
	p.trie.item()
	b := trie.Branch{Mask: 0xffff}
	if at.Len < 4 {
		b.Sub = 0xffff
	}
	ref := append([]byte{0xa0}, make([]byte, 32)...)
	b.Refs = bytes.Repeat(ref, 16)
	return at, b, true, nil
}

func (p tapped) FirstLeaf(trie.Path) (common.Hash, []byte, bool, error) {
	return common.Hash{}, nil, false, errors.New("no leaf was to be read")
}

// key is the i-th of many ascending hashes that lie all over the tries.
func key(i int) (h common.Hash) {
	binary.BigEndian.PutUint32(h[:], uint32(i)*(1<<32/many))
	return h
}

func largeJob(ctx context.Context) *messages.UpdateStorage {
	t := messages.AccountTarget{Hash: common.Hash{1}, Address: common.Address{1}}
	for i := range many {
		t.Slots = append(t.Slots, messages.SlotTarget{Hash: key(i), Value: []byte{2}})
	}
	return &messages.UpdateStorage{Ctx: ctx, Targets: []messages.AccountTarget{t}}
}

func contract() state.Account {
	a := state.NewAccount()
	a.Nonce, a.StorageRoot = 1, common.Hash{1}
	return a
}

// noClock is for jobs whose times are of no interest.
func noClock() time.Time { return time.Time{} }

func TestAJobIsGivenUpAmongItsSlots(t *testing.T) {
	ctx, p := newTap(2500)
	_, err := updateStorage(newUpdater(), tapped{contract(), p, nil}, largeJob(ctx), noClock)
	p.check(t, err)
}

func TestAJobIsGivenUpAmongTheSlotsOfAnAccountThatGoes(t *testing.T) {
	ctx, p := newTap(2500)
	m := largeJob(ctx)
	m.Targets[0].Nonce, m.Targets[0].Slots = new(uint64), nil
	_, err := updateStorage(newUpdater(), tapped{contract(), p, nil}, m, noClock)
	p.check(t, err)
}

func TestAJobIsGivenUpAmongTheBranchesOfATrie(t *testing.T) {
	ctx, p := newTap(2500)
	_, err := updateStorage(newUpdater(), tapped{contract(), nil, p}, largeJob(ctx), noClock)
	p.check(t, err)
}

// A trie that is all new is not read: its rows are where it is given up.
func TestAJobIsGivenUpAmongTheRowsOfANewTrie(t *testing.T) {
	ctx, p := newTap(1)
	u, reads := newUpdater(), 0
	clock := func() time.Time {
		if reads++; reads == 2 { // all is read, the tries begin
			p.item()
		}
		return time.Time{}
	}
	a := contract()
	a.StorageRoot = trie.EmptyRoot
	_, err := updateStorage(u, tapped{a, nil, nil}, largeJob(ctx), clock)
	p.check(t, err)
	if n := len(u.sink.rows); n > wantedEvery {
		t.Errorf("%d rows", n)
	}
}

func TestABlockIsGivenUpAmongItsTargets(t *testing.T) {
	ctx, p := newTap(1)
	p.item()
	w := &wanted{ctx: ctx}
	one := []bal.PostAccount{{Slots: make([]bal.PostSlot, many)}}
	for _, post := range [][]bal.PostAccount{one, make([]bal.PostAccount, many)} {
		w.items = 0
		_, err := targetsOf(post, w)
		p.check(t, err)
		if w.items > wantedEvery {
			t.Errorf("%d items", w.items)
		}
	}
}

// endOn returns a context, and a hook that ends it at the n-th message of type T.
func endOn[T any](n int) (context.Context, func(any)) {
	ctx, p := newTap(n)
	return ctx, func(m any) {
		if _, ok := m.(T); ok {
			p.item()
		}
	}
}

// Whatever a block has come to, it is not committed any more, and may be sent again.
func TestABlockThatIsGivenUpLeavesTheStoreAsItIs(t *testing.T) {
	over, end := context.WithCancelCause(t.Context())
	end(errWhy)
	kept, onStorage := endOn[*messages.StorageUpdated](1)
	split, onPart := endOn[*messages.AccountsUpdated](2)
	for name, c := range map[string]struct {
		ctx  context.Context
		hook func(any)
	}{
		"before it is begun":          {over, nil},
		"when the first job is done":  {kept, onStorage},
		"when the account trie is up": {split, onPart},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{Workers: 2}, c.hook)
			first := r.block(20)
			if c.hook != nil { // the account trie is updated in parts where it has a branch
				r.send(first)
				actorstest.Expect[*messages.BlockApplied](t, r.probe)
			}
			before, _ := r.store.Cursor()
			b := r.block(400)
			b.Header.Number = new(big.Int).SetUint64(before.Number + 1)
			b.Header.ParentHash = before.Hash
			again := *b
			b.Ctx = c.ctx
			r.send(b)
			m := actorstest.Expect[*messages.BlockRejected](t, r.probe)
			if !errors.Is(m.Err, ErrGivenUp) || !errors.Is(m.Err, errWhy) {
				t.Fatalf("error %v", m.Err)
			}
			if at, _ := r.store.Cursor(); at != before {
				t.Fatalf("the cursor moved to %v", at)
			}
			r.send(&again)
			actorstest.Expect[*messages.BlockApplied](t, r.probe)
		})
	}
}

func TestARewindThatIsGivenUpStopsBetweenBlocks(t *testing.T) {
	ctx, hook := endOn[*messages.StorageUpdated](5) // three blocks are applied, one is undone
	r := newRig(t, Options{Workers: 1}, hook)
	cursors := []state.Cursor{{Hash: r.genesis.Hash(), Root: trie.EmptyRoot}}
	for n := range 3 {
		b := r.block(n + 1)
		b.Header.Number, b.Header.ParentHash = big.NewInt(int64(n+1)), cursors[n].Hash
		zero := uint64(0) // the store reads the header again, which has to be whole then
		b.Header.Difficulty, b.Header.BaseFee = new(big.Int), new(big.Int)
		b.Header.WithdrawalsHash, b.Header.RequestsHash = &common.Hash{}, &common.Hash{}
		b.Header.BlobGasUsed, b.Header.ExcessBlobGas = &zero, &zero
		b.Header.ParentBeaconRoot = &common.Hash{}
		r.send(b)
		m := actorstest.Expect[*messages.BlockApplied](t, r.probe)
		cursors = append(cursors, state.Cursor{Number: m.Number, Hash: m.Hash, Root: m.Root})
	}
	r.send(&messages.Rewind{To: r.genesis.Hash(), Ctx: ctx, ReplyTo: r.probe.PID})
	m := actorstest.Expect[*messages.RewindRejected](t, r.probe)
	if !errors.Is(m.Err, ErrGivenUp) || m.Cursor != cursors[2] {
		t.Fatalf("%+v, the blocks were %v", m, cursors)
	}
	r.send(&messages.Rewind{To: r.genesis.Hash(), ReplyTo: r.probe.PID})
	if m := actorstest.Expect[*messages.Rewound](t, r.probe); m.Cursor != cursors[0] {
		t.Fatalf("%+v", m)
	}
}
