package balsa

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// asked notes what a feeder asks for.
type asked struct {
	ranges   []state.KeyRange
	accounts []common.Hash
}

func (a *asked) Build(_ context.Context, from, to common.Hash,
	accounts []messages.StorageAccount) error {
	a.ranges = append(a.ranges, state.KeyRange{From: from, To: to})
	for i := range accounts {
		a.accounts = append(a.accounts, accounts[i].Account)
	}
	return nil
}

// Whatever earlier runs built and however the accounts come, each hash is asked for exactly once,
// or is built, and so is each account.
func TestWhatIsAskedForAndWhatIsBuiltIsEverythingOnce(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		hash := func() common.Hash { // few, so that bounds meet
			h := common.Hash{byte(rng.IntN(6)) * 51}
			h[31] = byte(rng.IntN(3)) * 127
			if rng.IntN(8) == 0 {
				h = lastHash
			}
			return h
		}
		built := someRanges(rng, hash)
		client := &asked{}
		p := &progress{}
		f := &feeder{
			client: client, results: newStorageResults(p), built: slices.Clone(built), progress: p,
		}
		accounts := ascending(hash, 12)
		cuts := append(ascending(hash, 4), lastHash)
		var left []common.Hash // that are not built
		for _, to := range cuts {
			for len(accounts) > 0 && bytes.Compare(accounts[0][:], to[:]) <= 0 {
				if a := accounts[0]; !f.isBuilt(&a) {
					f.batch = append(f.batch, messages.StorageAccount{Account: a})
				}
				if !within(built, accounts[0]) {
					left = append(left, accounts[0])
				}
				accounts = accounts[1:]
			}
			if err := f.send(t.Context(), to); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(client.accounts, left) {
			t.Fatalf("seed %d: asked for %x, want %x; built %x", seed, client.accounts, left, built)
		}
		all := append(slices.Clone(built), client.ranges...)
		slices.SortFunc(all, func(a, b state.KeyRange) int { return a.From.Cmp(b.From) })
		next, more := common.Hash{}, true
		for _, r := range all {
			if !more || r.From != next || bytes.Compare(r.From[:], r.To[:]) > 0 {
				t.Fatalf("seed %d: %x do not lie side by side; built %x", seed, all, built)
			}
			next, more = behind(r.To)
		}
		if more {
			t.Fatalf("seed %d: nothing from %x on; built %x", seed, next, built)
		}
	}
}

func within(ranges []state.KeyRange, h common.Hash) bool {
	return slices.ContainsFunc(ranges, func(r state.KeyRange) bool {
		return bytes.Compare(r.From[:], h[:]) <= 0 && bytes.Compare(h[:], r.To[:]) <= 0
	})
}

// ascending draws up to n different hashes.
func ascending(hash func() common.Hash, n int) []common.Hash {
	out := make([]common.Hash, n)
	for i := range out {
		out[i] = hash()
	}
	slices.SortFunc(out, common.Hash.Cmp)
	return slices.Compact(out)
}

// someRanges draws ranges that ascend and do not touch, as state.Bulk gives them.
func someRanges(rng *rand.Rand, hash func() common.Hash) (ranges []state.KeyRange) {
	bounds := ascending(hash, 2*rng.IntN(4))
	for len(bounds) >= 2 {
		r := state.KeyRange{From: bounds[0], To: bounds[1]}
		if rng.IntN(3) == 0 {
			r.To = r.From
			bounds = bounds[1:]
		} else {
			bounds = bounds[2:]
		}
		if n := len(ranges); n > 0 {
			if after, ok := behind(ranges[n-1].To); !ok || after == r.From {
				continue
			}
		}
		ranges = append(ranges, r)
	}
	return ranges
}
