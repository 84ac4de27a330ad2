package endtoend

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// branch is a chain with go-ethereum's states of all its blocks, read once.
type branch struct {
	*chaingen.Chain
	states []chaingen.State
	// all are all accounts that any block has, with all slots that they have in any.
	all map[common.Address]*chaingen.Account
}

func newBranch(t *testing.T, c *chaingen.Chain) *branch {
	t.Helper()
	b := &branch{Chain: c, all: map[common.Address]*chaingen.Account{}}
	ref := chaingen.Reference(c)
	for i := range len(c.Blocks) + 1 {
		s, err := ref.At(uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		b.states = append(b.states, s)
		for addr, a := range s {
			if b.all[addr] == nil {
				b.all[addr] = &chaingen.Account{Storage: map[common.Hash]common.Hash{}}
			}
			for k, v := range a.Storage {
				b.all[addr].Storage[k] = v
			}
		}
	}
	return b
}

// checkPast holds the state at a block against go-ethereum's: accounts, slots, codes, and proofs
// against the header's root. some says which accounts are looked at.
func (b *branch) checkPast(t *testing.T, e *balsa.Engine, number uint64, some func() bool) {
	t.Helper()
	block, err := b.Block(number)
	if err != nil {
		t.Fatal(err)
	}
	view, err := e.ViewAt(t.Context(), number)
	if err != nil {
		t.Fatalf("block %d: %v", number, err)
	}
	defer view.Close()
	if c := view.Cursor(); c.Hash != block.Hash() || c.Number != number || c.Root != block.Root() {
		t.Fatalf("the view at block %d is of %v", number, c)
	}
	for addr, ever := range b.all {
		if !some() {
			continue
		}
		want := b.states[number][addr]
		checkAccount(t, view, addr, want)
		for slot := range ever.Storage {
			value := common.Hash{}
			if want != nil {
				value = want.Storage[slot]
			}
			if got, err := view.Storage(addr, slot); err != nil || got != value {
				t.Fatalf("block %d, account %s, slot %s: %s, %v, want %s", number, addr, slot, got, err,
					value)
			}
		}
		checkProof(t, view, block.Root(), addr, ever, want)
	}
}

func checkAccount(t *testing.T, view *balsa.View, addr common.Address, want *chaingen.Account) {
	t.Helper()
	a, ok, err := view.Account(addr)
	if err != nil || ok != (want != nil) {
		t.Fatalf("%v, account %s: present %v, %v", view.Cursor(), addr, ok, err)
	}
	code, err := view.Code(addr)
	if err != nil {
		t.Fatal(err)
	}
	if want == nil {
		want = &chaingen.Account{}
	}
	if a.Nonce != want.Nonce || a.Balance != want.Balance || !bytes.Equal(code, want.Code) {
		t.Fatalf("%v, account %s: %+v with code %x, want %+v", view.Cursor(), addr, a, code, want)
	}
}

// Whatever blocks were applied and undone before, the state at every block of the branch is
// go-ethereum's.
func TestEveryBlocksStateCanBeReadAcrossReorgs(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3}[:unlessRace(3, 1)] {
		rng := rand.New(rand.NewPCG(seed, 7))
		a := newBranch(t, generate(t, "mix", 30+seed, 14, 6))
		at := 3 + rng.Uint64N(8)
		b := newBranch(t, fork(t, a.Chain, at, "storage", 6))
		c := newBranch(t, fork(t, a.Chain, at-2, "create-destroy", 5))
		n := newNode(t, a.Chain, 2)
		now, top := a, uint64(0)
		check := func() {
			for number := range top + 1 {
				now.checkPast(t, n.engine, number, func() bool { return rng.IntN(3) == 0 })
			}
		}
		n.apply(a.Blocks[:10]...)
		top = 10
		check()
		for _, next := range []*branch{b, c, a} {
			common := min(at-2, top)
			if next == b {
				common = min(at, top)
			}
			n.rewind(now.Chain, common)
			n.apply(next.Blocks[common:]...)
			now, top = next, uint64(len(next.Blocks))
			check()
		}
		n.verify()
	}
}

// Every family is read at each block that it was applied in.
func TestEveryFamiliesPastIsGoEthereums(t *testing.T) {
	for _, family := range chaingen.FamilyNames() {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			b := newBranch(t, generate(t, family, 17, unlessRace(6, 3), unlessRace(8, 4)))
			n := newNode(t, b.Chain, 1)
			n.apply(b.Blocks...)
			for number := range b.states {
				b.checkPast(t, n.engine, uint64(number), func() bool { return true })
			}
		})
	}
}

func TestAPastViewStaysAsItIs(t *testing.T) {
	b := newBranch(t, generate(t, "mix", 5, 9, 6))
	n := newNode(t, b.Chain, 2)
	n.apply(b.Blocks[:6]...)
	view, err := n.engine.ViewAtHash(t.Context(), b.Blocks[2].Hash())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	n.apply(b.Blocks[6:]...)
	for addr, ever := range b.all {
		checkAccount(t, view, addr, b.states[3][addr])
		checkProof(t, view, b.Blocks[2].Root(), addr, ever, b.states[3][addr])
	}
}

func TestBlocksThatCannotBeViewed(t *testing.T) {
	a := generate(t, "mix", 21, 6, 8)
	other := fork(t, a, 3, "mix", 2)
	n := newNode(t, a, 1)
	n.apply(a.Blocks[:5]...)
	for what, hash := range map[string]common.Hash{
		"of another branch": other.Blocks[4].Hash(), "ahead": a.Blocks[5].Hash(), "unknown": anyHash,
	} {
		if _, err := n.engine.ViewAtHash(t.Context(), hash); !errors.Is(err, balsa.ErrUnknownBlock) {
			t.Errorf("a block %s: %v", what, err)
		}
	}
	if _, err := n.engine.ViewAt(t.Context(), 6); !errors.Is(err, balsa.ErrUnknownBlock) {
		t.Errorf("above the cursor: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.engine.ViewAt(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	// A store that begins at a later block knows nothing of those before.
	at2, err := chaingen.Reference(a).At(2)
	if err != nil {
		t.Fatal(err)
	}
	late := newNodeAt(t,
		balsa.Genesis{ChainID: 1, Header: a.Blocks[1].Header(), Alloc: allocOf(at2)},
		balsa.Options{FS: state.MemFS(), Workers: 1})
	late.apply(a.Blocks[2:4]...)
	if _, err := late.engine.ViewAt(t.Context(), 1); !errors.Is(err, balsa.ErrNoHistory) {
		t.Errorf("below the first block: %v", err)
	}
	for number := range uint64(3) {
		view, err := late.engine.ViewAt(t.Context(), 2+number)
		if err == nil {
			err = view.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
}
