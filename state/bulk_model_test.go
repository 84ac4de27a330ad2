package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// buildPlan is a state, as a loader and workers give it to a build: accounts without storage
// roots, which corrections bring, and slots of accounts that do not exist, which are dropped.
type buildPlan struct {
	header *types.Header
	target Cursor
	rows   map[string]string // what the store holds in the end, without codes
	codes  []string
	load   []string            // keys of flat rows, ascending
	flat   map[string]string   // as they are loaded
	tries  []common.Hash       // accounts with branch rows or slots, ascending
	rowsOf map[string][]string // keys of branch rows by account; "" is the account trie
	drop   map[common.Hash]bool
	before map[string]string // of a rebuild: the store's rows
}

func newBuildPlan(seed int64, size int) *buildPlan {
	c := newChain(newRand(seed), size)
	for len(c.rows) < 8*size {
		c.next(c.layer(size / 2))
	}
	p := &buildPlan{rows: map[string]string{}, flat: map[string]string{},
		rowsOf: map[string][]string{}, drop: map[common.Hash]bool{}}
	p.header, p.target = childOf(genesisParent, c.hash())
	for _, code := range c.codes {
		p.codes = append(p.codes, code)
	}
	slices.Sort(p.codes)
	for _, k := range slices.Sorted(maps.Keys(c.rows)) {
		p.add(c, k)
	}
	slices.SortFunc(p.tries, func(a, b common.Hash) int { return bytes.Compare(a[:], b[:]) })
	p.tries = slices.Compact(p.tries)
	return p
}

func (p *buildPlan) add(c *chain, k string) {
	v := c.rows[k]
	account := common.Hash{}
	if k[0] != spaceAccountBranch {
		account = common.Hash([]byte(k[1:33]))
	}
	switch k[0] {
	case spaceAccountBranch:
		p.rowsOf[""] = append(p.rowsOf[""], k)
	case spaceStorageBranch:
		p.rowsOf[k[1:33]] = append(p.rowsOf[k[1:33]], k)
		p.tries = append(p.tries, account)
	case spaceSlot:
		p.load, p.flat[k] = append(p.load, k), v
		p.tries = append(p.tries, account)
		if c.rows[string(spaceAccount)+k[1:33]] == "" {
			p.drop[account] = true
			return
		}
	case spaceAccount:
		a, err := DecodeSlim([]byte(v))
		if err != nil {
			panic(err)
		}
		if a.StorageRoot != trie.EmptyRoot {
			p.tries = append(p.tries, account)
			a.StorageRoot = trie.EmptyRoot
		}
		p.load, p.flat[k] = append(p.load, k), string(a.AppendSlim(nil))
	}
	p.rows[k] = v
}

// run builds all that is not built yet, in small tables and ranges. It is what every run of a build
// does, from the first to the last.
func (p *buildPlan) run(s *Store, rebuild bool) error {
	b, err := p.begin(s, rebuild)
	if err != nil {
		return err
	}
	if !rebuild {
		if err := p.loadRows(b); err != nil {
			return err
		}
	}
	if err := p.buildTries(b); err != nil {
		return err
	}
	w := b.NewRows()
	w.max = 1200
	for i := range p.rowsOf[""] {
		k := p.rowsOf[""][len(p.rowsOf[""])-1-i]
		if err := putRow(w, []byte(k), []byte(p.rows[k])); err != nil {
			return err
		}
	}
	if _, err := w.Flush(); err != nil {
		return err
	}
	return b.Commit(p.header, p.target)
}

func (p *buildPlan) begin(s *Store, rebuild bool) (*Bulk, error) {
	if rebuild {
		return s.NewRebuild()
	}
	b, err := s.NewBulk(BulkOptions{ChainID: 7, Target: p.target, Source: "plan"})
	if err == nil {
		b.load.accounts.w.cut, b.load.slots.w.cut = 400, 600
	}
	return b, err
}

func (p *buildPlan) loadRows(b *Bulk) error {
	account, ok, slotAccount, slot, slotOK := b.Resume()
	var lastAccount, lastSlot string
	if ok {
		lastAccount = string(appendHashKey(nil, spaceAccount, &account))
	}
	if slotOK {
		lastSlot = string(appendSlotKey(nil, &slotAccount, &slot))
	}
	for i, k := range p.load {
		if err := p.loadRow(b, k, lastAccount, lastSlot); err != nil {
			return err
		}
		if i%25 == 24 {
			if err := b.Sync(); err != nil {
				return err
			}
		}
	}
	for _, code := range p.codes {
		if err := b.Code([]byte(code)); err != nil {
			return err
		}
	}
	return b.Sync()
}

