package state

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"math/rand"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// testOptions are those of a small store: few blocks are written before rows move to tables, so
// that short tests see many checkpoints.
func testOptions(fs FS) Options {
	return Options{
		Dir: "db", FS: fs, CacheBytes: MinCacheBytes, MemTableBytes: minMemTableBytes,
		CheckpointBlocks: 4,
	}
}

func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// childOf makes a header on top of the cursor with some root, and the cursor that it leads to.
func childOf(parent Cursor, root common.Hash) (*types.Header, Cursor) {
	h := &types.Header{
		ParentHash: parent.Hash,
		Number:     new(big.Int).SetUint64(parent.Number + 1),
		Root:       root,
		Difficulty: new(big.Int),
		Extra:      []byte{},
	}
	return h, Cursor{Number: parent.Number + 1, Hash: h.Hash(), Root: root}
}

var genesisParent = Cursor{Number: 1<<64 - 1}

// chain is a store with a model of its rows beside it.
type chain struct {
	r      *rand.Rand
	cursor Cursor
	rows   map[string]string // flat rows and branch rows by key
	codes  map[common.Hash]string
	keys   []common.Hash // the hashes that accounts and slots have
	blocks map[common.Hash]undone
}

// newChain has keys with long shared prefixes among others, so that paths nest.
func newChain(r *rand.Rand, keys int) *chain {
	c := &chain{r: r, rows: map[string]string{}, codes: map[common.Hash]string{},
		blocks: map[common.Hash]undone{}}
	for range keys {
		h := c.hash()
		if len(c.keys) > 0 && r.Intn(3) > 0 {
			copy(h[:r.Intn(32)], c.keys[r.Intn(len(c.keys))][:])
		}
		if r.Intn(20) == 0 {
			h = common.Hash(bytes.Repeat([]byte{byte(r.Intn(2) * 255)}, 32))
		}
		c.keys = append(c.keys, h)
	}
	slices.SortFunc(c.keys, func(a, b common.Hash) int { return bytes.Compare(a[:], b[:]) })
	c.keys = slices.Compact(c.keys)
	return c
}

func (c *chain) hash() (h common.Hash) {
	c.r.Read(h[:])
	return h
}

func (c *chain) account() []byte {
	a := NewAccount()
	a.Nonce = c.r.Uint64() >> c.r.Intn(64)
	a.Balance = *uint256.NewInt(c.r.Uint64() >> c.r.Intn(64))
	if c.r.Intn(2) == 0 {
		a.StorageRoot = c.hash()
	}
	if c.r.Intn(2) == 0 {
		a.CodeHash = c.hash()
	}
	return a.AppendSlim(nil)
}

func (c *chain) slot() []byte {
	h := c.hash()
	clear(h[:c.r.Intn(32)])
	if h == (common.Hash{}) {
		h[31] = 1
	}
	return EncodeSlot(h)
}

func (c *chain) branch() []byte {
	b := trie.Branch{Mask: uint16(c.r.Intn(1<<16)) | 1<<3 | 1<<c.r.Intn(3)}
	b.Sub = b.Mask & uint16(c.r.Intn(1<<16))
	for x := range byte(16) {
		if b.Mask>>x&1 != 0 {
			h := c.hash()
			b.Refs = append(append(b.Refs, 0xa0), h[:]...)
		}
	}
	return b.AppendTo(nil)
}

