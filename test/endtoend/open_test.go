package endtoend

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa"
)

// An Open whose context ends leaves no actor behind and gives the store back.
func TestAnOpenThatIsInterruptedLeavesNothingRunning(t *testing.T) {
	c := generate(t, "mix", 3, 2, 4)
	n := newNode(t, c, 2)
	n.close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	refused := 0
	for range 20 { // the answer of the actors may be first
		e, err := balsa.Open(ended, n.opts)
		if err == nil {
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		refused++
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "still runs") {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("no Open saw that its context had ended")
	}
	n.open()
	n.apply(c.Blocks...)
}
