package endtoend

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// in counts the rows of a key space.
func in(rows map[string]string, space byte) (n int) {
	for k := range rows {
		if k[0] == space {
			n++
		}
	}
	return n
}

func TestTheEmptyListLeavesTheRoot(t *testing.T) {
	for _, pre := range []chaingen.State{{}, others(40)} {
		h := newHandmade(t, pre, 2)
		b := h.extend(pre)
		if string(b.BAL) != "\xc0" || b.Header.Root != h.headers[0].Root {
			t.Fatalf("list %x, root %s after %s", b.BAL, b.Header.Root, h.headers[0].Root)
		}
		h.check()
	}
}

// An account that went away with its slots and comes back has only the slots it gets then.
func TestAnAccountThatComesBackHasNoneOfItsOldSlots(t *testing.T) {
	pre := with(others(5), one(acc(0, 9, "", 1, 1, 2, 2, 3, 3, 4, 4)))
	h := newHandmade(t, pre, 2)
	start := h.rows()
	gone := with(pre, chaingen.State{addr(2): nil})
	h.extend(gone, row(addr(2), balance(1, 0)))
	h.check()
	back := with(gone, one(acc(1, 5, contract, 3, 33, 9, 9)))
	h.extend(back, row(addr(2), writes(3, 1, 33), writes(9, 1, 9), balance(1, 5), nonce(1, 1),
		code(1, contract)))
	h.check()
	h.backTo(1)
	h.check()
	h.backTo(0)
	h.check()
	sameRows(t, h.rows(), start)
}

// Tries shrink to nothing, a leaf at a time, and grow again: every way to lose a last sibling, to
// join an extension with what is above it, and to split it again.
func TestTriesThatCollapseAndGrowAgain(t *testing.T) {
	const seed, size = 5, 24
	rng := rand.New(rand.NewPCG(seed, size))
	order := func() []int { return rng.Perm(size) }

	t.Run("the account trie, from and to no account", func(t *testing.T) {
		h := newHandmade(t, chaingen.State{}, 2)
		empty := h.rows()
		now := chaingen.State{}
		for _, i := range order() {
			a := addr(uint64(i + 1))
			now = with(now, chaingen.State{a: acc(0, uint64(i+1), "")})
			h.extend(now, row(a, balance(1, uint64(i+1))))
		}
		h.check()
		for _, i := range order() {
			a := addr(uint64(i + 1))
			now = with(now, chaingen.State{a: nil})
			h.extend(now, row(a, balance(1, 0)))
		}
		if h.head().Root != types.EmptyRootHash {
			t.Fatal("the state is not empty")
		}
		h.check()
		h.backTo(size) // with all of them
		h.check()
		h.backTo(0)
		sameRows(t, h.rows(), empty)
	})

	t.Run("a storage trie, down to one slot, to none, and up again", func(t *testing.T) {
		slots := map[uint64]uint64{}
		state := func() chaingen.State {
			var pairs []uint64
			for k, v := range slots {
				pairs = append(pairs, k, v)
			}
			return with(others(3), one(acc(1, 0, contract, pairs...)))
		}
		h := newHandmade(t, state(), 2)
		start := h.rows()
		set := func(key, value uint64) {
			slots[key] = value
			if value == 0 {
				delete(slots, key)
			}
			h.extend(state(), row(addr(2), writes(key, 1, value)))
		}
		for round := range uint64(2) {
			for _, i := range order() {
				set(uint64(i), uint64(i)+100*round+1)
			}
			h.check()
			for n, i := range order() {
				set(uint64(i), 0)
				if n == size-2 {
					h.check() // one slot
				}
			}
			h.check() // none
		}
		h.backTo(0)
		sameRows(t, h.rows(), start)
	})
}

// One code under a thousand addresses is one row, whichever workers meet it, also when it comes
// again, and it goes with the block that brought it.
func TestACodeDeployedAThousandTimesIsWrittenOnce(t *testing.T) {
	pre := others(4)
	h := newHandmade(t, pre, 3)
	before := h.rows()
	deploy := func(from, n uint64) {
		post, list := with(h.states[len(h.states)-1], nil), []bal.AccountChanges(nil)
		for i := from; i < from+n; i++ {
			post[addr(i)] = acc(1, 0, "deployed by a factory")
			list = append(list, row(addr(i), nonce(1, 1), code(1, "deployed by a factory")))
		}
		h.extend(post, list...)
	}
	deploy(2000, 1000)
	first := h.rows()
	if got, want := in(first, 'c'), in(before, 'c')+1; got != want {
		t.Fatalf("%d codes, want %d", got, want)
	}
	deploy(5000, 100)
	second := h.rows()
	if got, want := in(second, 'c'), in(first, 'c'); got != want {
		t.Fatalf("%d codes after deploying it again, want %d", got, want)
	}
	h.compare(h.states[2])
	h.backTo(1)
	sameRows(t, h.rows(), first)
	h.backTo(0)
	sameRows(t, h.rows(), before)
}

