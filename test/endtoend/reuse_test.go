package endtoend

import (
	"context"
	"testing"
	"time"
)

// A caller whose context ends may use its buffers again while the block is still being applied.
func TestBuffersMayBeUsedAgainWhenAnApplyEndsEarly(t *testing.T) {
	c := generate(t, "creations", 12, 6, 30)
	n := newNode(t, c, 2)
	for _, b := range c.Blocks {
		in := blockOf(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Microsecond)
		_, err := n.engine.Apply(ctx, in)
		cancel()
		if err != nil {
			clear(in.BAL)
			in.Header.GasLimit = 0
			again := blockOf(t, b)
			if got, err := n.engine.Apply(t.Context(), again); err != nil || got.Root != b.Root() {
				t.Fatalf("block %d: %+v, %v", b.NumberU64(), got, err)
			}
		}
	}
	want := newNode(t, c, 1)
	want.apply(c.Blocks...)
	sameRows(t, n.rows(), want.rows())
	n.verify()
}
