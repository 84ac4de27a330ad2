package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	gethtrie "github.com/ethereum/go-ethereum/trie"

	"github.com/balsa-sync/balsa/internal/hashbench"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
)

func TestBenchHashReports(t *testing.T) {
	args := []string{"bench", "hash", "--leaves", "1280", "--rounds", "1"}
	runBalsa(t, args...).want(t, exitDone, "ns a permutation", "StackTrie ns", "532 bytes")
	r := runBalsa(t, append(args, "--json")...)
	r.want(t, exitDone)
	var got hashbench.Report
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) == 0 || len(got.Tries) != 4 || got.Rounds != 1 ||
		len(got.Tries[0].Lanes) != len(got.Lanes) {
		t.Errorf("%+v", got)
	}
}

func TestBenchNeedsOne(t *testing.T) {
	runBalsa(t, "bench").want(t, exitUsage, "which benchmark?")
	runBalsa(t, "bench", "speed").want(t, exitUsage, `unknown benchmark "speed"`)
	runBalsa(t, "bench", "hash", "--rounds", "0").want(t, exitUsage, "not positive")
	runBalsa(t, "bench", "hash", "more").want(t, exitUsage, "takes no arguments")
	runBalsa(t, "bench", "hash", "--leaves", "5").want(t, exitUsage, "leaves")
}

// tiny is the smallest state.
const tiny = "1/100000"

// stackTrieRoot is the root of the tiny state by go-ethereum's StackTrie.
func stackTrieRoot(t *testing.T) common.Hash {
	t.Helper()
	scale, err := mainnetshape.ParseScale(tiny)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := mainnetshape.Mainnet(scale)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mainnetshape.New(shape)
	if err != nil {
		t.Fatal(err)
	}
	accounts := gethtrie.NewStackTrie(nil)
	for w := s.Walk(); w.Next(); {
		storage := gethtrie.NewStackTrie(nil)
		for st := w.Storage(); st.Next(); {
			if err := storage.Update(st.Slot[:], st.Value); err != nil {
				t.Fatal(err)
			}
		}
		w.Account.StorageRoot = storage.Hash()
		if err := accounts.Update(w.Hash[:], w.Account.AppendFull(nil)); err != nil {
			t.Fatal(err)
		}
	}
	return accounts.Hash()
}

// svgText is all that an SVG file says.
func svgText(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	for d := xml.NewDecoder(f); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if text, ok := tok.(xml.CharData); ok {
			b.Write(text)
		}
	}
}

// reportFields are what a report of building tries has at least.
var reportFields = []string{"wall_s", "trie_cpu_s", "parallelism", "utilization", "idle_thread_s",
	"dispatcher_wait_s", "slot_turnover", "buffer_wait_s", "flush_s", "flushes", "accounts", "leaves",
	"branch_rows", "bytes_written", "trie_avg_ms", "trie_p99_ms", "trie_max_s", "largest", "rate_1m",
	"rate_5m", "rate_15m", "process"}

// storageBenchReport is what balsa bench storage prints as JSON.
type storageBenchReport struct {
	Scale string
	State struct {
		Root  common.Hash
		Slots int
	}
	Import, Rebuild struct {
		Wall        float64        `json:"wall_s"`
		Storage     map[string]any `json:"storage"`
		AccountTrie map[string]any `json:"account_trie"`
	}
	Sweeps []struct {
		Name   string
		Points []struct {
			Value int
			Wall  map[string]float64 `json:"wall_s"`
		}
	}
	Tail struct {
		Sides []struct{ Ratio map[string]float64 }
	}
	Growth struct {
		Points         []map[string]any
		MainnetLeaves  int     `json:"mainnet_leaves"`
		MainnetStorage float64 `json:"mainnet_storage_ns_leaf"`
		Assumption     string
	}
	Plots []string
}

func TestBenchStorageReports(t *testing.T) {
	out, dir := t.TempDir(), filepath.Join(t.TempDir(), "store")
	r := runBalsa(t, "bench", "storage", "--scale", tiny, "--sweep", "batch=1,16",
		"--sweep", "workers=1,2", "--scales", "1/50000,"+tiny, "--rounds", "1", "--out", out,
		"--datadir", dir, "--json")
	r.want(t, exitDone)
	var got storageBenchReport
	r.decode(t, &got)
	if want := stackTrieRoot(t); got.State.Root != want {
		t.Errorf("root %v, StackTrie has %v", got.State.Root, want)
	}
	for _, phase := range []map[string]any{got.Import.Storage, got.Rebuild.Storage,
		got.Import.AccountTrie, got.Rebuild.AccountTrie} {
		for _, name := range reportFields {
			if _, ok := phase[name]; !ok {
				t.Errorf("%s is not in a report", name)
			}
		}
	}
	if leaves := got.Rebuild.Storage["leaves"]; leaves != float64(got.State.Slots) {
		t.Errorf("%v leaves of %d", leaves, got.State.Slots)
	}
	if len(got.Sweeps) != 2 || got.Sweeps[0].Name != "batch" || len(got.Sweeps[0].Points) != 2 ||
		got.Sweeps[1].Points[1].Value != 2 || got.Sweeps[1].Points[1].Wall["median"] <= 0 {
		t.Errorf("%+v", got.Sweeps)
	}
	sides, growth := got.Tail.Sides, &got.Growth
	if len(sides) != 3 || sides[2].Ratio["count"] != 1 {
		t.Errorf("%+v", sides)
	}
	if len(growth.Points) != 2 || growth.Assumption == "" || growth.MainnetStorage <= 0 ||
		growth.MainnetLeaves != 1_552_108_325 {
		t.Errorf("%+v %+v", got.Tail, got.Growth)
	}
	if len(got.Plots) != 7 {
		t.Errorf("plots %v", got.Plots)
	}
	for _, file := range got.Plots {
		if text := svgText(t, file); !strings.Contains(text, "storage tries") ||
			filepath.Dir(file) != out {
			t.Errorf("%s says %q", file, text)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBenchStorageKeepsItsStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	args := []string{"bench", "storage", "--scale", tiny, "--rounds", "1", "--datadir", dir}
	runBalsa(t, append(args, "--keep")...).want(t, exitDone, "loaded and built", "trie cpu",
		"small-account tail", "unbatched")
	runBalsa(t, "verify", "--datadir", dir).want(t, exitDone, "0 faults")
	r := runBalsa(t, append(args, "--tail=false")...)
	r.want(t, exitDone, "built again")
	if strings.Contains(r.stdout, "loaded and built") || strings.Contains(r.stdout, "unbatched") {
		t.Errorf("made again:\n%s", r.stdout)
	}
	runBalsa(t, "status", "--datadir", dir).want(t, exitDone) // as it was there before
	runBalsa(t, "bench", "storage", "--scale", "1/50000", "--datadir", dir).want(t, exitFailed,
		"another state")
}

func TestBenchStorageRefusesBadFlags(t *testing.T) {
	for _, c := range [][2]string{
		{"--scale", "2"}, {"--scale", "big"}, {"--scales", "1/1000,x"}, {"--sweep", "batch"},
		{"--sweep", "speed=1"}, {"--rounds", "0"}, {"--storage.workers", "100000"},
	} {
		runBalsa(t, "bench", "storage", c[0], c[1]).want(t, exitUsage)
	}
	dir := filepath.Join(t.TempDir(), "gone", "store")
	runBalsa(t, "bench", "storage", "--scale", tiny, "--datadir", dir).want(t, exitUsage,
		"no such file")
}
