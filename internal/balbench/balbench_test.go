package balbench

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/params"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/internal/measure"
)

// tiny is a state on which families run into its bounds, too.
var tiny = Shape{Accounts: 80, Prepaid: 20, Contracts: 12, Slots: 11}

func tinyOptions() Options {
	return Options{CacheBytes: 8 << 20, NoSync: true, Workers: 2, Rounds: 2, Blocks: 2, Warmup: 1,
		Geth: true, settle: func() time.Duration { return 0 }}
}

func TestStateHasTheRootOfItsAlloc(t *testing.T) {
	s, err := NewState(tiny)
	if err != nil {
		t.Fatal(err)
	}
	genesis := core.Genesis{Config: params.MergedTestChainConfig, Alloc: s.Alloc(),
		Difficulty: new(big.Int)}
	if root := genesis.ToBlock().Root(); root != s.Root || s.Header.Root != root {
		t.Errorf("root %v, header %v, go-ethereum has %v", s.Root, s.Header.Root, root)
	}
}

func TestListsObeyTheRulesAndHaveTheirSize(t *testing.T) {
	limits := bal.Limits{GasLimit: GasLimit, Transactions: Transactions}
	sizes := map[string][2]int{ // accounts with changes and slots, on a state that is large enough
		"transfers": {1000, 0}, "new-accounts": {1000, 0}, "creations": {1000, 1000},
		"authorisations": {1000, 0}, "storage-overwrite": {200, 2000}, "storage-clear": {200, 2000},
		"storage-new": {200, 2000}, "update": {1200, 2000}, "create": {1200, 1000},
		"withdrawals": {16, 0}, "empty": {2, 2}, Mixed: {5000, 8000}, "value-calls": {776, 0},
		"create2": {1000, 0}, "create-destroy": {500, 0},
	}
	for _, f := range Families() {
		for _, shape := range []Shape{tiny, ShapeOf(20_000), ShapeOf(1_000_000)} {
			for n := 1; n < 4; n++ {
				l, err := bal.Decode(bal.Encode(f.AccessList(shape, n)), limits)
				if err != nil {
					t.Fatalf("%s: block %d on %+v: %v", f.Name, n, shape, err)
				}
				changed := 0
				for i := range l.Accounts {
					if l.Accounts[i].Changed() {
						changed++
					}
				}
				want := sizes[f.Name]
				if shape != tiny && (changed != want[0] || l.SlotsChanged() != want[1]) {
					t.Errorf("%s: %d accounts, %d slots, want %v", f.Name, changed, l.SlotsChanged(),
						want)
				}
				if !reflect.DeepEqual(f.AccessList(shape, n), f.AccessList(shape, n)) {
					t.Errorf("%s: block %d differs from itself", f.Name, n)
				}
			}
		}
	}
}

func TestLargestBlocksAreWithinTheGasLimit(t *testing.T) {
	limits := bal.Limits{GasLimit: GasLimit, Transactions: Transactions}
	l, err := bal.Decode(bal.Encode(mixed(30_000).AccessList(ShapeOf(1_000_000), 1)), limits)
	if err != nil || len(l.Accounts) < 30_000 || l.SlotsChanged() < 40_000 {
		t.Errorf("%v", err)
	}
}

