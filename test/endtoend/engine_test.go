package endtoend

import (
	"bytes"
	"context"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// node is an engine on a file system that outlives it.
type node struct {
	t      *testing.T
	opts   balsa.Options
	engine *balsa.Engine
}

// newNode builds a store from the chain's genesis in memory and opens it.
func newNode(t *testing.T, c *chaingen.Chain, workers int) *node {
	t.Helper()
	return newNodeAt(t, genesisOf(c), balsa.Options{FS: state.MemFS(), Workers: workers})
}

func genesisOf(c *chaingen.Chain) balsa.Genesis {
	return balsa.Genesis{
		ChainID: c.Genesis.Config.ChainID.Uint64(),
		Header:  c.GenesisBlock.Header(), Alloc: c.Genesis.Alloc,
	}
}

// newNodeAt builds a store from any genesis on a file system in memory and opens it.
func newNodeAt(t *testing.T, g balsa.Genesis, o balsa.Options) *node {
	t.Helper()
	o.Dir = "node"
	n := &node{t: t, opts: o}
	at, err := balsa.Init(t.Context(), n.opts, g)
	if err != nil {
		t.Fatal(err)
	}
	if at.Hash != g.Header.Hash() {
		t.Fatalf("the cursor after init is %v", at)
	}
	n.open()
	t.Cleanup(n.close)
	return n
}

func (n *node) open() {
	n.t.Helper()
	var err error
	if n.engine, err = balsa.Open(n.t.Context(), n.opts); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) close() {
	n.t.Helper()
	if n.engine == nil {
		return
	}
	if err := n.engine.Close(context.Background()); err != nil {
		n.t.Fatal(err)
	}
	n.engine = nil
}

// blockOf is what a consensus client would give of a block.
func blockOf(t *testing.T, b *types.Block) balsa.Block {
	t.Helper()
	raw, err := chaingen.AccessListRLP(b)
	if err != nil {
		t.Fatal(err)
	}
	return balsa.Block{Header: b.Header(), BAL: raw, Transactions: len(b.Transactions())}
}

// apply applies blocks and checks that each was new and gave its header's root.
func (n *node) apply(blocks ...*types.Block) {
	n.t.Helper()
	for _, b := range blocks {
		got, err := n.engine.Apply(n.t.Context(), blockOf(n.t, b))
		if err != nil {
			n.t.Fatal(err)
		}
		if got.Known || got.Root != b.Root() || got.Number != b.NumberU64() {
			n.t.Fatalf("block %d: %+v", b.NumberU64(), got)
		}
	}
}

// verify recomputes everything from flat state.
func (n *node) verify() balsa.Report {
	n.t.Helper()
	r, err := n.engine.Verify(n.t.Context(), nil)
	if err != nil {
		n.t.Fatalf("%v: %v", err, r.Faults)
	}
	return r
}

// rows reads every row of the store; the engine is closed meanwhile.
func (n *node) rows() map[string]string {
	n.t.Helper()
	open := n.engine != nil
	n.close()
	rows := rowsOf(n.t, state.Options{Dir: n.opts.Dir, FS: n.opts.FS})
	if open {
		n.open()
	}
	return rows
}

// rowsOf reads every row of a store that is not open.
func rowsOf(t *testing.T, o state.Options) map[string]string {
	t.Helper()
	s, err := state.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	if err := s.Rows(func(k, v []byte) error { rows[string(k)] = string(v); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// sameRows fails where two stores differ by a row.
func sameRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("row %x is %x (present: %v), want %x", k, g, ok, v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("row %x is there with %x, and should not be", k, v)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// compare checks the whole state against go-ethereum's.
func (n *node) compare(want chaingen.State) {
	n.t.Helper()
	view, err := n.engine.View()
	if err != nil {
		n.t.Fatal(err)
	}
	defer view.Close()
	slots := uint64(0)
	for addr, w := range want {
		a, ok, err := view.Account(addr)
		if err != nil || !ok {
			n.t.Fatalf("account %s: present %v, %v", addr, ok, err)
		}
		code, err := view.Code(addr)
		if err != nil {
			n.t.Fatal(err)
		}
		if a.Nonce != w.Nonce || a.Balance != w.Balance || !bytes.Equal(code, w.Code) {
			n.t.Fatalf("account %s: %+v with code %x, want %+v", addr, a, code, w)
		}
		for slot, value := range w.Storage {
			slots++
			if got, err := view.Storage(addr, slot); err != nil || got != value {
				n.t.Fatalf("account %s, slot %s: %s, %v, want %s", addr, slot, got, err, value)
			}
		}
	}
	if r := n.verify(); r.Accounts != uint64(len(want)) || r.Slots != slots {
		n.t.Fatalf("the store has %d accounts and %d slots, want %d and %d",
			r.Accounts, r.Slots, len(want), slots)
	}
}

func generate(t *testing.T, family string, seed uint64, blocks, size int) *chaingen.Chain {
	t.Helper()
	c, err := chaingen.Generate(chaingen.Config{
		Family: family, Seed: seed, Blocks: blocks, Size: size,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryFamilyEndsInGoEthereumsState(t *testing.T) {
	for _, family := range chaingen.FamilyNames() {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			c := generate(t, family, 11, unlessRace(12, 5), unlessRace(40, 12))
			want, err := chaingen.Reference(c).At(uint64(len(c.Blocks)))
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 3} {
				n := newNode(t, c, workers)
				n.apply(c.Blocks...)
				n.compare(want)
			}
		})
	}
}

func TestBlocksThatChangeManyAccountsAreProvenByAllWorkers(t *testing.T) {
	t.Parallel()
	c := generate(t, "new-accounts", 5, 3, 200)
	var all [2]map[string]string
	for i, workers := range []int{1, 4} {
		n := newNode(t, c, workers)
		n.apply(c.Blocks...)
		n.verify()
		all[i] = n.rows()
	}
	sameRows(t, all[1], all[0])
}

func TestAnAppliedBlockIsKnownAfterwardsAlsoToTheNextProcess(t *testing.T) {
	c := generate(t, "mix", 3, 6, 10)
	n := newNode(t, c, 2)
	n.apply(c.Blocks[:3]...)
	before := n.rows()
	for _, b := range append([]*types.Block{c.GenesisBlock}, c.Blocks[:3]...) {
		in := balsa.Block{Header: b.Header(), Transactions: -1}
		if got, err := n.engine.Apply(t.Context(), in); err != nil || !got.Known {
			t.Fatalf("block %d: %+v, %v", b.NumberU64(), got, err)
		}
	}
	sameRows(t, n.rows(), before)
	n.apply(c.Blocks[3:]...)
}

var anyHash = common.Hash{0xab}
