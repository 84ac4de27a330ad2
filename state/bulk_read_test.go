package state

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// flatModel is what a BulkReader should show.
type flatModel struct {
	keys   []string // ascending
	rows   map[string]string
	slotAt int // index of the next slot key, of the account
	acctAt int
	slotOf string
}

func (m *flatModel) at(key string) int {
	i, _ := slices.BinarySearch(m.keys, key)
	return i
}

// nextSlot returns the next slot's key, or "".
func (m *flatModel) nextSlot() string {
	if m.slotAt < len(m.keys) {
		if k := m.keys[m.slotAt]; k[0] == spaceSlot && k[1:33] == m.slotOf {
			m.slotAt++
			return k
		}
	}
	return ""
}

// TestBulkReaderReadsWhatASortedListHas makes random calls and compares each answer with a list.
func TestBulkReaderReadsWhatASortedListHas(t *testing.T) {
	for seed := range int64(20) {
		p := newBuildPlan(seed, 20)
		s, b, _ := emptyBuild(t)
		b.load.slots.w.cut = 500 // many tables
		for _, k := range p.load {
			if err := p.loadRow(b, k, "", ""); err != nil {
				t.Fatal(err)
			}
		}
		m := &flatModel{rows: maps.Clone(p.flat), keys: slices.Clone(p.load)}
		slices.Sort(m.keys)
		c := newChain(newRand(seed), 20)
		for _, k := range m.keys {
			if k[0] == spaceAccount && c.r.Intn(3) == 0 { // gets another root
				m.correct(t, b, k, c.hash())
			}
		}
		if err := errors.Join(b.SetStorageRoot(common.Hash{5, 1}, common.Hash{1}), b.Sync()); err != nil {
			t.Fatal(err)
		}
		readRandomly(t, b, m, c, p)
		mustClose(t, s)
	}
}

func (m *flatModel) correct(t *testing.T, b *Bulk, k string, root common.Hash) {
	a, err := DecodeSlim([]byte(m.rows[k]))
	if err != nil {
		t.Fatal(err)
	}
	a.StorageRoot = root
	m.rows[k] = string(a.AppendSlim(nil))
	if err := b.SetStorageRoot(common.Hash([]byte(k[1:])), root); err != nil {
		t.Fatal(err)
	}
}

func readRandomly(t *testing.T, b *Bulk, m *flatModel, c *chain, p *buildPlan) {
	t.Helper()
	r, err := b.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	account := func() common.Hash {
		if c.r.Intn(4) == 0 {
			return c.hash()
		}
		return p.tries[c.r.Intn(len(p.tries))]
	}
	m.slotAt, m.acctAt = len(m.keys), len(m.keys)
	for range 2000 {
		switch c.r.Intn(8) {
		case 0:
			a, from := account(), common.Hash{}
			if c.r.Intn(3) == 0 {
				from = c.hash()
			}
			r.SeekSlots(&a, &from)
			m.slotOf, m.slotAt = string(a[:]), m.at(string(appendSlotKey(nil, &a, &from)))
		case 1:
			m.checkStorageAccount(t, r, account(), c.r.Intn(9) == 0)
		case 2:
			a := account()
			r.SeekAccounts(&a)
			m.acctAt = m.at(string(appendHashKey(nil, spaceAccount, &a)))
		case 3:
			m.checkAccount(t, r)
		case 4:
			if c.r.Intn(30) == 0 {
				if err := r.Refresh(); err != nil {
					t.Fatal(err)
				}
				m.slotAt, m.acctAt = len(m.keys), len(m.keys)
			}
		default:
			slot, value, ok, err := r.NextSlot()
			want := m.nextSlot()
			if err != nil || ok != (want != "") {
				t.Fatalf("slot %v %v, want %x", ok, err, want)
			}
			if ok && (string(slot[:]) != want[33:] || string(value) != m.rows[want]) {
				t.Fatalf("slot %x: %x, want %x", slot, value, want)
			}
		}
	}
	mustClose(t, r)
	if _, _, _, err := r.NextSlot(); !errors.Is(err, ErrClosed) {
		t.Errorf("a slot of a closed reader: %v", err)
	}
	if err := errors.Join(r.Refresh()); !errors.Is(err, ErrClosed) {
		t.Errorf("refresh of a closed reader: %v", err)
	}
}

func (m *flatModel) checkStorageAccount(
	t *testing.T, r *BulkReader, after common.Hash, first bool,
) {
	t.Helper()
	at := m.at(string(appendSlotKey(nil, &after, &common.MaxHash)) + "\x00")
	p := &after
	if first {
		p, at = nil, m.at(string(spaceSlot))
	}
	got, ok, err := r.NextStorageAccount(p)
	if err != nil || ok != (at < len(m.keys)) || ok && string(got[:]) != m.keys[at][1:33] {
		t.Fatalf("account with slots behind %x: %x %v %v", after, got, ok, err)
	}
	m.slotAt = at
	m.slotOf = string(got[:])
}

func (m *flatModel) checkAccount(t *testing.T, r *BulkReader) {
	t.Helper()
	hash, slim, ok, err := r.NextAccount()
	want := ""
	if m.acctAt < len(m.keys) && m.keys[m.acctAt][0] == spaceAccount {
		want = m.keys[m.acctAt]
		m.acctAt++
	}
	if err != nil || ok != (want != "") {
		t.Fatalf("account %v %v, want %x", ok, err, want)
	}
	if ok && (string(hash[:]) != want[1:] || string(slim) != m.rows[want]) {
		t.Fatalf("account %x: %x, want %x", hash, slim, m.rows[want])
	}
}

// TestAReaderSeesWhatWasSyncedBeforeIt reads beside a load.
func TestAReaderSeesWhatWasSyncedBeforeIt(t *testing.T) {
	s, b, commit := emptyBuild(t)
	a := NewAccount()
	h := func(x byte) common.Hash { return common.Hash{x} }
	count := func(r *BulkReader) (n int) {
		r.SeekAccounts(&common.Hash{})
		for {
			_, _, ok, err := r.NextAccount()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return n
			}
			n++
		}
	}
	r, err := b.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Account(h(1), &a); err != nil || count(r) != 0 {
		t.Errorf("%d accounts, %v", count(r), err)
	}
	if err := b.Sync(); err != nil || count(r) != 0 {
		t.Errorf("%d accounts after Sync, %v", count(r), err)
	}
	if err := r.Refresh(); err != nil || count(r) != 1 {
		t.Errorf("%d accounts after Refresh, %v", count(r), err)
	}
	commit()
	if n := count(r); n != 1 {
		t.Errorf("%d accounts after Commit", n)
	}
	if err := s.Close(); !errors.Is(err, ErrSnapshotsOpen) {
		t.Errorf("close beside a reader: %v", err)
	}
	mustClose(t, r)
	mustClose(t, s)
	if root := a.StorageRoot; root != trie.EmptyRoot {
		t.Errorf("root %x", root)
	}
}