func (p *buildPlan) loadRow(b *Bulk, k, lastAccount, lastSlot string) error {
	if k[0] == spaceAccount {
		if k <= lastAccount {
			return nil
		}
		a, err := DecodeSlim([]byte(p.flat[k]))
		if err != nil {
			return err
		}
		return b.Account(common.Hash([]byte(k[1:])), &a)
	}
	if k <= lastSlot {
		return nil
	}
	account, slot := common.Hash([]byte(k[1:33])), common.Hash([]byte(k[33:]))
	return b.SlotRLP(&account, &slot, []byte(p.flat[k]))
}

// buildTries has two workers that take turns, each with a range of a few accounts.
func (p *buildPlan) buildTries(b *Bulk) (err error) {
	r, err := b.NewReader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	workers := [2]*BulkRows{b.NewRows(), b.NewRows()}
	workers[0].max, workers[1].max = 1500, 1<<20
	built := b.Built()
	var todo []common.Hash
	for _, a := range p.tries {
		if findRange(built, a[:]) < 0 {
			todo = append(todo, a)
		}
	}
	for i, run := range slices.Collect(slices.Chunk(todo, 3)) {
		w := workers[i%2]
		for j := range run {
			if err := p.buildTrie(b, w, r, &run[j]); err != nil {
				return err
			}
		}
		if _, err := w.Flush(KeyRange{run[0], run[len(run)-1]}); err != nil {
			return err
		}
	}
	return nil
}

// buildTrie puts the account's rows in an order that is not that of keys, after it has read all of
// the account's slots.
func (p *buildPlan) buildTrie(b *Bulk, w *BulkRows, r *BulkReader, a *common.Hash) error {
	r.SeekSlots(a, &common.Hash{})
	var got []string
	for {
		slot, v, ok, err := r.NextSlot()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		got = append(got, string(appendSlotKey(nil, a, slot))+string(v))
	}
	var want []string
	for _, k := range p.load {
		if k[0] == spaceSlot && k[1:33] == string(a[:]) && !(p.before != nil && p.drop[*a]) {
			want = append(want, k+p.flat[k])
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("account %x has slots %x, want %x", *a, got, want)
	}
	if row := p.rows[string(appendHashKey(nil, spaceAccount, a))]; row != "" {
		acct, err := DecodeSlim([]byte(row))
		if err != nil {
			return err
		}
		w.SetStorageRoot(*a, acct.StorageRoot)
	} else if p.drop[*a] {
		w.DropStorage(*a)
	}
	keys := slices.Clone(p.rowsOf[string(a[:])])
	newRand(int64(a[0])).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for i, k := range keys {
		if i == len(keys)/2 && a[1]&1 != 0 { // as if it failed and were built again
			w.Drop(a)
			w.SetStorageRoot(*a, common.Hash{})
			w.Drop(a)
			for _, k := range keys[:i] {
				if err := putRow(w, []byte(k), []byte(p.rows[k])); err != nil {
					return err
				}
			}
			if row := p.rows[string(appendHashKey(nil, spaceAccount, a))]; row != "" {
				acct, _ := DecodeSlim([]byte(row))
				w.SetStorageRoot(*a, acct.StorageRoot)
			}
		}
		if err := putRow(w, []byte(k), []byte(p.rows[k])); err != nil {
			return err
		}
	}
	return nil
}

// complete are the rows of a store that an uninterrupted run has built.
func (p *buildPlan) complete(t *testing.T) map[string]string {
	t.Helper()
	s := mustOpen(t, testOptions(MemFS()))
	if err := p.run(s, false); err != nil {
		t.Fatal(err)
	}
	rows := allRows(t, s)
	want := maps.Clone(p.rows)
	for k, v := range rows {
		if bytes.IndexByte([]byte("asAS"), k[0]) < 0 {
			want[k] = v
		} else if want[k] == "" {
			t.Fatalf("row %q should not be there", k)
		}
	}
	sameRows(t, rows, want)
	mustClose(t, s)
	return rows
}
