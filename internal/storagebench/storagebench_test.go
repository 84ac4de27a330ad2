package storagebench

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

func options() Options {
	return Options{Rounds: 2, Logger: slog.New(slog.DiscardHandler)}
}

func TestParseSweeps(t *testing.T) {
	want := []SweepSpec{{"batch", []int{1, 16}}, {"workers", []int{2}}}
	for _, texts := range [][]string{
		{"batch=1,16,workers=2"}, {"batch=1,16", "workers=2"}, {"batch=1", "16", "workers= 2"},
	} {
		if got, err := ParseSweeps(texts); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", texts, got, err)
		}
	}
	for _, text := range []string{"", "1,2", "batch", "batch=", "batch=x", "batch=0", "speed=1",
		"workers=100000"} {
		if _, err := ParseSweeps([]string{text}); !errors.Is(err, ErrBadSweep) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestStoreIsMadeOnceAndSwept(t *testing.T) {
	shape, err := mainnetshape.Mainnet(1. / 100_000)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := NewStore(t.Context(), dir, shape, options())
	if err != nil {
		t.Fatal(err)
	}
	if s.Import == nil || s.Import.Storage.Leaves != int(shape.Slots) || s.Import.Seconds <= 0 {
		t.Errorf("%+v", s.Import)
	}
	again, err := NewStore(t.Context(), dir, shape, options())
	if err != nil || again.Import != nil || again.State != s.State {
		t.Errorf("made again: %+v, %v", again, err)
	}
	sw, err := s.Sweep(t.Context(), SweepSpec{"batch", []int{1, 64}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range sw.Points {
		if len(p.Builds) != 2 || p.WallS.Count != 2 || p.WallS.Median <= p.StorageWallS.Median {
			t.Errorf("%+v", p)
		}
		for _, b := range p.Builds {
			if b.Storage.Accounts != int(shape.Storage) || b.AccountTrie.Leaves == 0 {
				t.Errorf("%d: %+v", p.Value, b)
			}
		}
	}
	files, err := sw.Draw(t.TempDir())
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if svg, err := os.ReadFile(f); err != nil || !bytes.Contains(svg, []byte("storage tries")) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestTailComparesBatches(t *testing.T) {
	shape, err := mainnetshape.Mainnet(1. / 100_000)
	if err != nil {
		t.Fatal(err)
	}
	tail, err := MeasureTail(t.Context(), t.TempDir(), shape, options())
	if err != nil {
		t.Fatal(err)
	}
	if len(tail.Sides) != 3 || tail.Sides[0].Batch != 64 || tail.Sides[1].Batch != 1 ||
		tail.Sides[1].Ratio.Count != 2 || tail.State.Accounts != tail.State.StorageAccounts {
		t.Errorf("%+v", tail)
	}
	accounts := int(tail.State.StorageAccounts)
	if one := tail.Sides[1].Builds[0].Storage; one.Jobs < accounts || one.Flushes >= accounts {
		t.Errorf("%d jobs, %d flushes for %d accounts in batches of one", one.Jobs, one.Flushes, accounts)
	}
	if alone := tail.Sides[2].Builds[0].Storage; alone.Flushes < accounts {
		t.Errorf("%d flushes for %d accounts alone", alone.Flushes, accounts)
	}
	var b bytes.Buffer
	if err := tail.WriteTable(&b); err != nil || !strings.Contains(b.String(), "unbatched") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Points that lie on a line over the logarithm of the leaves extrapolate along it.
func TestGrowthExtrapolates(t *testing.T) {
	var g Growth
	for i, leaves := range []uint64{1e5, 1e6, 1e7} {
		ns := 100 + 50*float64(i)
		g.Points = append(g.Points, GrowthPoint{Scale: 1. / 1000, State: State{Slots: leaves},
			StorageNS: measure.Of([]float64{ns}), ProcessNS: measure.Of([]float64{2 * ns})})
	}
	if err := g.Extrapolate(); err != nil {
		t.Fatal(err)
	}
	if g.MainnetStorageNS < 309 || g.MainnetStorageNS > 310 || g.Process.Slope < 99.9 ||
		g.Process.Slope > 100.1 { // 1.552 G is 10^9.19: 4.19 decades from 1e5
		t.Errorf("%+v", g)
	}
	for i := range g.Points { // falling: no less than at the largest scale is expected
		g.Points[i].StorageNS = measure.Of([]float64{300 - 50*float64(i)})
	}
	if err := g.Extrapolate(); err != nil || g.MainnetStorageNS != 200 || g.Storage.Slope > -49 {
		t.Errorf("%+v, %v", g, err)
	}
	one := Growth{Points: g.Points[:1]}
	if err := one.Extrapolate(); err != nil || one.Storage != nil {
		t.Errorf("one point: %+v, %v", one, err)
	}
}

func TestGrowthMeasures(t *testing.T) {
	var g Growth
	for _, scale := range []float64{1. / 100_000, 1. / 50_000} {
		if err := g.MeasureScale(t.Context(), t.TempDir(), scale, options()); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Extrapolate(); err != nil {
		t.Fatal(err)
	}
	if len(g.Points) != 2 || g.Points[1].State.Slots <= g.Points[0].State.Slots ||
		g.Points[0].LargestLeaves < 0.09 || g.Points[0].StorageNS.Count != 2 || g.Storage == nil {
		t.Errorf("%+v", g)
	}
}