// layer makes a random layer of about n rows a list, ascending or with shuffled branches.
func (c *chain) layer(n int) *Layer {
	l := new(Layer)
	pick := func() []common.Hash {
		var hs []common.Hash
		for range c.r.Intn(n + 1) {
			hs = append(hs, c.keys[c.r.Intn(len(c.keys))])
		}
		slices.SortFunc(hs, func(a, b common.Hash) int { return bytes.Compare(a[:], b[:]) })
		return slices.Compact(hs)
	}
	for _, h := range pick() {
		w := AccountWrite{Hash: h, Pre: c.get(appendHashKey(nil, spaceAccount, &h))}
		if w.Post = c.account(); w.Pre != nil && c.r.Intn(2) == 0 {
			w.Post = nil
		}
		l.Accounts = append(l.Accounts, w)
	}
	for _, a := range pick() {
		for _, h := range pick() {
			w := SlotWrite{Account: a, Slot: h, Pre: c.get(appendSlotKey(nil, &a, &h))}
			if w.Post = c.slot(); w.Pre != nil && c.r.Intn(2) == 0 {
				w.Post = nil
			}
			l.Slots = append(l.Slots, w)
		}
	}
	l.Branches = c.branches(pick(), pick())
	known := slices.SortedFunc(maps.Keys(c.codes), func(a, b common.Hash) int {
		return bytes.Compare(a[:], b[:])
	})
	for range c.r.Intn(3) {
		h := c.hash()
		code := append([]byte("code "), h[:]...)
		if h = keccak.Sum(code); len(known) > 0 && c.r.Intn(2) == 0 {
			h = known[c.r.Intn(len(known))] // deployed again
			code = []byte(c.codes[h])
		}
		if !slices.ContainsFunc(l.Codes, func(w CodeWrite) bool { return w.Hash == h }) {
			l.Codes = append(l.Codes, CodeWrite{h, code})
		}
	}
	slices.SortFunc(l.Codes, func(a, b CodeWrite) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	return l
}

func (c *chain) branches(accounts, keys []common.Hash) (ws []BranchWrite) {
	seen := map[string]bool{}
	add := func(w BranchWrite) {
		key := string(w.key())
		if seen[key] {
			return
		}
		seen[key] = true
		if w.Row = c.branch(); c.rows[key] != "" && c.r.Intn(2) == 0 {
			w.Row = nil
		}
		ws = append(ws, w)
	}
	path := func(k common.Hash) trie.Path { return trie.PathOf(k, c.r.Intn(c.r.Intn(64)+1)) }
	for _, k := range keys {
		add(BranchWrite{Path: path(k)})
		for _, a := range accounts {
			add(BranchWrite{Account: a, Storage: true, Path: path(k)})
		}
	}
	slices.SortFunc(ws, func(a, b BranchWrite) int { return compareBranches(&a, &b) })
	if c.r.Intn(2) == 0 {
		c.r.Shuffle(len(ws), func(i, j int) { ws[i], ws[j] = ws[j], ws[i] })
	}
	return ws
}

func (w *BranchWrite) key() []byte {
	if w.Storage {
		return appendBranchKey(nil, &w.Account, &w.Path)
	}
	return appendBranchKey(nil, nil, &w.Path)
}

func (c *chain) get(key []byte) []byte {
	if v := c.rows[string(key)]; v != "" {
		return []byte(v)
	}
	return nil
}

func (c *chain) set(key, value []byte) {
	if len(value) == 0 {
		delete(c.rows, string(key))
	} else {
		c.rows[string(key)] = string(value)
	}
}

// undone is what it takes to go back over a block.
type undone struct {
	from, to Cursor
	applied  *Layer // the block's own
	layer    *Layer // the way back
	rows     map[string]string
	codes    map[common.Hash]string
}

// next makes a block of the layer, and applies it to the model alone.
func (c *chain) next(l *Layer) (Block, undone) {
	h, to := childOf(c.cursor, c.hash())
	u := undone{to, c.cursor, l, new(Layer), maps.Clone(c.rows), maps.Clone(c.codes)}
	for _, w := range l.Accounts {
		u.layer.Accounts = append(u.layer.Accounts, AccountWrite{w.Hash, w.Post, w.Pre})
		c.set(appendHashKey(nil, spaceAccount, &w.Hash), w.Post)
	}
	for _, w := range l.Slots {
		u.layer.Slots = append(u.layer.Slots, SlotWrite{w.Account, w.Slot, w.Post, w.Pre})
		c.set(appendSlotKey(nil, &w.Account, &w.Slot), w.Post)
	}
	for _, w := range l.Branches {
		back := w
		back.Row = c.get(w.key())
		u.layer.Branches = append(u.layer.Branches, back)
		c.set(w.key(), w.Row)
	}
	for _, w := range l.Codes {
		c.codes[w.Hash] = string(w.Code)
	}
	c.cursor, c.blocks[to.Hash] = to, u
	return Block{Header: h, Hash: to.Hash, BAL: []byte(fmt.Sprintf("bal %d", to.Number))}, u
}

// back undoes a block in the model.
func (c *chain) back(u undone) { c.cursor, c.rows, c.codes = u.to, u.rows, u.codes }

// replay does again what the log of a store has beyond its checkpoint, as the owner of a store
// that crashed does.
func (c *chain) replay(t testing.TB, s *Store) {
	t.Helper()
	for _, l := range s.Logged() {
		c.again(t, s, l)
	}
	if n := len(s.Logged()); n > 0 {
		t.Fatalf("%d logged commits are left", n)
	}
}

func (c *chain) again(t testing.TB, s *Store, l Logged) {
	t.Helper()
	u, ok := c.blocks[l.Hash]
	if !ok {
		t.Fatalf("the log has %v, which never was", l)
	}
	if l.Undone {
		if err := s.Revert(u.from, u.to, u.layer); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := s.LoggedBlock(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(u.to, b, u.applied); err != nil {
		t.Fatal(err)
	}
}

// openCrashed opens what a crash left, and does again what the log has.
func (c *chain) openCrashed(t testing.TB, fs FS) *Store {
	t.Helper()
	s := mustOpen(t, testOptions(fs))
	c.replay(t, s)
	return s
}

// build makes the model's rows the state of an empty store, at block 0.
func (c *chain) build(t testing.TB, s *Store) {
	t.Helper()
	h, cursor := childOf(genesisParent, c.hash())
	b, err := s.NewBulk(BulkOptions{ChainID: 7, Target: cursor})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.addAll(b); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(h, cursor); err != nil {
		t.Fatal(err)
	}
	c.cursor = cursor
}

// addAll loads the model's flat rows and flushes its branch rows.
func (c *chain) addAll(b *Bulk) error {
	rows := b.NewRows()
	for _, key := range slices.Sorted(maps.Keys(c.rows)) {
		if err := c.addTo(b, rows, []byte(key)); err != nil {
			return err
		}
	}
	for _, code := range c.codes {
		if err := b.Code([]byte(code)); err != nil {
			return err
		}
	}
	_, err := rows.Flush(KeyRange{To: common.MaxHash})
	return err
}

func (c *chain) addTo(b *Bulk, rows *BulkRows, key []byte) error {
	value := []byte(c.rows[string(key)])
	switch key[0] {
	case spaceAccount:
		a, err := DecodeSlim(value)
		if err != nil {
			return err
		}
		return b.Account(common.Hash(key[1:]), &a)
	case spaceSlot:
		v, err := DecodeSlot(value)
		if err != nil {
			return err
		}
		return b.Slot(common.Hash(key[1:33]), common.Hash(key[33:]), v)
	}
	return putRow(rows, key, value)
}

// putRow adds a branch row by its key.
func putRow(rows *BulkRows, key, value []byte) error {
	path := key[1:]
	if key[0] == spaceStorageBranch {
		path = key[33:]
	}
	p, err := parsePath(path)
	if err != nil {
		return err
	}
	br, err := trie.DecodeBranch(value)
	if err != nil {
		return err
	}
	if key[0] == spaceAccountBranch {
		return rows.PutAccountBranch(p, br)
	}
	account := common.Hash(key[1:33])
	return rows.PutStorageBranch(&account, p, br)
}

// allRows reads every row of the store.
func allRows(t testing.TB, s *Store) map[string]string {
	t.Helper()
	rows := map[string]string{}
	if err := s.Rows(func(k, v []byte) error { rows[string(k)] = string(v); return nil }); err != nil {
		t.Fatal(err)
	}
	return rows
}

// sameRows fails the test at the first rows that differ.
func sameRows(t testing.TB, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("row %q: %x, want %x", k, got[k], v)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Fatalf("row %q should not be there", k)
		}
	}
}

// check compares the store's flat rows, branch rows and codes with the model.
func (c *chain) check(t testing.TB, s *Store) {
	t.Helper()
	if at, ok := s.Cursor(); !ok || at != c.cursor {
		t.Fatalf("cursor %v, want %v", at, c.cursor)
	}
	want := maps.Clone(c.rows)
	for h, code := range c.codes {
		want[string(appendHashKey(nil, spaceCode, &h))] = code
	}
	got := allRows(t, s)
	maps.DeleteFunc(got, func(k, _ string) bool { return bytes.IndexByte([]byte("asASc"), k[0]) < 0 })
	sameRows(t, got, want)
}

func mustRLP(t testing.TB, v any) []byte {
	t.Helper()
	b, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newRand(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }

func mustRLPHeader(b Block) []byte {
	enc, err := rlp.EncodeToBytes(b.Header)
	if err != nil {
		panic(err)
	}
	return enc
}
