package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchBALReports(t *testing.T) {
	out, dir := t.TempDir(), filepath.Join(t.TempDir(), "stores")
	r := runBalsa(t, "bench", "bal", "--families", "mixed,create2", "--accounts", "200",
		"--growth", "100,200", "--sizes", "10,20", "--versus", "2", "--block.accounts", "30",
		"--rounds", "1", "--blocks", "2", "--warmup", "0", "--cache.mib", "8", "--control=false",
		"--out", out, "--datadir", dir, "--json")
	r.want(t, exitDone)
	type row struct {
		Name    string
		BlocksS float64 `json:"blocks_per_s"`
		MS      map[string]float64
		Phases  []map[string]any
	}
	type result struct {
		Family string
		Roots  string `json:"roots_by"`
		Rows   []row
		Ratios []struct {
			Of, To string
			Ratio  map[string]float64
		}
	}
	var got struct {
		Families, Growth, Sizes []result
		Workers                 result
		Plots                   []string
	}
	r.decode(t, &got)
	if len(got.Families) != 2 || got.Families[0].Family != "create2" || len(got.Growth) != 2 ||
		len(got.Sizes) != 2 || got.Workers.Family != "mixed" || len(got.Plots) != 4 {
		t.Fatalf("%+v", got)
	}
	f := got.Families[1]
	if f.Roots != "geth" || f.Rows[0].Name != "geth" || f.Rows[1].Name != "bulk" ||
		f.Rows[2].Name != "journaled" ||
		f.Rows[1].MS["p99"] <= 0 || f.Rows[1].BlocksS <= 0 || len(f.Rows[1].Phases) == 0 ||
		f.Ratios[0].Of != "geth" || f.Ratios[0].Ratio["median"] <= 0 {
		t.Errorf("%+v", f)
	}
	for _, file := range got.Plots {
		if text := svgText(t, file); !strings.Contains(text, "Mixed blocks") &&
			!strings.Contains(text, "mixed blocks") {
			t.Errorf("%s says %q", file, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "state-200")); err != nil {
		t.Errorf("the stores are gone: %v", err)
	}
	runBalsa(t, "bench", "bal", "--families", "empty", "--accounts", "200", "--rounds", "1",
		"--blocks", "1", "--geth=false", "--cache.mib", "8", "--datadir", dir).
		want(t, exitDone, "roots by scout", "control bulk again / bulk", "families: medians")
}

func TestBenchBALRefusesBadFlags(t *testing.T) {
	for _, c := range [][2]string{
		{"--families", "none-such"}, {"--accounts", "0"}, {"--accounts", "x"}, {"--sizes", "-1"},
		{"--sizes", "10000000"}, {"--rounds", "0"}, {"--warmup", "-1"}, {"--accounts", ""},
		{"--growth", "1000000000"},
	} {
		runBalsa(t, "bench", "bal", c[0], c[1]).want(t, exitUsage)
	}
}
