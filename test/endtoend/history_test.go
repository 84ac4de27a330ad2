package endtoend

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// historyNode is a node with a history of so many blocks on the chain's genesis.
func historyNode(t *testing.T, c *chaingen.Chain, history int) *node {
	t.Helper()
	return newNodeAt(t, genesisOf(c), balsa.Options{FS: state.MemFS(), Workers: 1, History: history})
}

// A store whose history was cut is, row for row, one that was built where it begins now.
func TestAPrunedStoreIsAsOneThatWasBuiltLater(t *testing.T) {
	c := generate(t, "storage", 3, 12, 6) // no code comes or goes
	n := historyNode(t, c, 4)
	n.apply(c.Blocks...)
	at, err := chaingen.Reference(c).At(8)
	if err != nil {
		t.Fatal(err)
	}
	g := genesisOf(c)
	g.Header, g.Alloc = c.Blocks[7].Header(), allocOf(at)
	late := newNodeAt(t, g, balsa.Options{FS: state.MemFS(), Workers: 1})
	late.apply(c.Blocks[8:]...)
	sameRows(t, n.rows(), late.rows())
	n.verify()
	late.verify()
}

func TestHistoryReachesSoManyBlocksBack(t *testing.T) {
	b := newBranch(t, generate(t, "mix", 8, 14, 6))
	n := historyNode(t, b.Chain, 4)
	n.apply(b.Blocks[:12]...)
	for number := uint64(8); number <= 12; number++ {
		b.checkPast(t, n.engine, number, func() bool { return true })
	}
	for _, number := range []uint64{0, 1, 7} {
		if _, err := n.engine.ViewAt(t.Context(), number); !errors.Is(err, balsa.ErrNoHistory) {
			t.Errorf("block %d: %v", number, err)
		}
	}
	_, err := n.engine.ViewAtHash(t.Context(), b.Blocks[6].Hash())
	if !errors.Is(err, balsa.ErrUnknownBlock) {
		t.Errorf("block 7: %v", err)
	}
	before := n.rows()
	if _, err := n.engine.Rewind(t.Context(), b.Blocks[6].Hash()); !errors.Is(err,
		balsa.ErrNotAncestor) {
		t.Errorf("rewind to block 7: %v", err)
	}
	sameRows(t, n.rows(), before)
	n.rewind(b.Chain, 8)
	n.verify()
	b.checkPast(t, n.engine, 8, func() bool { return true })
	n.apply(b.Blocks[8:]...) // its history grows again, and then moves on
	n.verify()
	for number := uint64(10); number <= 14; number++ {
		b.checkPast(t, n.engine, number, func() bool { return true })
	}
	if _, err := n.engine.ViewAt(t.Context(), 9); !errors.Is(err, balsa.ErrNoHistory) {
		t.Errorf("block 9: %v", err)
	}
	n.rewind(b.Chain, 10)
}

// A store that kept everything is cut at the first block after it is opened with a history, and
// one without end keeps what is there.
func TestHistoryIsCutWhenItIsSet(t *testing.T) {
	b := newBranch(t, generate(t, "mix", 9, 12, 5))
	n := historyNode(t, b.Chain, balsa.AllHistory)
	n.apply(b.Blocks[:10]...)
	b.checkPast(t, n.engine, 0, func() bool { return true })
	n.close()
	n.opts.History = 2
	n.open()
	b.checkPast(t, n.engine, 0, func() bool { return true })
	n.apply(b.Blocks[10])
	n.verify()
	b.checkPast(t, n.engine, 9, func() bool { return true })
	if _, err := n.engine.ViewAt(t.Context(), 8); !errors.Is(err, balsa.ErrNoHistory) {
		t.Errorf("block 8: %v", err)
	}
	n.close()
	n.opts.History = balsa.AllHistory
	n.open()
	n.apply(b.Blocks[11])
	b.checkPast(t, n.engine, 9, func() bool { return true })
	n.verify()
}

// What a crash loses is neither a block nor what is needed to undo or read the last ones.
func TestACrashKeepsTheHistory(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(77, 0))
	b := newBranch(t, generate(t, "mix", 77, unlessRace(40, 15), 5))
	fresh := historyNode(t, b.Chain, 5)
	disk := state.NewCrashFS()
	o := balsa.Options{Workers: 2, History: 5, CheckpointBlocks: 4, FS: disk}
	n := newNodeAt(t, genesisOf(b.Chain), o)
	for at := 0; at < len(b.Blocks); {
		next := min(at+rng.IntN(8), len(b.Blocks))
		n.apply(b.Blocks[at:next]...)
		if down := rng.IntN(4); next >= 8 && down > 0 { // undone and done again before the crash
			n.rewind(b.Chain, uint64(next-down))
			n.apply(b.Blocks[next-down : next]...)
		}
		fresh.apply(b.Blocks[at:next]...)
		at = next
		disk = disk.Crash()
		n.close() // on the disk that is gone
		n = onDisk(t, disk, o)
		if got := n.engine.Cursor(); got.Number != uint64(at) {
			t.Fatalf("the cursor is %v after a crash at block %d", got, at)
		}
		sameRows(t, n.rows(), fresh.rows())
		number := uint64(max(at-rng.IntN(6), 0))
		b.checkPast(t, n.engine, number, func() bool { return rng.IntN(4) == 0 })
		n.verify()
	}
}

// Branches back and forth, within the history and to its very begin.
func TestBranchesBackAndForthWithinTheHistory(t *testing.T) {
	a := newBranch(t, generate(t, "mix", 12, 16, 5))
	b := newBranch(t, fork(t, a.Chain, 9, "mix", 8))
	for _, blocks := range []int{1, 3, 64} {
		n := newNodeAt(t, genesisOf(a.Chain), balsa.Options{FS: state.MemFS(), Workers: 2, History: 6,
			CheckpointBlocks: blocks})
		n.apply(a.Blocks[:15]...)
		for range 2 {
			n.rewind(a.Chain, 9)
			n.apply(b.Blocks[9:15]...)
			n.rewind(b.Chain, 9)
			n.apply(a.Blocks[9:15]...)
		}
		n.close()
		n.open()
		for number := uint64(9); number <= 15; number++ {
			a.checkPast(t, n.engine, number, func() bool { return true })
		}
		n.verify()
		n.apply(a.Blocks[15])
		if _, err := n.engine.ViewAt(t.Context(), 9); !errors.Is(err, balsa.ErrNoHistory) {
			t.Errorf("block 9: %v", err)
		}
		n.verify()
	}
}
