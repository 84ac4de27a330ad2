package invariants_test

import (
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/internal/invariants"
)

func TestCheckPanicsOnlyWhereEnabled(t *testing.T) {
	defer func() {
		r := recover()
		if invariants.Enabled != (r != nil) {
			t.Fatalf("enabled %v, panicked with %v", invariants.Enabled, r)
		}
		if msg, _ := r.(string); invariants.Enabled && !strings.Contains(msg, "account 7 is empty") {
			t.Fatalf("the message %q does not say what is broken", msg)
		}
	}()
	invariants.Check(false, "account %d is %s", 7, "empty")
}

func TestCheckOfWhatHoldsIsSilent(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("panicked with %v", r)
		}
	}()
	invariants.Check(true, "unreachable")
}

func TestCheckAllocatesNothingWhereOff(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the build tag invariants is set")
	}
	if n := testing.AllocsPerRun(100, func() { invariants.Check(true, "depth %d", 1000) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
