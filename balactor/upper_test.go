package balactor

import (
	"bytes"
	"context"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// crowdedKey is a key whose first nibbles are drawn from a few, so that tries of few accounts have
// branches at all the upper levels, and lose them again.
func crowdedKey(rng *rand.Rand) (k common.Hash) {
	for i := range k {
		k[i] = byte(rng.Uint32())
	}
	for i := range rng.IntN(upperLevels) {
		k[i] &= 0x11
	}
	return k
}

// accountsLayer changes n random accounts of a model: it sets balances, or takes accounts away.
func accountsLayer(rng *rand.Rand, model map[common.Hash][]byte, n int) (
	l state.Layer, cs []trie.Change) {
	touched := map[common.Hash]bool{}
	for range n {
		k := crowdedKey(rng)
		held := slices.SortedFunc(maps.Keys(model), common.Hash.Cmp)
		if len(held) > 0 && rng.IntN(2) == 0 {
			k = held[rng.IntN(len(held))]
		}
		if touched[k] {
			continue
		}
		touched[k] = true
		w, c := state.AccountWrite{Hash: k, Pre: model[k]}, trie.Change{Key: k}
		c.Existed = w.Pre != nil
		if !c.Existed || rng.IntN(3) == 0 {
			a := state.NewAccount()
			a.Balance = *uint256.NewInt(rng.Uint64() | 1)
			w.Post, c.Value = a.AppendSlim(nil), a.AppendFull(nil)
			model[k] = w.Post
		} else {
			delete(model, k)
		}
		l.Accounts, cs = append(l.Accounts, w), append(cs, c)
	}
	slices.SortFunc(l.Accounts, func(a, b state.AccountWrite) int { return a.Hash.Cmp(b.Hash) })
	slices.SortFunc(cs, func(a, b trie.Change) int { return a.Key.Cmp(b.Key) })
	return l, cs
}

// checkUpper compares the rows that u knows with the store's.
func checkUpper(t *testing.T, u *upper, store *state.Store) (known int) {
	t.Helper()
	sn := store.NewSnapshot()
	defer sn.Close()
	stored := map[trie.Path][]byte{}
	it := sn.Branches(common.Hash{}, false)
	defer it.Close()
	for it.Next() {
		stored[it.Key()] = bytes.Clone(it.Value())
	}
	if err := it.Error(); err != nil {
		t.Fatal(err)
	}
	check := func(p trie.Path, r *upperRow) {
		if r.mask == 0 {
			return
		}
		known++
		row := trie.Branch{Mask: r.mask, Sub: r.sub, Refs: r.refs[:r.len]}.AppendTo(nil)
		if !bytes.Equal(row, stored[p]) {
			t.Fatalf("branch %v: kept %x, stored %x", p, row, stored[p])
		}
	}
	check(trie.Path{}, &u.root)
	var below func(p trie.Path)
	below = func(p trie.Path) {
		for x := range byte(16) {
			q := p.Child(x)
			if r := u.row(&q, false); r != nil {
				check(q, r)
			}
			if q.Len+1 < upperLevels {
				below(q)
			}
		}
	}
	below(trie.Path{})
	return known
}

func TestUpperRowsAreTheStores(t *testing.T) {
	r := newRig(t, Options{}, nil)
	rng := rand.New(rand.NewPCG(7, 11))
	u, up := newUpdater(), newUpper()
	up.stand(r.genesis.Hash())
	model, parent := map[common.Hash][]byte{}, r.genesis
	most := 0
	for range 60 {
		sn := r.store.NewSnapshot()
		reader, err := sn.NewReader()
		if err != nil {
			t.Fatal(err)
		}
		l, cs := accountsLayer(rng, model, 1+rng.IntN(60))
		cursor, _ := r.store.Cursor()
		done, err := updateAccounts(context.Background(), u, up.over(reader.AccountTrie()),
			cursor.Root == trie.EmptyRoot, cs)
		reader.Close()
		sn.Close()
		if err != nil {
			t.Fatal(err)
		}
		l.Branches = done.branches
		h := &types.Header{Number: new(big.Int).Add(parent.Number, big.NewInt(1)),
			ParentHash: parent.Hash(), Root: done.root}
		if err := r.store.Commit(cursor, state.Block{Header: h, Hash: h.Hash()}, &l); err != nil {
			t.Fatal(err)
		}
		leaves := map[common.Hash][]byte{}
		for k, slim := range model {
			a, err := state.DecodeSlim(slim)
			if err != nil {
				t.Fatal(err)
			}
			leaves[k] = a.AppendFull(nil)
		}
		if want := stackRoot(t, leaves); done.root != want {
			t.Fatalf("block %v: root %v, go-ethereum has %v", h.Number, done.root, want)
		}
		up.move(h.Hash(), l.Branches)
		most = max(most, checkUpper(t, up, r.store))
		parent = h
	}
	if most < 50 {
		t.Errorf("at most %d rows were kept", most)
	}
	if up.stand(r.genesis.Hash()); checkUpper(t, up, r.store) != 0 {
		t.Error("rows of another state are kept")
	}
}
