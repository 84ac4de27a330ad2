package endtoend

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// buildCase is a state that Init builds.
type buildCase struct {
	name  string
	state chaingen.State
}

// byHash are n addresses in the order in which a build meets them.
func byHash(n int) []common.Address {
	all := make([]common.Address, n)
	for i := range all {
		all[i] = addr(uint64(i + 1))
	}
	slices.SortFunc(all, func(a, b common.Address) int {
		return crypto.Keccak256Hash(a[:]).Cmp(crypto.Keccak256Hash(b[:]))
	})
	return all
}

// counted is a contract with the slots 0 to n-1.
func counted(n, times int) *chaingen.Account {
	pairs := make([]uint64, 0, 2*n)
	for i := range n {
		pairs = append(pairs, uint64(i), uint64((i+1)*times))
	}
	return acc(1, 0, contract, pairs...)
}

// below are n slots whose hashes begin with one of the nibbles, each with a value.
func below(n int, nibbles string) (slots []uint64) {
	for i := uint64(0); len(slots) < 2*n; i++ {
		key := word(i)
		if strings.Contains(nibbles, crypto.Keccak256Hash(key[:]).Hex()[2:3]) {
			slots = append(slots, i, i+1)
		}
	}
	return slots
}

func sizeCases() (cases []buildCase) {
	for _, slots := range []int{0, 1, 2, 3, 16, 17, 256, 257} {
		cases = append(cases, buildCase{fmt.Sprintf("an account with %d slots", slots),
			one(counted(slots, 1))})
	}
	for _, accounts := range []int{0, 1, 2, 63, 64, 65, 255, 256, 257, 512, 513} {
		s := chaingen.State{}
		for i, a := range byHash(accounts) {
			s[a] = counted(i%5+1, i+1)
		}
		cases = append(cases, buildCase{fmt.Sprintf("%d accounts with storage", accounts), s})
	}
	for _, nibbles := range []string{"0", "7", "f", "0f"} {
		cases = append(cases, buildCase{"slots below nibbles " + nibbles, chaingen.State{
			addr(1): acc(1, 0, contract, below(1, nibbles)...),
			addr(2): acc(1, 0, contract, below(2, nibbles)...),
			addr(3): acc(1, 0, contract, below(40, nibbles)...),
		}})
	}
	zero := counted(3, 1)
	zero.Storage[word(1)] = common.Hash{}
	return append(cases, buildCase{"a slot of value zero, which is none", one(zero)})
}

// shapeCases lie across the batches of 256 accounts in which Init builds storage tries.
func shapeCases() (cases []buildCase) {
	same := chaingen.State{}
	for _, a := range byHash(unlessRace(3000, 600)) {
		same[a] = counted(3, 1)
	}
	cases = append(cases, buildCase{"the same storage under thousands of accounts", same})
	empty := chaingen.State{}
	for _, a := range byHash(150) {
		empty[a] = acc(0, 0, "")
	}
	cases = append(cases, buildCase{"a batch of empty accounts alone", empty})
	mixed := chaingen.State{}
	for i, a := range byHash(700) {
		mixed[a] = counted(i%3, i+1)
		if i >= 200 && i < 550 {
			mixed[a] = acc(0, 0, "")
		}
	}
	cases = append(cases, buildCase{"hundreds of empty accounts in a row", mixed})
	for name, huge := range map[string][]int{
		"first": {0}, "last": {299}, "in the middle": {150}, "twice": {10, 11},
		"on both sides of a batch's end": {255, 256},
	} {
		s := chaingen.State{}
		for i, a := range byHash(300) {
			s[a] = counted(i%3, i+1)
			if slices.Contains(huge, i) {
				s[a] = counted(unlessRace(5000, 700), i+1)
			}
		}
		cases = append(cases, buildCase{"a huge account " + name, s})
	}
	return cases
}

// Init builds the tries that go-ethereum builds for the same genesis, down to the last row, and
// blocks can be built on every one of them and undone again.
func TestAGenesisHasGoEthereumsRoot(t *testing.T) {
	for i, c := range append(sizeCases(), shapeCases()...) {
		if raceDetector && i%4 != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := core.Genesis{Config: params.MergedTestChainConfig, Alloc: allocOf(c.state),
				Difficulty: new(big.Int), BaseFee: big.NewInt(7), GasLimit: gasLimit}
			block := g.ToBlock()
			if want := stateRoot(t, c.state); block.Root() != want {
				t.Fatalf("go-ethereum has root %s for its genesis and %s for the leaves",
					block.Root(), want)
			}
			h := newHandmade(t, c.state, 2)
			if h.engine.Cursor().Root != block.Root() {
				t.Fatalf("cursor %v", h.engine.Cursor())
			}
			before := h.rows()
			h.verify()
			touchAll(h)
			h.verify()
			h.backTo(0)
			sameRows(t, h.rows(), before)
		})
	}
}

