package storageactor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

var errPlanted = errors.New("planted")

// faults fails the n-th call of those that ask it, counted from 1; 0: none.
type faults struct {
	calls  atomic.Int64
	at     int64
	sticky bool // and all calls behind it
}

func (f *faults) err() error {
	if f == nil || f.at == 0 {
		return nil
	}
	if n := f.calls.Add(1); n == f.at || f.sticky && n > f.at {
		return errPlanted
	}
	return nil
}

// memStore is a Store in memory. Rows and ranges that were flushed are kept apart.
type memStore struct {
	slots    map[common.Hash][]messages.StorageLeaf
	owners   []common.Hash // ascending
	accounts []messages.StorageLeaf
	reads    faults
	puts     faults
	writes   faults
	flushes  faults

	mu      sync.Mutex
	rows    map[string]string
	done    []state.KeyRange
	roots   map[common.Hash]common.Hash
	dropped map[common.Hash]bool
	inUse   atomic.Int64 // readers
}

func newMemStore() *memStore {
	return &memStore{
		slots: map[common.Hash][]messages.StorageLeaf{}, rows: map[string]string{},
		roots: map[common.Hash]common.Hash{}, dropped: map[common.Hash]bool{},
	}
}

func (s *memStore) add(account common.Hash, leaves []messages.StorageLeaf) {
	if len(leaves) == 0 {
		return
	}
	if _, ok := s.slots[account]; !ok {
		at, _ := slices.BinarySearchFunc(s.owners, account, common.Hash.Cmp)
		s.owners = slices.Insert(s.owners, at, account)
	}
	s.slots[account] = leaves
}

func (s *memStore) NewReader() (Reader, error) {
	if err := s.reads.err(); err != nil {
		return nil, err
	}
	s.inUse.Add(1)
	return &memReader{s: s}, nil
}

func (s *memStore) NewRows() Rows { return &memRows{s: s, rows: map[string]string{}} }

type memReader struct {
	s       *memStore
	account common.Hash
	slot    int
	next    int
	value   []byte
	key     common.Hash
}

func (r *memReader) Refresh() error { return r.s.reads.err() }

func (r *memReader) Close() error { r.s.inUse.Add(-1); return nil }

func (r *memReader) SeekSlots(account, from *common.Hash) {
	r.account = *account
	r.slot, _ = slices.BinarySearchFunc(r.s.slots[*account], *from, byKey)
}

func byKey(l messages.StorageLeaf, k common.Hash) int { return l.Slot.Cmp(k) }

func (r *memReader) NextSlot() (*common.Hash, []byte, bool, error) {
	if err := r.s.reads.err(); err != nil {
		return nil, nil, false, err
	}
	leaves := r.s.slots[r.account]
	if r.slot >= len(leaves) {
		return nil, nil, false, nil
	}
	r.key = leaves[r.slot].Slot
	r.value = append(r.value[:0], leaves[r.slot].Value...) // valid until the next call only
	r.slot++
	return &r.key, r.value, true, nil
}

func (r *memReader) NextStorageAccount(after *common.Hash) (common.Hash, bool, error) {
	if err := r.s.reads.err(); err != nil {
		return common.Hash{}, false, err
	}
	at := 0
	if after != nil {
		var found bool
		if at, found = slices.BinarySearchFunc(r.s.owners, *after, common.Hash.Cmp); found {
			at++
		}
	}
	if at == len(r.s.owners) {
		return common.Hash{}, false, nil
	}
	return r.s.owners[at], true, nil
}

func (r *memReader) SeekAccounts(from *common.Hash) {
	r.next, _ = slices.BinarySearchFunc(r.s.accounts, *from, byKey)
}

func (r *memReader) NextAccount() (*common.Hash, []byte, bool, error) {
	if err := r.s.reads.err(); err != nil {
		return nil, nil, false, err
	}
	if r.next == len(r.s.accounts) {
		return nil, nil, false, nil
	}
	l := &r.s.accounts[r.next]
	r.next++
	value := l.Value
	r.s.mu.Lock()
	root, ok := r.s.roots[l.Slot]
	r.s.mu.Unlock()
	if ok {
		a, err := state.DecodeSlim(value)
		if err != nil {
			return nil, nil, false, err
		}
		a.StorageRoot = root
		value = a.AppendSlim(nil)
	}
	return &l.Slot, value, true, nil
}

type memRows struct {
	s       *memStore
	rows    map[string]string
	roots   []messages.StorageRoot
	dropped []common.Hash
	bytes   int
	busy    atomic.Bool
	written bool
}

func rowKey(account *common.Hash, p trie.Path) string {
	return fmt.Sprintf("%x/%v", account[:], p)
}

func (w *memRows) put(key string, br trie.Branch) error {
	if !w.busy.CompareAndSwap(false, true) {
		panic("a buffer is used by two at once")
	}
	defer w.busy.Store(false)
	if w.written {
		panic("a row comes behind Write")
	}
	if err := w.s.puts.err(); err != nil {
		return err
	}
	row := string(br.AppendTo(nil))
	if old, ok := w.rows[key]; ok && old != row {
		panic("two rows at " + key)
	}
	w.rows[key] = row
	w.bytes += len(row)
	return nil
}

func (w *memRows) PutStorageBranch(a *common.Hash, p trie.Path, br trie.Branch) error {
	return w.put(rowKey(a, p), br)
}

func (w *memRows) PutAccountBranch(p trie.Path, br trie.Branch) error {
	return w.put("accounts/"+p.String(), br)
}