// Every family goes through every path and go-ethereum, and both reach the same roots; what the
// report says hangs together.
func TestAllContestantsReachTheSameRootsOnEveryFamily(t *testing.T) {
	o := tinyOptions()
	b, err := New(t.Context(), t.TempDir(), tiny, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Families() {
		f.Load = f.Load.scaled(min(f.Load.Accounts, 60))
		r, err := b.Run(t.Context(), f, append(Paths(true), Reference()))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if r.Roots != Geth || len(r.Rows) != 1+2*len(paths) || len(r.Ratios) != 2*len(paths) {
			t.Errorf("%s: %+v", f.Name, r)
		}
		checkResult(t, r, o)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "run-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func checkResult(t *testing.T, r *Result, o Options) {
	t.Helper()
	for _, row := range r.Rows {
		ms := row.MS
		if row.Blocks != o.Rounds*o.Blocks || len(row.RoundsMS) != o.Rounds {
			t.Errorf("%s: %s: %+v", r.Family, row.Name, row)
		}
		if ms.Min <= 0 || ms.Min > ms.Median || ms.Median > ms.P90 || ms.P90 > ms.P95 ||
			ms.P95 > ms.P99 || ms.P99 > ms.Max || ms.Average < ms.Min || ms.Average > ms.Max {
			t.Errorf("%s: %s: %+v", r.Family, row.Name, ms)
		}
		near(t, row.Name+": blocks/s", row.BlocksS*ms.Average, 1000)
		near(t, row.Name+": slots/s", row.SlotsS, row.BlocksS*r.Slots)
		total := 0.
		for _, round := range row.RoundsMS {
			total += round / float64(o.Rounds)
		}
		near(t, row.Name+": rounds", total, ms.Average)
		if (row.Path == Geth) != (len(row.Phases) == 0) {
			t.Errorf("%s: %s: phases %v", r.Family, row.Name, row.Phases)
		}
		for _, p := range row.Phases {
			near(t, p.Name, p.Share*ms.Average, p.MS)
		}
	}
	for _, x := range r.Ratios {
		if x.Ratio.Count != o.Rounds || x.Ratio.Min <= 0 || x.Ratio.Min > x.Ratio.Median ||
			x.Ratio.Median > x.Ratio.Max || x.Control != strings.HasSuffix(x.Of, "again") {
			t.Errorf("%s: %+v", r.Family, x)
		}
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil ||
		!strings.Contains(b.String(), "control bulk again / bulk") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Without go-ethereum the scout gives the roots, and they are go-ethereum's.
func TestScoutGivesTheRootsOfGeth(t *testing.T) {
	o := tinyOptions()
	o.Geth = false
	b, err := New(t.Context(), t.TempDir(), tiny, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Run(t.Context(), mixed(60), Paths(true))
	if err != nil || r.Roots != "scout" {
		t.Fatalf("%+v, %v", r, err)
	}
	if x := r.Ratio("bulk again", Bulk); x == nil || x.Count != 2 || r.Row(Geth) != nil {
		t.Errorf("%+v", r)
	}
	db, err := MakeGeth(filepath.Join(t.TempDir(), "geth"), 16, b.State)
	if err != nil {
		t.Fatal(err)
	}
	geth, err := NewStateDB(db, b.State.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer geth.Close()
	dir := filepath.Join(t.TempDir(), "scout")
	if err := Clone(b.base(Bulk), dir); err != nil {
		t.Fatal(err)
	}
	scout, err := b.openEngine(t.Context(), dir, paths[0].Set)
	if err != nil {
		t.Fatal(err)
	}
	defer scout.close(t.Context())
	list := bal.Encode(mixed(60).AccessList(tiny, 1))
	h := NewHeader(b.State.Header, common.Hash{}, list)
	want, err := geth.Apply(h, list)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := scout.root(t.Context(), h, list); err != nil || got != want {
		t.Errorf("root %v, %v, want %v", got, err, want)
	}
}

func TestMeasureDoesWhatThePlanSays(t *testing.T) {
	families, err := FamiliesByName([]string{Mixed, "empty"})
	if err != nil {
		t.Fatal(err)
	}
	dir, out := t.TempDir(), t.TempDir()
	p := Plan{Families: families, States: []int{400, 100}, BlockAccounts: 20, Growth: []int{100, 800},
		Sizes: []int{5, 10, 20}, Workers: 2, Control: true}
	rep, err := Measure(t.Context(), dir, p, tinyOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Families) != 4 || rep.Families[0].State.Accounts != 100 || len(rep.Growth) != 2 ||
		len(rep.Sizes) != 3 || rep.Sizes[2].Accounts <= rep.Sizes[0].Accounts {
		t.Errorf("%+v", rep)
	}
	if x := rep.Workers.Ratio(OneWorker, "2 workers"); x == nil || x.Count != 2 {
		t.Errorf("%+v", rep.Workers)
	}
	if err := rep.Draw(out); err != nil || len(rep.Plots) != 4 {
		t.Fatalf("%v, %v", rep.Plots, err)
	}
	for _, f := range rep.Plots {
		if svg, err := os.ReadFile(f); err != nil || !bytes.Contains(svg, []byte(Bulk)) {
			t.Errorf("%s: %v", f, err)
		}
	}
	var b bytes.Buffer
	if err := rep.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"growth with the state", "growth with the block", "families:",
		"1 worker / 2 workers", "geth / bulk over 4 families", "mixed, 400"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("%q is not in the table:\n%s", text, b.String())
		}
	}
	if err := Clean(dir, 400); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "state-400")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("not cleaned: %v", err)
	}
}

func TestBadPlansAreRefused(t *testing.T) {
	for _, p := range []Plan{{Sizes: []int{1}}, {States: []int{0}}, {States: []int{1e9}},
		{States: []int{10}, Sizes: []int{0}}, {States: []int{10}, BlockAccounts: -1},
		{Growth: []int{1}}} {
		if _, err := Measure(t.Context(), t.TempDir(), p, tinyOptions()); !errors.Is(err, ErrBadOptions) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	o := tinyOptions()
	o.Rounds = 0
	if _, err := New(t.Context(), t.TempDir(), tiny, o); !errors.Is(err, ErrBadOptions) {
		t.Error(err)
	}
	if _, err := FamiliesByName([]string{"none"}); !errors.Is(err, ErrBadOptions) {
		t.Error(err)
	}
	if f, err := FamiliesByName(nil); err != nil || len(f) != len(Families()) {
		t.Errorf("%d, %v", len(f), err)
	}
}

func TestTimesAndRatiosOfKnownBlocks(t *testing.T) {
	var all []time.Duration
	for i := 100; i > 0; i-- {
		all = append(all, time.Duration(i)*time.Millisecond)
	}
	if got, want := timesOf(all), (Times{50.5, 50, 90, 95, 99, 1, 100}); got != want {
		t.Errorf("%+v", got)
	}
	rows := []Row{
		{Name: "geth", Path: Geth, RoundsMS: []float64{40, 60}},
		{Name: "a", Path: "a", RoundsMS: []float64{10, 10}},
		{Name: "b", Path: "b", RoundsMS: []float64{15, 20}},
		{Name: "a again", Path: "a", RoundsMS: []float64{10, 20}},
	}
	want := []Ratio{
		{Of: "geth", To: "a", Ratio: measure.Of([]float64{4, 4})},
		{Of: "b", To: "a", Ratio: measure.Of([]float64{1.5, 20. / 15})},
		{Of: "a again", To: "a", Control: true, Ratio: measure.Of([]float64{1, 2})},
	}
	if got := ratios(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