// touchAll gives every account a nonce and a new slot, and clears its least slot.
func touchAll(h *handmade) {
	post, list := chaingen.State{}, []bal.AccountChanges(nil)
	for _, a := range slices.SortedFunc(maps.Keys(h.states[0]), common.Address.Cmp) {
		is := *h.states[0][a]
		is.Nonce++
		is.Storage = maps.Clone(is.Storage)
		maps.DeleteFunc(is.Storage, func(_, v common.Hash) bool { return v == common.Hash{} })
		r := row(a, nonce(1, is.Nonce))
		if keys := slices.SortedFunc(maps.Keys(is.Storage), common.Hash.Cmp); len(keys) > 0 {
			writes(keys[0].Big().Uint64(), 1, 0)(&r)
			delete(is.Storage, keys[0])
		} else {
			is.Storage = map[common.Hash]common.Hash{}
		}
		is.Storage[word(1<<32)] = word(1)
		writes(1<<32, 1, 1)(&r)
		post[a], list = &is, append(list, r)
	}
	h.applyTo(post, h.next(post, list...))
}

// Whatever way leads to a state, its flat rows, its branch rows and its codes are the same: built
// at once, or from nothing by blocks (D1).
func TestABuiltStateHasTheRowsOfOneReachedByBlocks(t *testing.T) {
	want := chaingen.State{}
	for i, a := range byHash(300) {
		switch i % 3 {
		case 0:
			want[a] = acc(0, uint64(i+1), "")
		case 1:
			want[a] = counted(i%40, i)
		default:
			want[a] = acc(1, 1, fmt.Sprintf("code %d", i%7), uint64(i), 1)
		}
	}
	built := newHandmade(t, want, 2).rows()

	h := newHandmade(t, chaingen.State{}, 3)
	now := chaingen.State{}
	for part := range uint64(6) { // each block brings a sixth, and takes something away again
		next := with(now, chaingen.State{addr(9000 + part): acc(0, 1, "", 1, 1, 2, 2)})
		var list []bal.AccountChanges
		for i := uint64(1); i <= 300; i++ {
			if a := want[addr(i)]; i%6 == part && a != nil {
				next[addr(i)] = a
				list = append(list, creation(addr(i), a))
			}
		}
		if part > 0 {
			delete(next, addr(9000+part-1))
			list = append(list, row(addr(9000+part-1), balance(2, 0)))
		}
		list = append(list, row(addr(9000+part), writes(1, 1, 1), writes(2, 1, 2), balance(1, 1)))
		h.extend(next, list...)
		now = next
	}
	h.extend(want, row(addr(9005), balance(2, 0)))
	reached := h.rows()
	for _, space := range []byte("asASc") {
		sameRows(t, only(reached, space), only(built, space))
		if in(built, space) == 0 {
			t.Fatalf("no rows in %c", space)
		}
	}
}

// creation is the row of a block that makes an account whose slots are small numbers.
func creation(at common.Address, a *chaingen.Account) bal.AccountChanges {
	r := row(at, balance(1, a.Balance.Uint64()), nonce(1, a.Nonce))
	if len(a.Code) > 0 {
		code(1, string(a.Code))(&r)
	}
	keys := make([]common.Hash, 0, len(a.Storage))
	for k := range a.Storage {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, common.Hash.Cmp)
	for _, k := range keys {
		writes(k.Big().Uint64(), 1, a.Storage[k].Big().Uint64())(&r)
	}
	return r
}

// only are the rows of one key space.
func only(rows map[string]string, space byte) map[string]string {
	out := map[string]string{}
	for k, v := range rows {
		if k[0] == space {
			out[k] = v
		}
	}
	return out
}

// A build with another root than the header's leaves nothing behind, and the right one fits.
func TestAGenesisWithAnotherRootIsRefused(t *testing.T) {
	pre := with(others(300), one(counted(40, 1)))
	g := balsa.Genesis{ChainID: 7, Header: header(0, common.Hash{}, anyHash, bal.Empty),
		Alloc: allocOf(pre)}
	o := balsa.Options{Dir: "node", FS: state.MemFS()}
	refused(t, o, g, stateRoot(t, pre))
	g.Header = header(0, common.Hash{}, stateRoot(t, pre), bal.Empty)
	if _, err := balsa.Init(t.Context(), o, g); err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, opts: o}
	n.open()
	defer n.close()
	n.compare(pre)
}

func refused(t *testing.T, o balsa.Options, g balsa.Genesis, root common.Hash) {
	t.Helper()
	_, err := balsa.Init(t.Context(), o, g)
	var wrong *balsa.WrongRootError
	if !errors.As(err, &wrong) || wrong.Want != g.Header.Root || wrong.Got != root {
		t.Fatalf("init: %v", err)
	}
	if _, err := balsa.Open(t.Context(), o); err == nil {
		t.Fatal("a store without a state was opened")
	}
}