func (w *memRows) SetStorageRoot(account, root common.Hash) {
	w.roots = append(w.roots, messages.StorageRoot{Account: account, Root: root})
}

func (w *memRows) DropStorage(account common.Hash) { w.dropped = append(w.dropped, account) }

func (w *memRows) Drop(account *common.Hash) {
	for k := range w.rows {
		if len(k) > 64 && k[:64] == fmt.Sprintf("%x", account[:]) {
			delete(w.rows, k)
		}
	}
}

func (w *memRows) Buffered() int { return w.bytes }

func (w *memRows) Write(done ...state.KeyRange) error {
	if !w.busy.CompareAndSwap(false, true) {
		panic("a buffer is used by two at once")
	}
	defer w.busy.Store(false)
	w.written = true
	return w.s.writes.err()
}

func (w *memRows) Flush(done ...state.KeyRange) (state.FlushStats, error) {
	if !w.busy.CompareAndSwap(false, true) {
		panic("a buffer is used by two at once")
	}
	defer w.busy.Store(false)
	if err := w.s.flushes.err(); err != nil {
		return state.FlushStats{}, err
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	for k, row := range w.rows {
		if old, ok := w.s.rows[k]; ok && old != row {
			panic("another row is stored at " + k)
		}
		w.s.rows[k] = row
	}
	w.s.done = append(w.s.done, done...)
	for _, r := range w.roots {
		w.s.roots[r.Account] = r.Root
	}
	for _, a := range w.dropped {
		w.s.dropped[a] = true
	}
	stats := state.FlushStats{Rows: uint64(len(w.rows)), Bytes: uint64(w.bytes)}
	w.Discard()
	return stats, nil
}

func (w *memRows) Discard() {
	clear(w.rows)
	w.roots, w.dropped, w.bytes, w.written = nil, nil, 0, false
}

// ranges are the done ranges, joined where they touch.
func (s *memStore) ranges(t testing.TB) []state.KeyRange {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.done)
	slices.SortFunc(all, func(a, b state.KeyRange) int { return a.From.Cmp(b.From) })
	var out []state.KeyRange
	for _, r := range all {
		if r.From.Cmp(r.To) > 0 {
			t.Fatalf("range from %s to %s", r.From, r.To)
		}
		n := len(out)
		switch {
		case n > 0 && out[n-1].To.Cmp(r.From) >= 0:
			t.Fatalf("%s is done twice", r.From)
		case n > 0 && successor(out[n-1].To) == r.From:
			out[n-1].To = r.To
		default:
			out = append(out, r)
		}
	}
	return out
}

// stackRoot is go-ethereum's root of the leaves.
func stackRoot(t testing.TB, leaves []messages.StorageLeaf) common.Hash {
	t.Helper()
	st := gethtrie.NewStackTrie(nil)
	for i := range leaves {
		if err := st.Update(leaves[i].Slot[:], leaves[i].Value); err != nil {
			t.Fatal(err)
		}
	}
	return st.Hash()
}

func rlpValue(v uint64) []byte {
	b, err := rlp.EncodeToBytes(v + 1)
	if err != nil {
		panic(err)
	}
	return b
}

// hashed are n leaves with evenly spread keys.
func hashed(r *rand.Rand, n int) []messages.StorageLeaf {
	return under(r, trie.Path{}, n)
}

// under are n leaves whose keys have a prefix and are evenly spread below it.
func under(r *rand.Rand, p trie.Path, n int) []messages.StorageLeaf {
	leaves := make([]messages.StorageLeaf, 0, n)
	for range n {
		k := randomHash(r)
		mask := lastBelow(trie.PathOf(common.Hash{}, p.Len))
		for i := range k {
			k[i] = k[i]&mask[i] | p.Key[i]
		}
		value := rlpValue(r.Uint64() >> r.IntN(64))
		leaves = append(leaves, messages.StorageLeaf{Slot: k, Value: value})
	}
	return sorted(leaves)
}

func sorted(leaves []messages.StorageLeaf) []messages.StorageLeaf {
	slices.SortFunc(leaves, func(a, b messages.StorageLeaf) int {
		return bytes.Compare(a.Slot[:], b.Slot[:])
	})
	return slices.CompactFunc(leaves, func(a, b messages.StorageLeaf) bool {
		return a.Slot == b.Slot
	})
}

func randomHash(r *rand.Rand) (h common.Hash) {
	for i := 0; i < len(h); i += 8 {
		binary.BigEndian.PutUint64(h[i:], r.Uint64())
	}
	return h
}

// randomHashes are n hashes, ascending.
func randomHashes(r *rand.Rand, n int) []common.Hash {
	hs := make([]common.Hash, n)
	for i := range hs {
		hs[i] = randomHash(r)
	}
	slices.SortFunc(hs, common.Hash.Cmp)
	return slices.Compact(hs)
}

// pathOf is the path of some hex digits.
func pathOf(digits string) trie.Path {
	p := trie.Path{}
	for _, c := range digits {
		x := byte(c - '0')
		if c >= 'a' {
			x = byte(c-'a') + 10
		}
		p = p.Child(x)
	}
	return p
}

// slimAccount is a flat account row.
func slimAccount(nonce uint64, root common.Hash) []byte {
	a := state.NewAccount()
	a.Nonce, a.Balance, a.StorageRoot = nonce, *uint256.NewInt(nonce * 7), root
	return a.AppendSlim(nil)
}
