package bench

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// smallFlat is a state that is built in a moment.
func smallFlat(t testing.TB) (FlatSizes, *mainnetshape.State) {
	t.Helper()
	s := DefaultFlatSizes()
	s.Shape = mainnetshape.Shape{Accounts: 3000, Storage: 300, Slots: 17_000, Seed: 2}
	s.Rounds, s.CacheMB = 2, 16
	state, err := mainnetshape.New(s.Shape)
	if err != nil {
		t.Fatal(err)
	}
	return s, state
}

// The state's own root, by Balsa's builder, is that of go-ethereum's StackTries and of its
// GenerateTrie, which fails for any other.
func TestGenerateTrieComesToTheRoot(t *testing.T) {
	s, state := smallFlat(t)
	p, err := newGeneratePeer(t.TempDir(), s, state)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := state.Root(t.Context()); err != nil || p.root != want {
		t.Errorf("root %v, want %v, %v", p.root, want, err)
	}
	samples, err := measure.Alternate(t.Context(), 2, p.side())
	if err != nil || len(samples[0]) != 2 {
		t.Errorf("%+v, %v", samples, err)
	}
	p.root[0] ^= 1
	if _, err := p.run(t.Context()); err == nil {
		t.Error("another root is accepted")
	}
}

func TestFlatSidesComeToOneRoot(t *testing.T) {
	s, state := smallFlat(t)
	r, err := RunFlat(t.Context(), t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Leaves != state.Accounts()+state.Slots() || r.Ratio().Count != s.Rounds ||
		r.CPURatio().Median <= 0 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"geth GenerateTrie", "balsa rebuild", "ns a leaf", "ratio: "} {
		if !strings.Contains(r.Table(), want) {
			t.Errorf("%q is not in\n%s", want, r.Table())
		}
	}
}

func TestASideWithAnotherStateFails(t *testing.T) {
	s, state := smallFlat(t)
	root, err := state.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := newRebuildSide(t.Context(), t.TempDir(), s, state, root)
	if err != nil {
		t.Fatal(err)
	}
	ours.root[0] ^= 1
	if _, err := ours.run(t.Context()); err == nil {
		t.Error("another root is accepted")
	}
	root[0] ^= 1
	if _, err := newRebuildSide(t.Context(), t.TempDir(), s, state, root); !errors.Is(err,
		balsa.ErrWrongRoot) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkTries builds all tries of a flat state with go-ethereum and with Balsa; the package's
// documentation has the command and says what is measured. x is how many times as long go-ethereum
// takes, x-cpu how many times the processor time. -v prints the table.
func BenchmarkTries(b *testing.B) {
	s, err := FlatSizesFromEnv(os.Getenv)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		dir := b.TempDir()
		if s.Dir != "" {
			if dir, err = os.MkdirTemp(s.Dir, "bench"); err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
		}
		r, err := RunFlat(b.Context(), dir, s)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v, %d lanes\n%s", s, keccak.New().Lanes(), r.Table())
		b.ReportMetric(r.Ratio().Median, "x")
		b.ReportMetric(r.CPURatio().Median, "x-cpu")
		b.ReportMetric(0, "ns/op") // a run is the operation: its time says nothing
	}
}

func TestFlatSizesFromEnv(t *testing.T) {
	env := map[string]string{}
	read := func() (FlatSizes, error) {
		return FlatSizesFromEnv(func(name string) string { return env[name] })
	}
	if s, err := read(); err != nil || s != DefaultFlatSizes() {
		t.Errorf("defaults: %+v, %v", s, err)
	}
	env["BALSA_BENCH_SCALE"], env["BALSA_BENCH_ROUNDS"] = "1/1000", "3"
	env["BALSA_BENCH_FLAT_ACCOUNTS"] = "400000"
	if s, err := read(); err != nil || s.Shape.Slots != 1_552_108 || s.Rounds != 3 ||
		s.Shape.Accounts != 400_000 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, v := range map[string]string{"SCALE": "big", "FLAT_SLOTS": "-1", "ROUNDS": "0",
		"CACHE_MB": "15"} {
		env = map[string]string{"BALSA_BENCH_" + name: v}
		if _, err := read(); err == nil {
			t.Errorf("%s=%s is accepted", name, v)
		}
	}
}