// A code that the store had before stays when the block that brought it again is undone.
func TestACodeThatOthersHaveSurvivesARewind(t *testing.T) {
	pre := with(others(0), one(acc(1, 0, contract)))
	h := newHandmade(t, pre, 1)
	before := h.rows()
	post := with(pre, chaingen.State{addr(3): acc(0, 0, contract)})
	h.extend(post, row(addr(3), code(1, contract)))
	h.check()
	if got := in(h.rows(), 'c'); got != 1 {
		t.Fatalf("%d codes, want 1", got)
	}
	h.backTo(0)
	h.check()
	sameRows(t, h.rows(), before)
}

// 30,000 accounts are what a gas limit of 60 million allows in one list, and not one more.
func TestAListOfThirtyThousandAccounts(t *testing.T) {
	t.Parallel()
	n := unlessRace(uint64(gasLimit/bal.ItemCost), 3000)
	h := newHandmade(t, others(4), 3)
	before := h.rows()
	full, half, empty := with(others(4), nil), with(others(4), nil), others(4)
	var create, drain, rest []bal.AccountChanges
	for i := range n {
		a := addr(10_000 + i)
		full[a] = acc(0, i+1, "")
		create = append(create, row(a, balance(1, i+1)))
		switch {
		case i%2 == 0:
			drain = append(drain, row(a, balance(2, 0)))
		default:
			half[a] = acc(1, i, "")
			drain = append(drain, row(a, balance(2, i), nonce(2, 1)))
			rest = append(rest, row(a, balance(2, 0), nonce(2, 0)))
		}
	}
	tooMany := h.next(full, append(create, row(addr(90_000)))...)
	tooMany.Header.GasLimit = n * bal.ItemCost
	h.rejects(tooMany, bal.ErrTooManyItems)
	apply := func(post chaingen.State, list []bal.AccountChanges) {
		b := h.next(post, list...)
		b.Header.GasLimit = n * bal.ItemCost
		h.applyTo(post, b)
		h.compare(post)
	}
	apply(full, create)
	apply(half, drain)
	apply(empty, rest)
	h.backTo(1)
	h.compare(full)
	h.backTo(0)
	sameRows(t, h.rows(), before)
}

// One account alone takes 50,000 slots up, down to one, down to none, and up again.
func TestAnAccountWithFiftyThousandSlots(t *testing.T) {
	t.Parallel()
	n := unlessRace(uint64(50_000), 3000)
	empty := with(others(4), one(acc(1, 0, contract)))
	h := newHandmade(t, empty, 3)
	before := h.rows()
	fill := func(from uint64) (*chaingen.Account, bal.AccountChanges) {
		pairs, list := make([]uint64, 0, 2*n), row(addr(2))
		for i := range n {
			pairs = append(pairs, i, from+i)
			writes(i, 1, from+i)(&list)
		}
		return acc(1, 0, contract, pairs...), list
	}
	clear := func(from, to uint64) bal.AccountChanges {
		list := row(addr(2))
		for i := from; i < to; i++ {
			writes(i, 1, 0)(&list)
		}
		return list
	}
	apply := func(a *chaingen.Account, list bal.AccountChanges) {
		post := with(empty, one(a))
		b := h.next(post, list)
		b.Header.GasLimit = bal.ItemCost * (n + 1) // exactly what the list needs
		h.applyTo(post, b)
		h.verify()
	}
	full, list := fill(1)
	apply(full, list)
	apply(acc(1, 0, contract, 0, 1), clear(1, n))
	apply(acc(1, 0, contract), clear(0, 1))
	again, list := fill(1_000_000)
	apply(again, list)
	apply(acc(1, 0, contract), clear(0, n))
	h.backTo(4)
	h.compare(h.states[4])
	h.backTo(0)
	sameRows(t, h.rows(), before)
}

// Blocks that come again, too early, or from elsewhere change nothing, and say why.
func TestBlocksRepeatedOrOutOfOrderChangeNothing(t *testing.T) {
	pre := others(8)
	h := newHandmade(t, pre, 2)
	var blocks []balsa.Block
	for i := range uint64(4) {
		post := with(h.states[i], chaingen.State{addr(2 + i): acc(0, i+1, "")})
		blocks = append(blocks, h.extend(post, row(addr(2+i), balance(1, i+1))))
	}
	sibling := blocks[3]
	sibling.Header = types.CopyHeader(sibling.Header)
	sibling.Header.Extra = []byte("another block of the same parent")
	orphan := blocks[3]
	orphan.Header = header(5, sibling.Header.Hash(), h.head().Root, orphan.BAL)
	h.rejects(sibling, balsa.ErrUnknownParent)
	h.rejects(orphan, balsa.ErrUnknownParent)
	before := h.rows()
	for _, b := range append(blocks, blocks...) {
		if got, err := h.engine.Apply(t.Context(), b); err != nil || !got.Known {
			t.Fatalf("block %v: %+v, %v", b.Header.Number, got, err)
		}
	}
	sameRows(t, h.rows(), before)
	h.backTo(1)
	h.rejects(blocks[2], balsa.ErrUnknownParent)
	h.rejects(blocks[3], balsa.ErrUnknownParent)
	for _, b := range blocks[1:] {
		if got, err := h.engine.Apply(t.Context(), b); err != nil || got.Known {
			t.Fatalf("block %v after the rewind: %+v, %v", b.Header.Number, got, err)
		}
	}
	sameRows(t, h.rows(), before)
}

