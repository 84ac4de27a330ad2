package endtoend

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	gethbal "github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// Every block written by hand has this many transactions, so its indices run from 0, before the
// first, to lastIndex, after the last.
const (
	transactions = 3
	lastIndex    = transactions + 1
	gasLimit     = 60_000_000
)

// handmade is a chain written down by hand: each block as the changes in its list and the whole
// state that it must leave. go-ethereum computes that state's root, which the header gets.
type handmade struct {
	*node
	disk    state.CrashFS
	headers []*types.Header
	states  []chaingen.State
}

// newHandmade builds a store whose genesis is the state and opens it.
func newHandmade(t *testing.T, pre chaingen.State, workers int) *handmade {
	t.Helper()
	return newHandmadeBy(t, balsa.ApplyBulk, pre, workers)
}

// newHandmadeBy is newHandmade for a way to apply blocks.
func newHandmadeBy(t *testing.T, how balsa.Apply, pre chaingen.State, workers int) *handmade {
	t.Helper()
	h := header(0, common.Hash{}, stateRoot(t, pre), bal.Empty)
	disk := state.NewCrashFS()
	n := newNodeAt(t, balsa.Genesis{ChainID: 7, Header: h, Alloc: allocOf(pre)},
		balsa.Options{FS: disk, Workers: workers, Apply: how, CheckpointBlocks: 1})
	return &handmade{
		node: n, disk: disk, headers: []*types.Header{h}, states: []chaingen.State{pre},
	}
}

// rows reads every row that a crash would leave now. The engine stays open.
func (h *handmade) rows() map[string]string {
	h.t.Helper()
	return rowsOf(h.t, state.Options{Dir: h.opts.Dir, FS: h.disk.Crash()})
}

func (h *handmade) head() *types.Header { return h.headers[len(h.headers)-1] }

// header makes a header that lacks nothing that Amsterdam's have.
func header(number uint64, parent, root common.Hash, list []byte) *types.Header {
	zero, slot := uint64(0), number
	balHash := crypto.Keccak256Hash(list)
	return &types.Header{
		ParentHash: parent, UncleHash: types.EmptyUncleHash, Root: root,
		TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash,
		Difficulty: new(big.Int), Number: new(big.Int).SetUint64(number),
		GasLimit: gasLimit, Time: 12 * number, BaseFee: big.NewInt(7),
		WithdrawalsHash: &types.EmptyWithdrawalsHash, BlobGasUsed: &zero, ExcessBlobGas: &zero,
		ParentBeaconRoot: &common.Hash{}, RequestsHash: &types.EmptyRequestsHash,
		BlockAccessListHash: &balHash, SlotNumber: &slot,
	}
}

// next makes the block that follows the head, without applying it.
func (h *handmade) next(post chaingen.State, rows ...bal.AccountChanges) balsa.Block {
	h.t.Helper()
	raw := bal.Encode(&bal.AccessList{Accounts: rows})
	parent := h.head()
	return balsa.Block{
		Header: header(parent.Number.Uint64()+1, parent.Hash(), stateRoot(h.t, post), raw),
		BAL:    raw, Transactions: transactions,
	}
}

// extend applies the block that follows the head. Its list must be one that go-ethereum accepts,
// its root must be proven, and what it says it changed must be what differs between the states.
func (h *handmade) extend(post chaingen.State, rows ...bal.AccountChanges) balsa.Block {
	h.t.Helper()
	b := h.next(post, rows...)
	var list gethbal.BlockAccessList
	if err := rlp.DecodeBytes(b.BAL, &list); err != nil {
		h.t.Fatalf("go-ethereum does not decode the list: %v", err)
	}
	if err := list.Validate(gasLimit, transactions); err != nil {
		h.t.Fatalf("go-ethereum refuses the list: %v", err)
	}
	h.applyTo(post, b)
	return b
}

// applyTo applies the block that follows the head and leaves the state.
func (h *handmade) applyTo(post chaingen.State, b balsa.Block) {
	h.t.Helper()
	got, err := h.engine.Apply(h.t.Context(), b)
	if err != nil {
		h.t.Fatal(err)
	}
	accounts, slots := differences(h.states[len(h.states)-1], post)
	if got.Known || got.Hash != b.Header.Hash() || got.Root != b.Header.Root ||
		got.Accounts != accounts || got.Slots != slots {
		h.t.Fatalf("%+v, want %d accounts and %d slots changed", got, accounts, slots)
	}
	if at := h.engine.Cursor(); at.Hash != got.Hash || at.Root != got.Root {
		h.t.Fatalf("the cursor is %v after block %d", at, got.Number)
	}
	h.headers, h.states = append(h.headers, b.Header), append(h.states, post)
}

