package endtoend

import (
	"errors"
	"fmt"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// fork makes another branch of a chain.
func fork(t *testing.T, base *chaingen.Chain, at uint64, family string, blocks int) (
	branch *chaingen.Chain) {
	t.Helper()
	c, err := chaingen.Fork(base, at, chaingen.Config{
		Family: family, Seed: 99, Blocks: blocks, Size: base.Config.Size,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rewind goes back to a block and checks the cursor.
func (n *node) rewind(c *chaingen.Chain, to uint64) {
	n.t.Helper()
	b, err := c.Block(to)
	if err != nil {
		n.t.Fatal(err)
	}
	got, err := n.engine.Rewind(n.t.Context(), b.Hash())
	if err != nil {
		n.t.Fatal(err)
	}
	if got.Hash != b.Hash() || got.Number != to || got.Root != b.Root() || n.engine.Cursor() != got {
		n.t.Fatalf("the cursor is %v, want block %d", got, to)
	}
}

// I2 across reorgs: whatever way led to a block, the store holds what a fresh sync of its branch
// gives, row for row: accounts, slots, codes, headers and reverse diffs.
func TestAReorgEqualsAFreshSyncOfTheBranch(t *testing.T) {
	for _, depth := range []int{1, 2, 100} {
		t.Run(fmt.Sprintf("of %d blocks", depth), func(t *testing.T) {
			t.Parallel()
			a := generate(t, "mix", 21, depth+4, unlessRace(8, 2))
			at := uint64(len(a.Blocks) - depth)
			b := fork(t, a, at, "mix", depth+1)

			fresh := map[*chaingen.Chain]map[string]string{}
			for _, c := range []*chaingen.Chain{a, b} {
				n := newNode(t, c, 2)
				n.apply(c.Blocks...)
				fresh[c] = n.rows()
			}
			n := newNode(t, a, 2)
			n.apply(a.Blocks...)
			for range 2 { // there and back again
				n.rewind(a, at)
				n.apply(b.Blocks[at:]...)
				sameRows(t, n.rows(), fresh[b])
				n.rewind(b, at)
				n.apply(a.Blocks[at:]...)
				sameRows(t, n.rows(), fresh[a])
			}
			n.verify()
		})
	}
}

// Every family is undone down to the genesis: creations of accounts, of storage and of code.
func TestUndoingAWholeChainLeavesTheGenesis(t *testing.T) {
	for _, family := range chaingen.FamilyNames() {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			c := generate(t, family, 4, unlessRace(8, 4), unlessRace(30, 10))
			n := newNode(t, c, 2)
			before := n.rows()
			n.apply(c.Blocks...)
			n.rewind(c, 0)
			sameRows(t, n.rows(), before)
			n.verify()
		})
	}
}

func TestARewindToABlockThatIsNoAncestorIsRefused(t *testing.T) {
	a := generate(t, "mix", 21, 6, 8)
	b := fork(t, a, 3, "mix", 2)
	n := newNode(t, a, 1)
	n.apply(a.Blocks[:5]...)
	before := n.rows()
	for what, hash := range map[string][32]byte{
		"of another branch": b.Blocks[4].Hash(), "ahead": a.Blocks[5].Hash(), "unknown": anyHash,
	} {
		if _, err := n.engine.Rewind(t.Context(), hash); !errors.Is(err, balsa.ErrNotAncestor) {
			t.Errorf("a block %s: %v", what, err)
		}
	}
	sameRows(t, n.rows(), before)
	n.rewind(a, 5) // to where it is
	sameRows(t, n.rows(), before)
}
