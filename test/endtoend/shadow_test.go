package endtoend

import (
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// newShadowed is a node with a shadow that may wait for all of the chain's blocks.
func newShadowed(t *testing.T, c *chaingen.Chain, o balsa.Options) *node {
	t.Helper()
	o.FS, o.Workers = state.MemFS(), 2
	o.Shadow.Enabled = true
	if o.Shadow.MaxQueued == 0 {
		o.Shadow.MaxQueued = len(c.Blocks)
	}
	return newNodeAt(t, genesisOf(c), o)
}

// shadowed waits until nothing waits for the shadow, and returns the counts.
func (n *node) shadowed() balsa.ShadowStats {
	n.t.Helper()
	if err := n.engine.AwaitShadow(n.t.Context(), 0); err != nil {
		n.t.Fatal(err)
	}
	st := n.engine.ShadowStats()
	if st.Requests != st.Comparisons+st.Failures+st.Skipped.Total() || st.Waiting != 0 {
		n.t.Fatalf("the outcomes do not add up to the requests: %+v", st)
	}
	return st
}

func TestTheShadowAgreesOnEveryFamily(t *testing.T) {
	for _, family := range chaingen.FamilyNames() {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			c := generate(t, family, 12, unlessRace(12, 5), unlessRace(40, 12))
			n := newShadowed(t, c, balsa.Options{})
			n.apply(c.Blocks...)
			st := n.shadowed()
			blocks := uint64(len(c.Blocks))
			if st.Requests != blocks || st.Comparisons != blocks || st.Mismatches != 0 {
				t.Fatalf("%+v, want %d comparisons", st, blocks)
			}
		})
	}
}

// I6: with the shadow on, with one that finds everything wrong, and with one that always panics,
// the store has the rows that it has without.
func TestTheShadowChangesNothing(t *testing.T) {
	c := generate(t, "mix", 13, unlessRace(12, 5), 12)
	plain := newNode(t, c, 2)
	plain.apply(c.Blocks...)
	want := plain.rows()
	st := plain.shadowed()
	if st.Comparisons != 0 || st.Skipped.Off != 0 { // of the engine that rows opened
		t.Fatalf("without a shadow: %+v", st)
	}
	for name, faults := range map[string]balsa.ShadowFaults{
		"right":  {},
		"wrong":  {Canonical: func(m *messages.CompareRoot) { m.Root[0] ^= 1 }},
		"panics": {Shadow: func(*world.Changes) { panic("planted") }},
	} {
		t.Run(name, func(t *testing.T) {
			n := newShadowed(t, c, balsa.Options{Shadow: balsa.ShadowOptions{Faults: faults}})
			n.apply(c.Blocks...)
			st, blocks := n.shadowed(), uint64(len(c.Blocks))
			if st.Requests != blocks || st.Skipped.Total() != 0 ||
				(name == "right") != (st.Mismatches+st.Failures == 0) ||
				(name == "wrong") != (st.Mismatches == blocks) ||
				(name == "panics") != (st.Failures == blocks) {
				t.Fatalf("%+v", st)
			}
			sameRows(t, n.rows(), want)
		})
	}
}