// Whoever gives a block first applies it; it is known to all others.
func TestABlockGivenByManyAtOnceIsAppliedOnce(t *testing.T) {
	h := newHandmade(t, others(8), 2)
	b := h.next(with(others(8), one(acc(0, 1, ""))), row(addr(2), balance(1, 1)))
	var all sync.WaitGroup
	fresh := make(chan balsa.Applied, 16)
	for range cap(fresh) {
		all.Go(func() {
			got, err := h.engine.Apply(t.Context(), b)
			switch {
			case err != nil:
				t.Error(err)
			case !got.Known:
				fresh <- got
			}
		})
	}
	all.Wait()
	if len(fresh) != 1 {
		t.Fatalf("applied %d times", len(fresh))
	}
}

// Two branches make the same account with other code and other slots; going from one to the other
// and back equals never having seen the other.
func TestAReorgAcrossTheCreationOfAnAccountItsStorageAndItsCode(t *testing.T) {
	pre := others(12)
	branch := func(h *handmade, name string, slots ...uint64) map[string]string {
		h.extend(with(pre, one(acc(1, 3, name, slots...))), row(addr(2), writes(slots[0], 1, slots[1]),
			writes(slots[2], 1, slots[3]), balance(1, 3), nonce(1, 1), code(1, name)))
		h.extend(with(pre, one(acc(2, 3, name))), row(addr(2), writes(slots[0], 1, 0),
			writes(slots[2], 1, 0), nonce(1, 2)))
		h.check()
		return h.rows()
	}
	a := func(h *handmade) map[string]string { return branch(h, "code of branch A", 1, 1, 2, 2) }
	b := func(h *handmade) map[string]string { return branch(h, "code of branch B", 2, 7, 9, 9) }
	freshA, freshB := a(newHandmade(t, pre, 1)), b(newHandmade(t, pre, 1))
	h := newHandmade(t, pre, 2)
	for range 2 {
		sameRows(t, a(h), freshA)
		h.backTo(0)
		sameRows(t, b(h), freshB)
		h.backTo(0)
	}
}

// A view shows its block however many follow and are undone.
func TestAViewShowsItsBlockWhateverFollows(t *testing.T) {
	pre := with(others(8), one(acc(1, 5, contract, 1, 10)))
	h := newHandmade(t, pre, 2)
	view, err := h.engine.View()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for i := range uint64(3) {
		h.extend(with(pre, one(acc(1, 6+i, contract, 1, 11+i))),
			row(addr(2), writes(1, 1, 11+i), balance(1, 6+i)))
	}
	h.backTo(1)
	for a, was := range pre {
		checkProof(t, view, h.headers[0].Root, a, was, was)
	}
	if view.Cursor().Hash != h.headers[0].Hash() {
		t.Fatalf("the view's cursor is %v", view.Cursor())
	}
}

// A list under its right hash whose state is another than the header's.
func TestAListWithTheRightHashAndTheWrongRootIsRejected(t *testing.T) {
	pre := with(others(8), one(acc(1, 5, contract, 1, 10)))
	lists := map[string][]bal.AccountChanges{
		"a balance too high": {row(addr(2), writes(1, 1, 11), balance(1, 7))},
		"a slot missing":     {row(addr(2), balance(1, 6))},
		"a slot too many":    {row(addr(2), writes(1, 1, 11), writes(2, 1, 1), balance(1, 6))},
		"an account too many": {
			row(addr(1), balance(1, 1)), row(addr(2), writes(1, 1, 11), balance(1, 6)),
		},
		"another account":      {row(addr(3), writes(1, 1, 11), balance(1, 6))},
		"the account cleared":  {row(addr(2), writes(1, 1, 0), balance(1, 0), nonce(1, 0), code(1, ""))},
		"no change at all":     nil,
		"a code instead":       {row(addr(2), writes(1, 1, 11), balance(1, 6), code(1, "other"))},
		"thousands of changes": manyRows(3000),
	}
	post := with(pre, one(acc(1, 6, contract, 1, 11)))
	for name, list := range lists {
		bothWays(t, name, func(t *testing.T, how balsa.Apply) {
			h := newHandmadeBy(t, how, pre, 2)
			good := h.next(post, row(addr(2), writes(1, 1, 11), balance(1, 6)))
			bad := h.next(post, list...)
			err := h.rejects(bad, balsa.ErrWrongRoot)
			for _, want := range []string{
				"block 1 ", bad.Header.Hash().Hex(), good.Header.Root.Hex(),
			} {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("%q does not name %s", err, want)
				}
			}
			if crypto.Keccak256Hash(bad.BAL) != *bad.Header.BlockAccessListHash {
				t.Fatal("the hash is wrong too")
			}
			h.applyTo(post, good)
			h.check()
		})
	}
}

func manyRows(n uint64) (list []bal.AccountChanges) {
	for i := range n {
		list = append(list, row(addr(100_000+i), writes(1, 1, i), balance(1, i+1)))
	}
	return list
}