// rejects gives the engine a block that it must refuse without touching the store.
func (h *handmade) rejects(b balsa.Block, want error) error {
	h.t.Helper()
	before, at := h.rows(), h.engine.Cursor()
	_, err := h.engine.Apply(h.t.Context(), b)
	if !errors.Is(err, want) {
		h.t.Fatalf("error %v, want %v", err, want)
	}
	if h.engine.Cursor() != at {
		h.t.Fatalf("the cursor is %v, want %v", h.engine.Cursor(), at)
	}
	sameRows(h.t, h.rows(), before)
	return err
}

// backTo rewinds to a block's number.
func (h *handmade) backTo(number int) {
	h.t.Helper()
	got, err := h.engine.Rewind(h.t.Context(), h.headers[number].Hash())
	if err != nil {
		h.t.Fatal(err)
	}
	if got.Number != uint64(number) || got.Root != h.headers[number].Root {
		h.t.Fatalf("the cursor is %v after a rewind to block %d", got, number)
	}
	h.headers, h.states = h.headers[:number+1], h.states[:number+1]
}

// check compares the store with the head's state: every account and slot, and that nothing of the
// state before is left that should not be; each proven by go-ethereum's verifier.
func (h *handmade) check() {
	h.t.Helper()
	want := h.states[len(h.states)-1]
	h.compare(want)
	view, err := h.engine.View()
	if err != nil {
		h.t.Fatal(err)
	}
	defer view.Close()
	for _, s := range h.states {
		for addr, was := range s {
			checkProof(h.t, view, h.head().Root, addr, was, want[addr])
		}
	}
}

// checkProof proves an account, present or absent, and all slots that it has or had.
func checkProof(
	t *testing.T, view *balsa.View, root common.Hash, addr common.Address, was, is *chaingen.Account,
) {
	t.Helper()
	slots := slices.Collect(maps.Keys(was.Storage))
	p, err := view.Proof(addr, slots...)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := provenBy(root, crypto.Keccak256(addr[:]), p.Proof)
	if err != nil || (leaf != nil) != (is != nil) || p.Present != (is != nil) {
		t.Fatalf("account %s: proof of %x (%v), present %v", addr, leaf, err, p.Present)
	}
	storageRoot := types.EmptyRootHash
	if is != nil {
		storageRoot = storageRootOf(t, is.Storage)
		if want := leafOf(t, is, storageRoot); !bytes.Equal(leaf, want) {
			t.Fatalf("account %s: %x is proven, want %x", addr, leaf, want)
		}
	}
	for i, slot := range slots {
		want := common.Hash{}
		if is != nil {
			want = is.Storage[slot]
		}
		s := p.Storage[i]
		if s.Slot != slot || s.Value != want {
			t.Fatalf("account %s, slot %s: %s, want %s", addr, slot, s.Value, want)
		}
		if storageRoot == types.EmptyRootHash {
			continue // there is no node to prove with
		}
		value, err := provenBy(storageRoot, crypto.Keccak256(slot[:]), s.Proof)
		if err != nil || !bytes.Equal(value, slotRLP(want)) {
			t.Fatalf("account %s, slot %s: proof of %x, %v", addr, slot, value, err)
		}
	}
}

// provenBy is the value that go-ethereum takes from a proof. It takes no proof of an empty trie,
// whose only node is the empty string.
func provenBy(root common.Hash, key []byte, proof [][]byte) ([]byte, error) {
	if root == types.EmptyRootHash && len(proof) == 1 && bytes.Equal(proof[0], []byte{0x80}) {
		return nil, nil
	}
	return gethtrie.VerifyProof(root, key, proofNodes(proof))
}

// proofNodes are a proof's nodes as go-ethereum's verifier reads them: by hash.
type proofNodes [][]byte

func (p proofNodes) Has(key []byte) (bool, error) { v, _ := p.Get(key); return v != nil, nil }

func (p proofNodes) Get(key []byte) ([]byte, error) {
	for _, node := range p {
		if bytes.Equal(crypto.Keccak256(node), key) {
			return node, nil
		}
	}
	return nil, nil
}

// stateRoot is the root that go-ethereum's StackTrie gives the state, empty accounts included.
func stateRoot(t *testing.T, s chaingen.State) common.Hash {
	t.Helper()
	leaves := map[common.Hash][]byte{}
	for addr, a := range s {
		leaves[crypto.Keccak256Hash(addr[:])] = leafOf(t, a, storageRootOf(t, a.Storage))
	}
	return rootOf(t, leaves)
}

func storageRootOf(t *testing.T, slots map[common.Hash]common.Hash) common.Hash {
	t.Helper()
	leaves := map[common.Hash][]byte{}
	for slot, value := range slots {
		if v := slotRLP(value); v != nil {
			leaves[crypto.Keccak256Hash(slot[:])] = v
		}
	}
	return rootOf(t, leaves)
}

func rootOf(t *testing.T, leaves map[common.Hash][]byte) common.Hash {
	t.Helper()
	tr := gethtrie.NewStackTrie(nil)
	for _, key := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := tr.Update(key[:], leaves[key]); err != nil {
			t.Fatal(err)
		}
	}
	return tr.Hash()
}

