package main

import (
	"encoding/json"
	"testing"

	"github.com/balsa-sync/balsa/internal/hashbench"
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
