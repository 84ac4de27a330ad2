package simulation

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Failure is a run that failed, and how to see it again.
type Failure struct {
	Seed   uint64
	Err    string
	Faults []string
}

// FailureOf makes the failure of a result.
func FailureOf(res *Result) Failure {
	return Failure{Seed: res.Seed, Err: res.Err.Error(), Faults: res.Faults}
}

// Print prints a failure: seed, tags, commit and the command.
func (f *Failure) Print(w io.Writer) {
	tags, commit := "", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "-tags":
				tags = s.Value
			case "vcs.revision":
				commit = s.Value
			}
		}
	}
	fmt.Fprintf(w, "FAILED seed %d, tags %q, commit %s: %s\n", f.Seed, tags, commit, f.Err)
	for _, line := range f.Faults {
		fmt.Fprintf(w, "    injected: %s\n", line)
	}
	if tags != "" {
		tags = "-tags " + tags + " "
	}
	fmt.Fprintf(w, "    go run %s./test/simulation/cmd/simulate -from %d -trace\n", tags, f.Seed)
}

// Sum is what many runs saw.
type Sum struct {
	Seeds, Steps, Blocks, Processes int
	Reads, Writes                   int
	Faulty                          int            // runs in which a fault was injected
	Faults                          map[string]int // by kind
	Failures                        []Failure
	Fingerprints                    []Print
}

// Print is a run's fingerprint.
type Print struct{ Seed, Fingerprint uint64 }

// Add adds a run.
func (s *Sum) Add(res *Result) {
	if s.Faults == nil {
		s.Faults = map[string]int{}
	}
	s.Seeds++
	s.Steps += res.Steps
	s.Blocks += res.Blocks
	s.Processes += res.Processes
	s.Reads += res.Reads
	s.Writes += res.Writes
	if len(res.Faults) > 0 {
		s.Faulty++
	}
	for _, f := range res.Faults {
		kind, _, _ := strings.Cut(f, ":")
		s.Faults[kind]++
	}
}

// Merge adds another sum.
func (s *Sum) Merge(o *Sum) {
	if s.Faults == nil {
		s.Faults = map[string]int{}
	}
	s.Seeds += o.Seeds
	s.Steps += o.Steps
	s.Blocks += o.Blocks
	s.Processes += o.Processes
	s.Reads += o.Reads
	s.Writes += o.Writes
	s.Faulty += o.Faulty
	for k, n := range o.Faults {
		s.Faults[k] += n
	}
	s.Failures = append(s.Failures, o.Failures...)
	s.Fingerprints = append(s.Fingerprints, o.Fingerprints...)
}

// Print prints the sum.
func (s *Sum) Print(w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "%d seeds in %.1f s (%.0f a second): %d messages, %d blocks, %d processes, "+
		"%d reads and %d writes of files\n", s.Seeds, took.Seconds(),
		float64(s.Seeds)/took.Seconds(), s.Steps, s.Blocks, s.Processes, s.Reads, s.Writes)
	fmt.Fprintf(w, "%d runs with faults:", s.Faulty)
	kinds := make([]string, 0, len(s.Faults))
	for k := range s.Faults {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		fmt.Fprintf(w, " %s %d,", k, s.Faults[k])
	}
	fmt.Fprintf(w, " %d failures\n", len(s.Failures))
	for i := range s.Failures {
		s.Failures[i].Print(w)
	}
}
