package conformance

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/fixtures"
)

// invalidBlocks says of each block that EIP-7928's tests mark as invalid how it shows, by the part
// of its test's name that tells it from the others. What nothing here matches is a wrong root.
var invalidBlocks = []struct {
	name string
	want fixtures.Class
}{
	{"test_bal_invalid_hash_mismatch", fixtures.RejectedHash},
	{"test_bal_gas_limit_boundary", fixtures.RejectedItems},
	// Addresses, slots or indices that repeat, are out of order, or stand in both lists.
	{"test_bal_invalid_account[", fixtures.RejectedRule},
	{"test_bal_invalid_account_order", fixtures.RejectedRule},
	{"test_bal_invalid_complex_corruption", fixtures.RejectedRule},
	{"test_bal_invalid_duplicate_", fixtures.RejectedRule},
	{"test_bal_invalid_tx_order", fixtures.RejectedRule},
	{"extra_storage_write_touched", fixtures.RejectedRule}, // the slot is among the reads as well
	// A slot that is set in an account that stays empty.
	{"extra_storage_write_uninvolved_account", fixtures.RejectedOrphan},
	// What only executing the block's transactions shows.
	{"test_bal_invalid_extraneous_coinbase", fixtures.OnlyExecution},
	{"extra_account_access", fixtures.OnlyExecution},
	{"extra_storage_read", fixtures.OnlyExecution},
	{"missing_storage_read", fixtures.OnlyExecution},
	{"scenario_access_only", fixtures.OnlyExecution},
	{"test_bal_invalid_surplus_system_address", fixtures.OnlyExecution},
}

func wantOf(test string) fixtures.Class {
	for _, b := range invalidBlocks {
		if strings.Contains(test, b.name) {
			return b.want
		}
	}
	return fixtures.RejectedRoot
}

func runFixtures(t *testing.T, how balsa.Apply, paths ...string) []*fixtures.Result {
	t.Helper()
	for i := range paths {
		paths[i] = filepath.Join(Dir(t), "eip7928", paths[i])
	}
	results, err := fixtures.RunAll(context.Background(), fixtures.Options{Paths: paths, Apply: how})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Skipped == nil && !r.Passed() {
			t.Errorf("%s: %v, %+v", r.Test, r.Err, r.Blocks)
		}
	}
	return results
}

func TestEveryBlockOfTheEIP7928FixturesComesOutAsItShould(t *testing.T) {
	// The whole folder: the file of codes is found by itself, and the official files hold five of
	// the tests again.
	results := runFixtures(t, balsa.ApplyBulk, "")
	counts := make(map[fixtures.Class]int)
	for _, r := range results {
		for _, b := range r.Blocks {
			want := fixtures.Proven
			if b.Exception != "" {
				want = wantOf(r.Test)
			}
			counts[b.Class]++
			if b.Class != want {
				t.Errorf("%s, block %d: %s (%v), want %s", r.Test, b.Index, b.Class, b.Err, want)
			}
		}
	}
	s := fixtures.Summarize(results)
	if s.Tests != 600 || s.Passed != 600 || s.Skipped != 5 || s.Blocks != 618 {
		t.Errorf("%d tests, %d passed, %d skipped, %d blocks: want 600, 600, 5, 618",
			s.Tests, s.Passed, s.Skipped, s.Blocks)
	}
	for class, want := range map[fixtures.Class]int{
		fixtures.Proven: 562, fixtures.RejectedHash: 1, fixtures.RejectedRule: 15,
		fixtures.RejectedItems: 1, fixtures.RejectedOrphan: 3, fixtures.RejectedRoot: 25,
		fixtures.RejectedHeader: 0, fixtures.OnlyExecution: 11, fixtures.Failed: 0,
	} {
		if counts[class] != want {
			t.Errorf("%s: %d blocks, want %d", class, counts[class], want)
		}
	}
}

func TestOfficialFixtureFilesComeOutAsTheyShould(t *testing.T) {
	results := runFixtures(t, balsa.ApplyBulk, "official")
	got := make(map[fixtures.Class]int)
	for _, r := range results {
		for _, b := range r.Blocks {
			got[b.Class]++
		}
	}
	// Two valid blocks; two with a wrong root; one with an account too many that changes nothing.
	if len(results) != 5 || got[fixtures.Proven] != 2 || got[fixtures.RejectedRoot] != 2 ||
		got[fixtures.OnlyExecution] != 1 {
		t.Errorf("%d tests: %v", len(results), got)
	}
}

// Either way, a block is proven or rejected for the same reason, down to the root it gave instead.
func TestBothWaysToApplySayTheSameOfEveryFixture(t *testing.T) {
	bulk := runFixtures(t, balsa.ApplyBulk, "")
	journaled := runFixtures(t, balsa.ApplyJournaled, "")
	if len(bulk) != len(journaled) {
		t.Fatalf("%d and %d results", len(bulk), len(journaled))
	}
	for i, a := range bulk {
		b := journaled[i]
		if a.Test != b.Test || len(a.Blocks) != len(b.Blocks) {
			t.Fatalf("%s has %d blocks, %s %d", a.Test, len(a.Blocks), b.Test, len(b.Blocks))
		}
		for n := range a.Blocks {
			x, y := &a.Blocks[n], &b.Blocks[n]
			var want, got *balsa.WrongRootError
			same := x.Class == y.Class && (x.Err == nil) == (y.Err == nil)
			if errors.As(x.Err, &want) {
				same = same && errors.As(y.Err, &got) && got.Error() == want.Error()
			}
			if !same {
				t.Errorf("%s, block %d: bulk: %s (%v), journaled: %s (%v)", a.Test, n, x.Class, x.Err,
					y.Class, y.Err)
			}
		}
	}
}
