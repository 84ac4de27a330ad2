package endtoend

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// bothWays runs a test once for each way to apply blocks.
func bothWays(t *testing.T, name string, f func(*testing.T, balsa.Apply)) {
	t.Helper()
	if name != "" {
		name += ", "
	}
	for _, how := range []balsa.Apply{balsa.ApplyBulk, balsa.ApplyJournaled} {
		t.Run(name+how.String(), func(t *testing.T) { f(t, how) })
	}
}

// Rows hold the reverse diffs, so equal rows are equal values before and after.
func TestBothWaysLeaveTheSameRowsInEveryFamily(t *testing.T) {
	for _, family := range chaingen.FamilyNames() {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			c := generate(t, family, 12, unlessRace(10, 3), unlessRace(60, 12))
			bulk := newNode(t, c, 2)
			bulk.apply(c.Blocks...)
			for _, workers := range []int{1, 3} {
				n := newNodeAt(t, genesisOf(c), memory(balsa.ApplyJournaled, workers))
				n.apply(c.Blocks...)
				sameRows(t, n.rows(), bulk.rows())
				if _, err := n.engine.Rewind(t.Context(), c.Blocks[1].Hash()); err != nil {
					t.Fatal(err)
				}
				n.apply(c.Blocks[2:]...)
				sameRows(t, n.rows(), bulk.rows())
			}
		})
	}
}

// ways are two engines on the same state, one for each way.
type ways [2]*node

func newWays(t *testing.T, pre chaingen.State) (w ways, genesis balsa.Genesis) {
	t.Helper()
	h := header(0, common.Hash{}, stateRoot(t, pre), bal.Empty)
	genesis = balsa.Genesis{ChainID: 7, Header: h, Alloc: allocOf(pre)}
	for i, how := range []balsa.Apply{balsa.ApplyBulk, balsa.ApplyJournaled} {
		w[i] = newNodeAt(t, genesis, memory(how, 2))
	}
	return w, genesis
}

// apply gives both the same block. They have to do the same: change as much, or reject it for the
// same reason, with the same root if that is the reason.
func (w ways) apply(t *rapid.T, b balsa.Block) error {
	var done [2]balsa.Applied
	var errs [2]error
	for i, n := range w {
		done[i], errs[i] = n.engine.Apply(n.t.Context(), b)
		done[i].Request, done[i].Phases = 0, balsa.Applied{}.Phases
	}
	if done[0] != done[1] {
		t.Fatalf("bulk: %+v, journaled: %+v", done[0], done[1])
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		t.Fatalf("bulk: %v, journaled: %v", errs[0], errs[1])
	}
	for _, reason := range []error{balsa.ErrWrongRoot, balsa.ErrOrphanSlot} {
		if errors.Is(errs[0], reason) != errors.Is(errs[1], reason) {
			t.Fatalf("bulk: %v, journaled: %v", errs[0], errs[1])
		}
	}
	var wrong [2]*balsa.WrongRootError
	if errors.As(errs[0], &wrong[0]) && errors.As(errs[1], &wrong[1]) &&
		wrong[0].Error() != wrong[1].Error() {
		t.Fatalf("bulk: %v, journaled: %v", wrong[0], wrong[1])
	}
	return errs[0]
}

// outcome is what the rule says of a list on a state: the state after it, or that it leaves a slot
// to an absent account.
func outcome(pre chaingen.State, list []bal.AccountChanges) (post chaingen.State, orphan bool) {
	post = with(pre, nil)
	for i := range list {
		c := &list[i]
		if !c.Changed() {
			continue
		}
		a := chaingen.Account{Storage: map[common.Hash]common.Hash{}}
		if was := pre[c.Address]; was != nil {
			a.Nonce, a.Balance, a.Code = was.Nonce, was.Balance, was.Code
			for k, v := range was.Storage {
				a.Storage[k] = v
			}
		}
		if n := len(c.NonceChanges); n > 0 {
			a.Nonce = c.NonceChanges[n-1].Nonce
		}
		if n := len(c.BalanceChanges); n > 0 {
			a.Balance = c.BalanceChanges[n-1].Balance
		}
		if n := len(c.CodeChanges); n > 0 {
			a.Code = c.CodeChanges[n-1].Code
		}
		set := false
		for _, s := range c.StorageChanges {
			v := s.Changes[len(s.Changes)-1].Value
			if a.Storage[s.Slot] = v; v == (common.Hash{}) {
				delete(a.Storage, s.Slot)
			}
			set = set || v != common.Hash{}
		}
		post[c.Address] = &a
		if a.Nonce == 0 && a.Balance.IsZero() && len(a.Code) == 0 {
			orphan = orphan || set
			delete(post, c.Address)
		}
	}
	return post, orphan
}

