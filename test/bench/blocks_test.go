package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newSides opens go-ethereum's sides and Balsa's, Balsa's last.
func newSides(t testing.TB, dir string, s Sizes, g *Genesis) ([]Side, *BalsaSide) {
	t.Helper()
	peers := newPeers(t, dir, s, g)
	b, err := NewBalsaSide(t.Context(), filepath.Join(dir, "balsa"), s, g)
	if err != nil {
		for _, p := range peers {
			p.Close()
		}
		t.Fatal(err)
	}
	return append(peers, b), b
}

func TestAllSidesReachTheSameRootsOnEveryFamily(t *testing.T) {
	for _, f := range families {
		s := smallSizes(f)
		g, err := NewGenesis(s)
		if err != nil {
			t.Fatal(err)
		}
		sides, b := newSides(t, t.TempDir(), s, g)
		results, err := Run(s, g, sides)
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
		for _, r := range results {
			if len(r.Blocks) != s.Blocks {
				t.Errorf("%s: %s timed %d blocks of %d", f, r.Name, len(r.Blocks), s.Blocks)
			}
		}
		if b.blocks != s.Blocks {
			t.Errorf("%s: %d blocks applied, want %d", f, b.blocks, s.Blocks)
		}
	}
}

// BenchmarkBlocks applies blocks in a row with go-ethereum and with Balsa; the package's
// documentation has the command and says what is measured. Each side's milliseconds a block are
// its metrics ("balsa-ms/block" is the average, "balsa-p99-ms" a percentile), and x-statedb and
// x-snap are how many times as long go-ethereum takes, on average and with what went on in the
// background. -v prints the table.
func BenchmarkBlocks(b *testing.B) {
	s, err := SizesFromEnv(os.Getenv)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		benchmarkRun(b, s)
	}
}

func benchmarkRun(b *testing.B, s Sizes) {
	dir := b.TempDir()
	if s.Dir != "" {
		var err error
		if dir, err = os.MkdirTemp(s.Dir, "bench"); err != nil {
			b.Fatal(err)
		}
		defer os.RemoveAll(dir)
	}
	g, err := NewGenesis(s)
	if err != nil {
		b.Fatal(err)
	}
	sides, balsa := newSides(b, dir, s, g)
	results, err := Run(s, g, sides)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%+v\n%s%s", s, Table(results), balsa.Phases())
	balsaResult := results[len(results)-1]
	for _, r := range results {
		sum, name := Summarize(r.Blocks), strings.TrimPrefix(r.Name, "geth ")
		b.ReportMetric(Millis(sum.Average), name+"-ms/block")
		b.ReportMetric(Millis(sum.Median), name+"-median-ms")
		b.ReportMetric(Millis(sum.P99), name+"-p99-ms")
		if name != "balsa" {
			b.ReportMetric(float64(r.InAll())/float64(balsaResult.InAll()), "x-"+name)
		}
	}
	b.ReportMetric(0, "ns/op") // a run is the operation: its time says nothing
}
