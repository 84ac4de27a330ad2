package hashbench

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/trie"
)

// Shares say what the time of building goes to, as shares of 1, from Samples of a CPU profile.
type Shares struct {
	Kernel    float64 `json:"kernel"`    // package keccak: the permutations, and gathering lanes
	Encoding  float64 `json:"encoding"`  // RLP of nodes, and writing hashes into them
	Structure float64 `json:"structure"` // everything else of package trie
	Other     float64 `json:"other"`     // the runtime, and the loop around
	Samples   int64   `json:"samples"`
}

// profiled is how long a profile runs at least: 100 samples a second.
const profiled = 2 * time.Second

const trieSources = "github.com/balsa-sync/balsa/trie"

// encodingFiles are the files of package trie that write nodes as bytes.
var encodingFiles = []string{"leaf.go", "node.go", "branch.go"}

// shares profiles some runs. Where a profile is being taken already, there are none.
func (w *work) shares(ctx context.Context, o *Options, b *trie.Builder, took measure.Samples) (
	Shares, error) {
	var buf bytes.Buffer
	if err := pprof.StartCPUProfile(&buf); err != nil {
		return Shares{}, nil
	}
	span := min(profiled, time.Duration(o.Rounds)*took[0].Wall)
	var err error
	for start := time.Now(); err == nil && time.Since(start) < span; err = ctx.Err() {
		if _, err = w.build(b); err != nil {
			break
		}
	}
	pprof.StopCPUProfile()
	if err != nil {
		return Shares{}, err
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		return Shares{}, fmt.Errorf("hashbench: %w", err)
	}
	return attribute(p), nil
}

// attribute gives each sample of a profile to what its innermost function of this module does.
func attribute(p *profile.Profile) Shares {
	var kernel, encoding, structure, all int64
	for _, s := range p.Sample {
		all += s.Value[0]
		switch f := innermost(s); {
		case f == nil:
		case path.Base(path.Dir(f.Filename)) == "keccak":
			kernel += s.Value[0]
		case slices.Contains(encodingFiles, path.Base(f.Filename)):
			encoding += s.Value[0]
		default:
			structure += s.Value[0]
		}
	}
	total := float64(max(all, 1))
	return Shares{
		Kernel: float64(kernel) / total, Encoding: float64(encoding) / total,
		Structure: float64(structure) / total,
		Other:     float64(all-kernel-encoding-structure) / total, Samples: all,
	}
}

// innermost is the innermost function of package trie or keccak, or x/crypto's Keccak.
func innermost(s *profile.Sample) *profile.Function {
	for _, l := range s.Location {
		for _, line := range l.Line { // inlined ones first
			if f := line.Function; f != nil && strings.HasPrefix(f.Name, trieSources) {
				return f
			}
		}
	}
	return nil
}
