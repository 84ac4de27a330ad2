package state

import (
	"errors"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

func TestCloseWaitsForNobodyAndSaysWhatIsOpen(t *testing.T) {
	s, c := builtStore(t, MemFS(), 1)
	sn := s.NewSnapshot()
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	it := sn.Accounts(common.Hash{})
	for _, last := range []interface{ Close() error }{sn, r, it} {
		if err := s.Close(); !errors.Is(err, ErrSnapshotsOpen) {
			t.Fatalf("close with something open: %v", err)
		}
		commitNext(t, s, c, 5) // the store works on
		mustClose(t, last)
	}
	mustClose(t, s)
}

func TestReadersAndIteratorsOutliveTheirSnapshot(t *testing.T) {
	s, c := builtStore(t, MemFS(), 2)
	want := 0
	for k := range c.rows {
		if k[0] == spaceAccount {
			want++
		}
	}
	sn := s.NewSnapshot()
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	it := sn.Accounts(common.Hash{})
	mustClose(t, sn)
	for range 50 { // rows move to tables, tables are compacted away
		commitNext(t, s, c, 12)
	}
	n := 0
	for ; it.Next(); n++ {
		h := it.Key()
		a, ok, err := r.Account(&h)
		b, decodeErr := it.Account()
		if err != nil || !ok || decodeErr != nil || a != b {
			t.Fatalf("account %x: %+v %v %v, %+v %v", h, a, ok, err, b, decodeErr)
		}
	}
	if it.Error() != nil || n != want {
		t.Errorf("%d accounts, want %d: %v", n, want, it.Error())
	}
	mustClose(t, it)
	mustClose(t, r)
	mustClose(t, s)
}

func TestWhatIsClosedSaysSo(t *testing.T) {
	s, c := builtStore(t, MemFS(), 3)
	sn := s.NewSnapshot()
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, r)
	mustClose(t, sn)
	h := common.Hash{1}
	_, _, _, e1 := r.AccountTrie().FirstBranch(trie.Path{})
	_, _, _, e2 := r.StorageTrie(h).FirstLeaf(trie.Path{})
	_, e3 := r.Slot(&h, &h)
	_, _, e4 := r.Account(&h)
	_, _, e5 := sn.Account(h)
	_, e6 := sn.NewReader()
	it := sn.AllSlots()
	if it.Next() {
		t.Error("an iterator of a closed snapshot moves")
	}
	mustClose(t, it)
	mustClose(t, s)
	late := s.NewSnapshot()
	if _, ok := late.Cursor(); ok {
		t.Error("a snapshot of a closed store has a cursor")
	}
	_, e7 := late.Slot(h, h)
	_, e8 := s.NewBulk(BulkOptions{ChainID: 1})
	_, e9 := s.Sizes()
	b, u := c.next(new(Layer))
	for i, err := range []error{e1, e2, e3, e4, e5, e6, it.Error(), e7, e8, e9, r.Close(), sn.Close(),
		late.Close(), late.Err(), sn.Err(),
		s.Commit(u.to, b, new(Layer)), s.Revert(u.from, u.to, new(Layer)), s.Close()} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestAnUnbuiltStoreHasNothingAndTakesNoBlock(t *testing.T) {
	s := mustOpen(t, testOptions(MemFS()))
	h, to := childOf(Cursor{}, common.Hash{})
	err := s.Commit(Cursor{}, Block{Header: h, Hash: to.Hash}, new(Layer))
	if !errors.Is(err, ErrNotBuilt) {
		t.Error(err)
	}
	sn := s.NewSnapshot()
	if _, ok := sn.Cursor(); ok {
		t.Error("a cursor")
	}
	if _, ok, err := sn.Account(to.Hash); ok || err != nil {
		t.Error(ok, err)
	}
	r, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := r.AccountTrie().FirstBranch(trie.Path{}); ok || err != nil {
		t.Error(ok, err)
	}
	if _, _, ok, err := r.AccountTrie().FirstLeaf(trie.Path{}); ok || err != nil {
		t.Error(ok, err)
	}
	mustClose(t, r)
	mustClose(t, sn)
	mustClose(t, s)
}
