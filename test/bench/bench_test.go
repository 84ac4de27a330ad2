package bench

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

var families = []Family{FamilyUpdate, FamilyCreate, FamilyDelegate, FamilyClear}

// smallSizes is the least state there may be.
func smallSizes(f Family) Sizes {
	return Sizes{Accounts: balancesPerBlock, Contracts: contractsPerBlock,
		Slots: slotsPerContract, Blocks: 3, Segment: 2, CacheMB: 16, NoSync: true, Family: f}
}

// newPeers opens go-ethereum's sides.
func newPeers(t testing.TB, dir string, s Sizes, g *Genesis) []Side {
	t.Helper()
	statedb, err := NewStateDBPeer(filepath.Join(dir, "statedb"), s, g)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := NewSnapPeer(filepath.Join(dir, "snap"), s, g)
	if err != nil {
		t.Fatal(errors.Join(err, statedb.Close()))
	}
	return []Side{statedb, snap}
}

func TestListsObeyTheRulesAndHaveTheirSize(t *testing.T) {
	sizes := map[Family][2]int{ // accounts and slots
		FamilyUpdate: {1200, 2000}, FamilyCreate: {1200, 1000}, FamilyDelegate: {1000, 0},
		FamilyClear: {200, 2000},
	}
	limits := bal.Limits{GasLimit: GasLimit, Transactions: Transactions}
	for f, want := range sizes {
		for _, s := range []Sizes{smallSizes(f), {Accounts: 104_729, Contracts: 977, Slots: 13,
			Family: f}, {Accounts: 1_000_000, Contracts: 10_000, Slots: 100, Family: f}} {
			for n := 1; n < 3; n++ {
				l, err := bal.Decode(bal.Encode(s.AccessList(n)), limits)
				if err != nil {
					t.Fatalf("%s: block %d on %+v: %v", f, n, s, err)
				}
				if len(l.Accounts) != want[0] || l.SlotsChanged() != want[1] {
					t.Errorf("%s: %d accounts, %d slots", f, len(l.Accounts), l.SlotsChanged())
				}
				if !reflect.DeepEqual(s.AccessList(n), s.AccessList(n)) {
					t.Errorf("%s: block %d differs from itself", f, n)
				}
			}
		}
	}
}

// wrongRoot is a side that comes to a root of its own.
type wrongRoot struct{ closed *bool }

func (wrongRoot) Name() string { return "wrong" }
func (wrongRoot) Apply(*types.Header, []byte) (common.Hash, error) {
	return common.Hash{1}, nil
}
func (w wrongRoot) Close() error { *w.closed = true; return nil }

func TestASideWithAnotherRootFailsTheRun(t *testing.T) {
	s := smallSizes(FamilyUpdate)
	g, err := NewGenesis(s)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := NewSnapPeer(filepath.Join(t.TempDir(), "snap"), s, g)
	if err != nil {
		t.Fatal(err)
	}
	var closed bool
	_, err = Run(s, g, []Side{snap, wrongRoot{&closed}})
	if err == nil || !strings.Contains(err.Error(), "wrong: block 1: root 0x01") {
		t.Errorf("got %v", err)
	}
	if !closed {
		t.Error("not closed")
	}
}

func TestSummaryOfKnownTimes(t *testing.T) {
	var times []time.Duration
	for i := 100; i > 0; i-- {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	ms := time.Millisecond
	want := Summary{Average: 50*ms + ms/2, Median: 50 * ms, P90: 90 * ms, P99: 99 * ms,
		Max: 100 * ms}
	if got := Summarize(times); got != want {
		t.Errorf("%+v", got)
	}
	one := Summary{100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms}
	if got := Summarize(times[:1]); got != one {
		t.Errorf("one time: %+v", got)
	}
	table := Table([]Result{{Name: "slow", Blocks: []time.Duration{30 * ms}},
		{Name: "fast", Blocks: []time.Duration{10 * ms}}})
	if lines := strings.Split(table, "\n"); len(lines) != 4 ||
		!strings.HasSuffix(lines[1], "3.00          3.00") {
		t.Errorf("table:\n%s", table)
	}
}

func TestSizesFromEnv(t *testing.T) {
	env := map[string]string{}
	read := func() (Sizes, error) {
		return SizesFromEnv(func(name string) string { return env[name] })
	}
	if s, err := read(); err != nil || s != DefaultSizes() {
		t.Errorf("defaults: %+v, %v", s, err)
	}
	env["BALSA_BENCH_ACCOUNTS"], env["BALSA_BENCH_FAMILY"] = "5000", "create"
	if s, err := read(); err != nil || s.Accounts != 5000 || s.Family != FamilyCreate {
		t.Errorf("%+v, %v", s, err)
	}
	for name, v := range map[string]string{"ACCOUNTS": "many", "CONTRACTS": "199", "SLOTS": "9",
		"BLOCKS": "0", "SEGMENT": "-1", "CACHE_MB": "15", "FAMILY": "none"} {
		env = map[string]string{"BALSA_BENCH_" + name: v}
		if _, err := read(); err == nil {
			t.Errorf("%s=%s is accepted", name, v)
		}
	}
}
