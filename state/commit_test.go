package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

func TestCommitComparesTheCursorAndTheParent(t *testing.T) {
	s, c := builtStore(t, MemFS(), 1)
	commitNext(t, s, c, 5)
	before := allRows(t, s)
	at := c.cursor
	good, _ := childOf(at, common.Hash{1})
	change := func(f func(h *types.Header)) Block {
		h := types.CopyHeader(good)
		f(h)
		return Block{Header: h, Hash: h.Hash()}
	}
	for name, do := range map[string]struct {
		expect Cursor
		b      Block
		want   error
	}{
		"another cursor":  {Cursor{}, Block{Header: good, Hash: good.Hash()}, ErrCursorMoved},
		"another root":    {Cursor{at.Number, at.Hash, common.Hash{9}}, Block{}, ErrCursorMoved},
		"another parent":  {at, change(func(h *types.Header) { h.ParentHash[0]++ }), ErrNotChild},
		"a number ahead":  {at, change(func(h *types.Header) { h.Number.SetUint64(9) }), ErrNotChild},
		"the same number": {at, change(func(h *types.Header) { h.Number.SetUint64(1) }), ErrNotChild},
		"no header":       {at, Block{Hash: good.Hash()}, ErrNotChild},
		"a huge number": {at, change(func(h *types.Header) {
			h.Number = new(big.Int).Lsh(big.NewInt(1), 64)
		}), ErrNotChild},
		"another hash": {at, Block{Header: good, Hash: common.Hash{1}}, ErrNotChild},
	} {
		if err := s.Commit(do.expect, do.b, new(Layer)); !errors.Is(err, do.want) {
			t.Errorf("%s: %v, want %v", name, err, do.want)
		}
	}
	sameRows(t, allRows(t, s), before)
	mustClose(t, s)
}

