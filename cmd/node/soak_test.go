package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/messages"
)

// soakSummary is what soak --json prints.
type soakSummary struct {
	Passed        bool
	BlocksApplied int
	Shadow        shadowJSON
	Cursor        cursorJSON
	Error         string
}

// soakFaulty runs a soak of the sample chain with planted faults.
func soakFaulty(t *testing.T, faults balsa.ShadowFaults, args ...string) (result, soakSummary) {
	t.Helper()
	var out, errs syncBuffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, faults: faults}
	code := a.run(t.Context(), append([]string{"balsa", "soak", "--datadir", newStore(t), "--json",
		"--nosync", samplePayloads}, args...))
	r := result{code, out.String(), errs.String()}
	var sum soakSummary
	r.decode(t, &sum)
	return r, sum
}

func TestSoakPassesOnTheSampleChain(t *testing.T) {
	for _, apply := range []string{"bulk", "journaled"} {
		dir := newStore(t)
		r := runBalsa(t, "soak", "--datadir", dir, "--json", "--apply", apply, samplePayloads)
		r.want(t, exitDone)
		var sum soakSummary
		r.decode(t, &sum)
		if !sum.Passed || sum.BlocksApplied != sampleBlocks || sum.Shadow.Mismatches != 0 ||
			sum.Shadow.Requests != sampleBlocks || sum.Shadow.Comparisons != sampleBlocks {
			t.Fatalf("%s: %+v", apply, sum)
		}
		// Nothing is left to compare.
		runBalsa(t, "soak", "--datadir", dir, samplePayloads).
			want(t, exitVerify, "soak failed", "nothing was compared")
		runBalsa(t, "verify", "--datadir", dir).want(t, exitDone)
	}
}

func TestSoakPassesOnTheEngineChain(t *testing.T) {
	data := os.Getenv("BALSA_TESTDATA")
	if data == "" {
		t.Skip("BALSA_TESTDATA is not set")
	}
	payloads := ethtest(t, "newpayload.json")
	if _, err := os.Stat(payloads); errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	runBalsa(t, "init", "--datadir", dir,
		"--alloc", filepath.Join(data, "engine-chain/state35.json.gz"),
		"--header", filepath.Join(data, "engine-chain/header35.rlp.hex")).want(t, exitDone)
	r := runBalsa(t, "soak", "--datadir", dir, "--json", "--nosync", payloads)
	r.want(t, exitDone)
	var sum soakSummary
	r.decode(t, &sum)
	if !sum.Passed || sum.Shadow.Comparisons != 565 || sum.Cursor.Number != 600 {
		t.Fatalf("%+v", sum)
	}
}

// The faults are found on either side, and by one block: number 77 of 300.
func TestSoakFailsWhereEitherSideIsWrong(t *testing.T) {
	const faulty = 77
	oneWei := uint256.NewInt(1)
	blocks := 0
	for name, faults := range map[string]balsa.ShadowFaults{
		"canonical": {Canonical: func(m *messages.CompareRoot) {
			if m.Header.Number.Uint64() == faulty {
				m.Root[31] ^= 1
			}
		}},
		"shadow": {Shadow: func(c *world.Changes) {
			if blocks++; blocks == faulty {
				a := &c.Accounts[0].Post
				a.Balance.Add(&a.Balance, oneWei)
			}
		}},
	} {
		r, sum := soakFaulty(t, faults)
		r.want(t, exitVerify)
		if sum.Passed || sum.Shadow.Mismatches != 1 || sum.BlocksApplied != sampleBlocks ||
			!strings.Contains(sum.Error, "1 of 300 roots differ") {
			t.Errorf("%s: %+v", name, sum)
		}
		if !strings.Contains(r.stderr, "the shadow has another root") ||
			!strings.Contains(r.stderr, "77") {
			t.Errorf("%s: the log does not tell the block: %s", name, r.stderr)
		}
	}
}

func TestSoakFailsWhereTheShadowPanicsOrComparesNothing(t *testing.T) {
	panics := balsa.ShadowFaults{Shadow: func(*world.Changes) { panic("planted") }}
	r, sum := soakFaulty(t, panics, "--to", "3")
	r.want(t, exitVerify)
	if sum.Shadow.Failures != 3 || sum.Shadow.Comparisons != 0 || sum.BlocksApplied != 3 {
		t.Errorf("%+v", sum)
	}
	r, sum = soakFaulty(t, balsa.ShadowFaults{}, "--to", "3", "--every", "4")
	r.want(t, exitVerify)
	if sum.Shadow.Skipped["thinned"] != 3 || !strings.Contains(sum.Error, "nothing was compared") {
		t.Errorf("%+v", sum)
	}
}

func TestReplayWithTheShadowSaysWhatItCompared(t *testing.T) {
	runBalsa(t, "replay", "--datadir", newStore(t), "--nosync", "--shadow", "--shadow.every", "2",
		"--to", "6", samplePayloads).want(t, exitDone, "thinned 3", "0 mismatches")
	r := runBalsa(t, "replay", "--datadir", newStore(t), "--nosync", "--to", "6", samplePayloads)
	r.want(t, exitDone)
	if strings.Contains(r.stdout, "shadow") {
		t.Errorf("a shadow that is off is told of: %s", r.stdout)
	}
}