// randomList draws a list over few accounts and slots, with few values, so that much of it changes
// nothing, empties something, or comes again.
func randomList(t *rapid.T) (list []bal.AccountChanges) {
	small := rapid.Uint64Range(0, 2)
	some := func(name string) []uint64 {
		return rapid.SliceOfN(small, 0, 3).Draw(t, name)
	}
	for i := range uint64(8) {
		if !rapid.Bool().Draw(t, "listed") {
			continue
		}
		c := bal.AccountChanges{Address: addr(i + 1)}
		for n, v := range some("balances") {
			c.BalanceChanges = append(c.BalanceChanges,
				bal.BalanceChange{Index: uint32(n), Balance: *uint256.NewInt(v)})
		}
		for n, v := range some("nonces") {
			c.NonceChanges = append(c.NonceChanges, bal.NonceChange{Index: uint32(n), Nonce: v})
		}
		for n, v := range some("codes") {
			c.CodeChanges = append(c.CodeChanges,
				bal.CodeChange{Index: uint32(n), Code: []byte("code")[:v]})
		}
		for slot := range uint64(4) {
			values := some("values")
			if len(values) == 0 {
				continue
			}
			s := bal.SlotChanges{Slot: word(slot)}
			for n, v := range values {
				s.Changes = append(s.Changes, bal.StorageChange{Index: uint32(n), Value: word(v)})
			}
			c.StorageChanges = append(c.StorageChanges, s)
		}
		list = append(list, c)
	}
	return list
}

// The states and roots are those of the rule and of go-ethereum; where a header says otherwise,
// both ways say what they got instead.
func TestBothWaysDoTheSameWithRandomLists(t *testing.T) {
	pre := chaingen.State{
		addr(1): acc(0, 2, ""), addr(2): acc(1, 0, "co", 1, 1, 2, 2), addr(3): acc(0, 1, "", 0, 1),
		addr(4): acc(0, 0, "", 1, 2), addr(5): acc(2, 2, "c", 0, 2, 1, 1, 2, 1, 3, 2),
	}
	w, genesis := newWays(t, pre)
	rapid.Check(t, func(rt *rapid.T) {
		for _, n := range w {
			if _, err := n.engine.Rewind(t.Context(), genesis.Header.Hash()); err != nil {
				rt.Fatal(err)
			}
		}
		at, parent := pre, genesis.Header
		for range rapid.IntRange(1, 4).Draw(rt, "blocks") {
			list := randomList(rt)
			raw := bal.Encode(&bal.AccessList{Accounts: list})
			post, orphan := outcome(at, list)
			h := header(parent.Number.Uint64()+1, parent.Hash(), common.Hash{1}, raw)
			b := balsa.Block{Header: h, BAL: raw, Transactions: transactions}
			err := w.apply(rt, b)
			if orphan {
				if !errors.Is(err, balsa.ErrOrphanSlot) {
					rt.Fatalf("a slot is left to an absent account: %v", err)
				}
				continue
			}
			if !errors.Is(err, balsa.ErrWrongRoot) {
				rt.Fatalf("a wrong root: %v", err)
			}
			h.Root = stateRoot(t, post)
			if err := w.apply(rt, b); err != nil {
				rt.Fatal(err)
			}
			at, parent = post, h
		}
	})
	sameRows(t, w[1].rows(), w[0].rows())
}

func memory(how balsa.Apply, workers int) balsa.Options {
	return balsa.Options{FS: state.MemFS(), Workers: workers, Apply: how}
}
