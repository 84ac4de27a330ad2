package world

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/trie/classic"
)

// twin is a State beside go-ethereum's, over states that grow alike.
type twin struct {
	t     *testing.T
	r     *rand.Rand
	rules params.Rules
	geth  *gethstate.StateDB
	state *State
	flat  *flat
}

func (w *twin) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *twin) address() common.Address { return common.Address{0xbb, byte(w.r.UintN(40))} }

func (w *twin) small() common.Hash {
	return common.BigToHash(big.NewInt(int64(w.r.UintN(30))))
}

// step does one operation to both. Slots are written where there is a nonce only: what an empty
// account's slots are, the two do not agree on.
func (w *twin) step() {
	a := w.address()
	amount := uint256.NewInt(uint64(w.r.UintN(3)))
	nonce, err := w.state.GetNonce(a)
	w.must(err)
	switch op := w.r.UintN(8); {
	case op == 0:
		w.must(w.state.AddBalance(a, amount))
		w.geth.AddBalance(a, amount, tracing.BalanceChangeUnspecified)
	case op == 1:
		if have, err := w.state.GetBalance(a); err == nil && have.Cmp(amount) >= 0 {
			w.must(w.state.SubBalance(a, amount))
			w.geth.SubBalance(a, amount, tracing.BalanceChangeUnspecified)
		}
	case op == 2:
		w.must(w.state.SetNonce(a, nonce+1))
		w.geth.SetNonce(a, nonce+1, tracing.NonceChangeUnspecified)
	case op == 3 && nonce > 0:
		code := make([]byte, w.r.UintN(3))
		w.must(w.state.SetCode(a, code))
		w.geth.GetCode(a) // what it has not read, it cannot take back to
		w.geth.SetCode(a, code, tracing.CodeChangeUnspecified)
	case nonce > 0:
		key, value := w.small(), w.small()
		w.must(w.state.SetState(a, key, value))
		w.geth.SetState(a, key, value)
	}
}

// transaction does some operations, in parts that may be taken back.
func (w *twin) transaction(depth int) {
	for range w.r.UintN(30) {
		w.step()
	}
	if depth == 3 {
		return
	}
	for range w.r.UintN(3) {
		ours, theirs := w.state.Snapshot(), w.geth.Snapshot()
		w.transaction(depth + 1)
		if w.r.UintN(2) == 0 {
			w.state.RevertToSnapshot(ours)
			w.geth.RevertToSnapshot(theirs)
		}
	}
}

// apply brings the flat state to where the changes lead, storage roots included.
func (w *twin) apply(c *Changes) {
	for i := range c.Accounts {
		a := &c.Accounts[i]
		if w.flat.slots[a.Hash] == nil {
			w.flat.slots[a.Hash] = map[common.Hash]common.Hash{}
		}
		slots := w.flat.slots[a.Hash]
		for _, v := range a.Slots {
			if slots[v.Hash] != v.Pre {
				w.t.Fatalf("slot %s was %s, not %s", v.Hash, slots[v.Hash], v.Pre)
			}
			if slots[v.Hash] = v.Post; v.Post == (common.Hash{}) {
				delete(slots, v.Hash)
			}
		}
		if !a.Exists {
			if delete(w.flat.accounts, a.Hash); len(slots) > 0 {
				w.t.Fatalf("%s went and left %d slots", a.Address, len(slots))
			}
			continue
		}
		tr := classic.New()
		for k, v := range slots {
			b, err := rlp.EncodeToBytes(common.TrimLeftZeroes(v[:]))
			w.must(err)
			tr.Update(k[:], b)
		}
		post := a.Post
		post.StorageRoot = tr.Hash()
		w.flat.accounts[a.Hash] = post
	}
}

func (w *twin) root() common.Hash {
	tr := classic.New()
	for h, a := range w.flat.accounts {
		b, err := rlp.EncodeToBytes(&types.StateAccount{
			Nonce: a.Nonce, Balance: &a.Balance, Root: a.StorageRoot, CodeHash: a.CodeHash[:],
		})
		w.must(err)
		tr.Update(h[:], b)
	}
	return tr.Hash()
}

func TestRandomOperationsGiveTheRootOfGoEthereum(t *testing.T) {
	db := gethstate.NewDatabaseForTesting()
	root := types.EmptyRootHash
	config := params.MergedTestChainConfig
	w := &twin{
		t: t, r: rand.New(rand.NewPCG(7, 28)), flat: newFlat(), state: New(nil, nil),
		rules: config.Rules(big.NewInt(1), true, 1<<40),
	}
	for block := range 60 {
		var err error
		w.geth, err = gethstate.New(root, db)
		w.must(err)
		w.state.Reset(w.flat)
		for range 1 + w.r.UintN(4) {
			w.transaction(0)
			w.must(w.state.Sweep())
			w.geth.Finalise(w.rules)
		}
		changes, err := w.state.Commit()
		w.must(err)
		w.apply(changes)
		root, err = w.geth.Commit(w.rules, uint64(block))
		w.must(err)
		if got := w.root(); got != root {
			t.Fatalf("block %d: root %s, go-ethereum has %s", block, got, root)
		}
	}
	if len(w.flat.accounts) < 20 {
		t.Fatalf("only %d accounts were left", len(w.flat.accounts))
	}
}

func TestTheConstantsAreTheHashesTheyAreNamedAfter(t *testing.T) {
	if EmptyCodeHash != crypto.Keccak256Hash() || EmptyRoot != types.EmptyRootHash {
		t.Fatal(EmptyCodeHash, EmptyRoot)
	}
	data := []byte("any")
	if NewScalar().Sum(data) != crypto.Keccak256Hash(data) {
		t.Fatal("not Keccak-256")
	}
}
