package hashbench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestReportHasEveryFigure(t *testing.T) {
	o := Options{Leaves: 1280, Rounds: 2, Hashes: 640}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Messages) != len(messageSizes) || len(r.Tries) != 4 || len(r.Lanes) == 0 ||
		r.Lanes[len(r.Lanes)-1] != 1 {
		t.Fatalf("%+v", r)
	}
	for _, m := range r.Messages {
		if len(m.Lanes) != len(r.Lanes) || m.XCrypto.Median <= 0 || m.XCrypto.Count != 2 {
			t.Errorf("%+v", m)
		}
		for _, l := range m.Lanes {
			if l.NS.Median <= 0 || l.Ratio.Median <= 0 || l.PermutationNS.Median > l.NS.Median {
				t.Errorf("%d bytes: %+v", m.Bytes, l)
			}
		}
	}
	for _, m := range r.Tries {
		if m.Tries*m.Leaves != o.Leaves || m.StackTrie.Median <= 0 || m.StackTrieAllocs <= 0 {
			t.Errorf("%+v", m)
		}
		for _, l := range m.Lanes {
			if l.NS.Median <= 0 || l.UnhashedNS.Median <= 0 || l.Ratio.Median <= 0 {
				t.Errorf("%s: %+v", m.Name, l)
			}
		}
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ns a permutation", "StackTrie ns", "32 bytes", "kernel"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the table", want)
		}
	}
}

// A builder and StackTrie come to one root, and one that differs is found.
func TestWorkComparesRoots(t *testing.T) {
	w := newWork("tries", 1000, 10, 9)
	var rows int
	root, err := w.stackTries(&rows)
	if err != nil || rows == 0 || w.check(root) != nil {
		t.Fatalf("%v, %d rows", err, rows)
	}
	root[0] ^= 1
	if err := w.check(root); !errors.Is(err, errDiffers) {
		t.Errorf("got %v", err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{Leaves: 5}, {Rounds: -1}, {Hashes: 1}} {
		if _, err := Run(t.Context(), o); !errors.Is(err, ErrBadOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestSamplesBelongToTheInnermostFunctionOfTries(t *testing.T) {
	frame := func(name, file string) *profile.Location {
		return &profile.Location{Line: []profile.Line{
			{Function: &profile.Function{Name: name, Filename: file}}}}
	}
	const trie = trieSources
	sample := func(n int64, stack ...*profile.Location) *profile.Sample {
		return &profile.Sample{Value: []int64{n, 0}, Location: stack}
	}
	build := frame("hashbench.build", "/x/hashbench/tries.go")
	leaf := frame(trie+".(*Builder).Leaf", "/x/trie/builder.go")
	got := attribute(&profile.Profile{Sample: []*profile.Sample{
		sample(50, frame("sha3.permute", "/y/keccak/keccakf.go"),
			frame(trie+"/keccak.(*scalar).Hash", "/x/trie/keccak/keccak.go"), leaf, build),
		sample(20, frame("runtime.memmove", "/z/memmove.s"),
			frame(trie+".(*node).encode", "/x/trie/node.go"), leaf, build),
		sample(20, leaf, build),
		sample(10, frame("runtime.gc", "/z/gc.go")),
	}})
	if want := (Shares{0.5, 0.2, 0.2, 0.1, 100}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, f := range encodingFiles {
		if _, err := os.Stat(filepath.Join("..", "..", "trie", f)); err != nil {
			t.Errorf("encoding is attributed by file: %v", err)
		}
	}
}