func leafOf(t *testing.T, a *chaingen.Account, storageRoot common.Hash) []byte {
	t.Helper()
	b, err := rlp.EncodeToBytes(&types.StateAccount{
		Nonce: a.Nonce, Balance: &a.Balance, Root: storageRoot, CodeHash: crypto.Keccak256(a.Code),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// slotRLP is a slot's value as the trie holds it, nil for zero.
func slotRLP(v common.Hash) []byte {
	if v == (common.Hash{}) {
		return nil
	}
	b, _ := rlp.EncodeToBytes(common.TrimLeftZeroes(v[:])) // bytes always encode
	return b
}

// differences counts the accounts and the slots that differ between two states. Of an account
// whose storage differs the root differs, so it counts itself.
func differences(a, b chaingen.State) (accounts, slots int) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for addr := range all {
		x, y := a[addr], b[addr]
		if x == nil {
			x = &chaingen.Account{}
		}
		if y == nil {
			y = &chaingen.Account{}
		}
		keys, n := maps.Clone(x.Storage), 0
		if keys == nil {
			keys = map[common.Hash]common.Hash{}
		}
		maps.Copy(keys, y.Storage)
		for k := range keys {
			if x.Storage[k] != y.Storage[k] {
				n++
			}
		}
		slots += n
		if n > 0 || (a[addr] == nil) != (b[addr] == nil) || x.Nonce != y.Nonce ||
			x.Balance != y.Balance || !bytes.Equal(x.Code, y.Code) {
			accounts++
		}
	}
	return accounts, slots
}

func allocOf(s chaingen.State) map[common.Address]types.Account {
	alloc := map[common.Address]types.Account{}
	for addr, a := range s {
		alloc[addr] = types.Account{
			Nonce: a.Nonce, Balance: a.Balance.ToBig(), Code: a.Code, Storage: a.Storage,
		}
	}
	return alloc
}

// with is a state with some accounts exchanged; nil takes one away.
func with(s chaingen.State, changed chaingen.State) chaingen.State {
	out := maps.Clone(s)
	if out == nil {
		out = chaingen.State{}
	}
	for addr, a := range changed {
		if a == nil {
			delete(out, addr)
		} else {
			out[addr] = a
		}
	}
	return out
}

// addr is an address that sorts by n.
func addr(n uint64) (a common.Address) {
	binary.BigEndian.PutUint64(a[12:], n)
	return a
}

func word(n uint64) (h common.Hash) {
	binary.BigEndian.PutUint64(h[24:], n)
	return h
}

// acc writes an account down: nonce, balance, code, then slots and their values in turn.
func acc(nonce, wei uint64, code string, slots ...uint64) *chaingen.Account {
	a := &chaingen.Account{Nonce: nonce, Balance: *uint256.NewInt(wei)}
	if code != "" {
		a.Code = []byte(code)
	}
	for i := 0; i < len(slots); i += 2 {
		if a.Storage == nil {
			a.Storage = map[common.Hash]common.Hash{}
		}
		a.Storage[word(slots[i])] = word(slots[i+1])
	}
	return a
}

// row is an account's row in a list.
func row(a common.Address, changes ...func(*bal.AccountChanges)) bal.AccountChanges {
	r := bal.AccountChanges{Address: a}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func nonce(index uint32, n uint64) func(*bal.AccountChanges) {
	return func(r *bal.AccountChanges) {
		r.NonceChanges = append(r.NonceChanges, bal.NonceChange{Index: index, Nonce: n})
	}
}

func balance(index uint32, wei uint64) func(*bal.AccountChanges) {
	return func(r *bal.AccountChanges) {
		r.BalanceChanges = append(r.BalanceChanges,
			bal.BalanceChange{Index: index, Balance: *uint256.NewInt(wei)})
	}
}

func code(index uint32, c string) func(*bal.AccountChanges) {
	return func(r *bal.AccountChanges) {
		r.CodeChanges = append(r.CodeChanges, bal.CodeChange{Index: index, Code: []byte(c)})
	}
}

// writes sets a slot: indices and values in turn.
func writes(slot uint64, indexValue ...uint64) func(*bal.AccountChanges) {
	return func(r *bal.AccountChanges) {
		s := bal.SlotChanges{Slot: word(slot)}
		for i := 0; i < len(indexValue); i += 2 {
			s.Changes = append(s.Changes, bal.StorageChange{
				Index: uint32(indexValue[i]), Value: word(indexValue[i+1]),
			})
		}
		r.StorageChanges = append(r.StorageChanges, s)
	}
}

func reads(slots ...uint64) func(*bal.AccountChanges) {
	return func(r *bal.AccountChanges) {
		for _, s := range slots {
			r.StorageReads = append(r.StorageReads, word(s))
		}
	}
}
