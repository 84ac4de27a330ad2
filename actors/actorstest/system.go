package actorstest

import (
	"context"
	"testing"
	"time"

	"github.com/balsa-sync/balsa/actors"
)

// patience bounds every wait of this package: long enough for a loaded machine under the race
// detector, short enough that a test that hangs says where.
const patience = 30 * time.Second

// NewSystem makes a system that is shut down at the end of the test. It fails the test where
// actors do not stop.
func NewSystem(t testing.TB, o actors.Options) *actors.System {
	t.Helper()
	s, err := actors.NewSystem(o)
	if err != nil {
		t.Fatalf("NewSystem: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return s
}