func TestCommitRefusesABadLayerWhole(t *testing.T) {
	s, c := builtStore(t, MemFS(), 2)
	before := allRows(t, s)
	a := NewAccount()
	acc := a.AppendSlim(nil)
	one, two := common.Hash{1}, common.Hash{2}
	slot := func(account, slot common.Hash) SlotWrite {
		return SlotWrite{account, slot, nil, []byte{1}}
	}
	huge := make([]byte, maxLayerBytes/2) // never touched
	h, to := childOf(c.cursor, common.Hash{1})
	long := Block{Header: h, Hash: to.Hash, BAL: make([]byte, maxLayerBytes+1)}
	if err := s.Commit(c.cursor, long, new(Layer)); !errors.Is(err, ErrBadLayer) {
		t.Errorf("a list of more than a gigabyte: %v", err)
	}
	for name, l := range map[string]Layer{
		"accounts descend":      {Accounts: []AccountWrite{{two, nil, acc}, {one, nil, acc}}},
		"an account twice":      {Accounts: []AccountWrite{{one, nil, acc}, {one, nil, acc}}},
		"no account":            {Accounts: []AccountWrite{{one, nil, []byte{1}}}},
		"no account before":     {Accounts: []AccountWrite{{one, []byte{0x80}, acc}}},
		"slots descend":         {Slots: []SlotWrite{slot(one, two), slot(one, one)}},
		"accounts' slots mixed": {Slots: []SlotWrite{slot(two, one), slot(one, two)}},
		"a slot twice":          {Slots: []SlotWrite{slot(one, one), slot(one, one)}},
		"a slot of zero":        {Slots: []SlotWrite{{one, one, nil, []byte{0x80}}}},
		"a slot not trimmed":    {Slots: []SlotWrite{{one, one, nil, []byte{0x82, 0, 1}}}},
		"a path too long":       {Branches: []BranchWrite{{Path: trie.PathOf(one, 64), Row: []byte{1}}}},
		"a negative path":       {Branches: []BranchWrite{{Path: trie.Path{Len: -1}, Row: []byte{1}}}},
		"a huge row":            {Branches: []BranchWrite{{Row: make([]byte, 1<<16)}}},
		"codes descend":         {Codes: []CodeWrite{{two, []byte{1}}, {one, []byte{1}}}},
		"an empty code":         {Codes: []CodeWrite{{one, nil}}},
		"more than a gigabyte":  {Codes: []CodeWrite{{one, huge}, {two, huge}, {c.keys[0], huge}}},
		// The rows before the bad one must not be seen either.
		"good rows first": {
			Accounts: []AccountWrite{{c.keys[0], nil, acc}},
			Codes:    []CodeWrite{{one, nil}},
		},
	} {
		if err := s.Commit(c.cursor, Block{Header: h, Hash: to.Hash}, &l); !errors.Is(err, ErrBadLayer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sameRows(t, allRows(t, s), before)
	// The store goes on, and reads see nothing of what was refused.
	commitNext(t, s, c, 5)
	c.check(t, s)
	mustClose(t, s)
}

func TestCommitLeavesOutWhatChangesNothing(t *testing.T) {
	s, c := builtStore(t, MemFS(), 3)
	a := NewAccount()
	a.Nonce = 1
	acc, h := a.AppendSlim(nil), common.Hash{0xee}
	l := &Layer{
		Accounts: []AccountWrite{{h, acc, acc}},
		Slots:    []SlotWrite{{h, h, []byte{5}, []byte{5}}, {h, common.Hash{0xff}, nil, nil}},
	}
	b, u := c.next(new(Layer))
	if err := s.Commit(u.to, b, l); err != nil {
		t.Fatal(err)
	}
	sn := s.NewSnapshot()
	d, err := sn.ReverseDiff(u.from.Number, u.from.Hash)
	if err != nil || len(d.Accounts)+len(d.Slots)+len(d.Codes) != 0 {
		t.Errorf("reverse diff %+v, %v", d, err)
	}
	if _, ok, err := sn.Account(h); ok || err != nil {
		t.Errorf("account: %v, %v", ok, err)
	}
	mustClose(t, sn)
	mustClose(t, s)
}

func TestRevertKeepsCodeThatAnEarlierBlockBrought(t *testing.T) {
	s, c := builtStore(t, MemFS(), 4)
	code := CodeWrite{common.Hash{7}, []byte("code")}
	var undo []undone
	for range 2 { // both bring the same code; only the first is the one that brought it
		b, u := c.next(new(Layer))
		if err := s.Commit(u.to, b, &Layer{Codes: []CodeWrite{code}}); err != nil {
			t.Fatal(err)
		}
		undo = append(undo, u)
	}
	for i, want := range []bool{true, false} {
		u := undo[1-i]
		if err := s.Revert(u.from, u.to, new(Layer)); err != nil {
			t.Fatal(err)
		}
		sn := s.NewSnapshot()
		if got, err := sn.HasCode(code.Hash); err != nil || got != want {
			t.Errorf("after %d undone: %v, %v", i+1, got, err)
		}
		mustClose(t, sn)
	}
	mustClose(t, s)
}

func TestRevertRefusesWhatIsNotTheBlocksOwn(t *testing.T) {
	s, c := builtStore(t, MemFS(), 5)
	genesis := c.cursor
	var u undone
	for u.layer == nil || len(u.layer.Accounts) == 0 || len(u.layer.Slots) == 0 {
		u = commitNext(t, s, c, 6)
	}
	before := allRows(t, s)
	alter := func(f func(l *Layer)) *Layer {
		l := Layer{
			Accounts: append([]AccountWrite(nil), u.layer.Accounts...),
			Slots:    append([]SlotWrite(nil), u.layer.Slots...),
		}
		f(&l)
		return &l
	}
	other := NewAccount()
	other.Nonce = 77
	for name, do := range map[string]struct {
		expect, to Cursor
		l          *Layer
		want       error
	}{
		"another cursor": {genesis, u.to, u.layer, ErrCursorMoved},
		"not the parent": {u.from, Cursor{Number: u.to.Number}, u.layer, ErrNotChild},
		"another number": {u.from, Cursor{9, u.to.Hash, u.to.Root}, u.layer, ErrNotChild},
		"another root":   {u.from, Cursor{u.to.Number, u.to.Hash, common.Hash{}}, u.layer, ErrNotChild},
		"an account missing": {u.from, u.to, alter(func(l *Layer) { l.Accounts = l.Accounts[1:] }),
			ErrBadLayer},
		"an account too many": {u.from, u.to, alter(func(l *Layer) {
			w := AccountWrite{common.Hash{}, nil, other.AppendSlim(nil)}
			l.Accounts = append([]AccountWrite{w}, l.Accounts...)
		}), ErrBadLayer},
		"another account": {u.from, u.to, alter(func(l *Layer) {
			l.Accounts[0].Post = other.AppendSlim(nil)
		}), ErrBadLayer},
		"a slot missing": {u.from, u.to, alter(func(l *Layer) {
			l.Slots = l.Slots[:len(l.Slots)-1]
		}), ErrBadLayer},
		"a slot too many": {u.from, u.to, alter(func(l *Layer) {
			w := SlotWrite{common.MaxHash, common.MaxHash, nil, []byte{1}}
			l.Slots = append(l.Slots, w)
		}), ErrBadLayer},
		"another slot": {u.from, u.to, alter(func(l *Layer) {
			l.Slots[0].Pre, l.Slots[0].Post = nil, EncodeSlot(common.MaxHash)
		}), ErrBadLayer},
	} {
		if err := s.Revert(do.expect, do.to, do.l); !errors.Is(err, do.want) {
			t.Errorf("%s: %v, want %v", name, err, do.want)
		}
	}
	sameRows(t, allRows(t, s), before)
	mustClose(t, s)
}

func TestRevertStopsAtTheBlockTheStoreWasBuiltAt(t *testing.T) {
	s, c := builtStore(t, MemFS(), 6)
	err := s.Revert(c.cursor, genesisParent, new(Layer))
	if !errors.Is(err, ErrNotChild) && !errors.Is(err, ErrUnknownBlock) {
		t.Error(err)
	}
	mustClose(t, s)
}

func TestBlockRowsAreReadBack(t *testing.T) {
	s, c := builtStore(t, MemFS(), 7)
	l := c.layer(10)
	b, u := c.next(l)
	if err := s.Commit(u.to, b, l); err != nil {
		t.Fatal(err)
	}
	sn := s.NewSnapshot()
	n, hash := u.from.Number, u.from.Hash
	if h, err := sn.Header(n, hash); err != nil || h.Hash() != hash {
		t.Errorf("header %v, %v", h, err)
	}
	if got, ok, err := sn.HeaderNumber(hash); err != nil || !ok || got != n {
		t.Errorf("number %d %v %v", got, ok, err)
	}
	if raw, ok, err := sn.BAL(hash); err != nil || !ok || !bytes.Equal(raw, b.BAL) {
		t.Errorf("access list %q %v %v", raw, ok, err)
	}
	for _, w := range l.Codes {
		if code, ok, err := sn.Code(w.Hash); err != nil || !ok || !bytes.Equal(code, w.Code) {
			t.Errorf("code %x: %q %v %v", w.Hash, code, ok, err)
		}
	}
	if code, ok, err := sn.Code(EmptyCodeHash); err != nil || !ok || len(code) != 0 {
		t.Errorf("the empty code: %q %v %v", code, ok, err)
	}
	none := common.Hash{1, 2, 3}
	if _, err := sn.Header(n, none); !errors.Is(err, ErrUnknownBlock) {
		t.Errorf("no header: %v", err)
	}
	if _, err := sn.ReverseDiff(n, none); !errors.Is(err, ErrUnknownBlock) {
		t.Errorf("no reverse diff: %v", err)
	}
	_, hasNumber, err1 := sn.HeaderNumber(none)
	_, hasBAL, err2 := sn.BAL(none)
	_, hasCode, err3 := sn.Code(none)
	if hasNumber || hasBAL || hasCode || errors.Join(err1, err2, err3) != nil {
		t.Error(hasNumber, hasBAL, hasCode, err1, err2, err3)
	}
	mustClose(t, sn)
	mustClose(t, s)
}

func TestABlockLargerThanTheMemtablesIsCommittedWhole(t *testing.T) {
	s, c := builtStore(t, MemFS(), 8)
	l := new(Layer)
	for i := range 3000 { // some 1.5 MB where a memtable holds 64 KB
		k := common.Hash{byte(i >> 8), byte(i)}
		l.Branches = append(l.Branches, BranchWrite{Path: trie.PathOf(k, 40), Row: c.branch()})
	}
	b, u := c.next(l)
	if err := s.Commit(u.to, b, l); err != nil {
		t.Fatal(err)
	}
	c.check(t, s)
	commitNext(t, s, c, 5)
	s = reopen(t, s)
	c.check(t, s)
	mustClose(t, s)
}

// TestOverlayThatIsFullGoesToTables fills a generation by hand, so that it takes no more rows.
func TestOverlayThatIsFullGoesToTables(t *testing.T) {
	s, c := builtStore(t, MemFS(), 9)
	commitNext(t, s, c, 10)
	g := s.recent.newest()
	g.pos = maxArenaChunks*arenaChunkBytes - 1 // as if so much were in it
	u := commitNext(t, s, c, 10)
	if s.recent.newest() == g {
		t.Error("the full generation takes more rows")
	}
	c.check(t, s)
	r := newReader(t, s)
	for i := range c.keys {
		row, err := r.SlimAccount(&c.keys[i])
		if want := c.get(appendHashKey(nil, spaceAccount, &c.keys[i])); err != nil ||
			!bytes.Equal(row, want) {
			t.Fatalf("account %x: %x %v, want %x", c.keys[i], row, err, want)
		}
	}
	mustClose(t, r)
	if err := s.Revert(u.from, u.to, u.layer); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
}

// TestARowCacheThatIsFullIsEmptied: one that took a part of a generation would show older rows.
func TestARowCacheThatIsFullIsEmptied(t *testing.T) {
	s, c := builtStore(t, MemFS(), 11)
	for s.recent.written.keys == 0 {
		checkpointNext(t, s, c)
	}
	full := s.recent.written
	full.pos = maxArenaChunks*arenaChunkBytes - 64 // room for a row or none
	for s.recent.written == full {
		checkpointNext(t, s, c)
	}
	r := newReader(t, s)
	tr := r.AccountTrie()
	for key, want := range c.rows {
		if key[0] != spaceAccountBranch {
			continue
		}
		p, err := parsePath([]byte(key[1:]))
		if err != nil {
			t.Fatal(err)
		}
		if _, b, ok, err := tr.FirstBranch(p); err != nil || !ok || string(b.AppendTo(nil)) != want {
			t.Fatalf("branch %v: %v, %v", p, ok, err)
		}
	}
	mustClose(t, r)
	mustClose(t, s)
}

// newReader opens a reader at the store's cursor.
func newReader(t testing.TB, s *Store) *Reader {
	t.Helper()
	sn := s.NewSnapshot()
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, sn)
	return r
}

// TestSnapshotsReadWhileBlocksAreWritten has every account hold the number of the last block, so
// that a reader that saw two blocks at once would notice.
func TestSnapshotsReadWhileBlocksAreWritten(t *testing.T) {
	s, c := builtStore(t, MemFS(), 10)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	errs := make(chan error, 8)
	for i := range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := readOneBlock(s, c.keys, i%2 == 0); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var pre []byte
	for n := range 300 / slowdown {
		a := NewAccount()
		a.Nonce = c.cursor.Number + 1
		l := new(Layer)
		for i := range c.keys {
			w := AccountWrite{Hash: c.keys[i], Pre: pre, Post: a.AppendSlim(nil)}
			if n == 0 {
				w.Pre = c.get(appendHashKey(nil, spaceAccount, &w.Hash))
			}
			l.Accounts = append(l.Accounts, w)
			l.Branches = append(l.Branches, BranchWrite{Path: trie.PathOf(w.Hash, 63), Row: c.branch()})
		}
		pre = a.AppendSlim(nil)
		b, u := c.next(l)
		if err := s.Commit(u.to, b, l); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	mustClose(t, s)
}

func readOneBlock(s *Store, keys []common.Hash, withReader bool) error {
	sn := s.NewSnapshot()
	defer sn.Close()
	at, _ := sn.Cursor()
	if at.Number == 0 {
		return nil
	}
	read := func(h *common.Hash) (Account, bool, error) { return sn.Account(*h) }
	if withReader {
		r, err := sn.NewReader()
		if err != nil {
			return err
		}
		defer r.Close()
		read = r.Account
	}
	for i := range keys {
		a, ok, err := read(&keys[i])
		if err != nil || !ok || a.Nonce != at.Number {
			return fmt.Errorf("at %v account %d has nonce %d, %v, %v", at, i, a.Nonce, ok, err)
		}
	}
	return nil
}
