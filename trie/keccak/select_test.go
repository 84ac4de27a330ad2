package keccak

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestLanesLimitReadsNumbers(t *testing.T) {
	for value, want := range map[string]int{"": maxLanes, "1": 1, "4": 4, "8": 8, "100": 100} {
		if got, err := LanesLimit(value); got != want || err != nil {
			t.Errorf("limit of %q: %d, %v, want %d", value, got, err, want)
		}
	}
	for _, value := range []string{"0", "-1", "four", "4 ", "1.5"} {
		if _, err := LanesLimit(value); err == nil || !strings.Contains(err.Error(), LanesVariable) {
			t.Errorf("limit of %q: error %v", value, err)
		}
	}
}

func TestWidthsDescendToOne(t *testing.T) {
	w := Widths()
	if w[len(w)-1] != 1 || !slices.IsSortedFunc(w, func(a, b int) int { return b - a }) {
		t.Errorf("widths %v", w)
	}
	t.Logf("this machine has %v lanes", w)
	for n := -1; n <= 2*maxLanes; n++ {
		i := slices.IndexFunc(w, func(lanes int) bool { return lanes <= max(n, 1) })
		if got := NewLanes(n).Lanes(); got != w[i] {
			t.Errorf("at most %d lanes: %d, want %d", n, got, w[i])
		}
	}
	w[0] = 99
	if Widths()[0] == 99 {
		t.Error("a caller changed the widths")
	}
}

// TestNewObeysTheEnvironment asks other processes, as one process reads the variable once.
func TestNewObeysTheEnvironment(t *testing.T) {
	const child = "BALSA_TEST_PRINT_LANES"
	if os.Getenv(child) != "" {
		os.Stdout.WriteString("lanes=" + string(rune('0'+New().Lanes())) + ";")
		return
	}
	for value, want := range map[string]int{"1": 1, "4": 4, "7": 4, "8": 8, "": 8, "none": 8} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1", LanesVariable+"="+value)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		lanes := "lanes=" + string(rune('0'+NewLanes(want).Lanes())) + ";"
		if !strings.Contains(string(out), lanes) {
			t.Errorf("%s=%q: %s, want %s", LanesVariable, value, out, lanes)
		}
	}
}

func TestAKernelThatHashesWronglyIsNotUsed(t *testing.T) {
	right := func(ms []Message, _ int) { (&scalar{newSponge()}).Hash(ms) }
	for _, lanes := range []int{4, 8} {
		if !passes(lanes, right) {
			t.Errorf("%d lanes: what hashes rightly is refused", lanes)
		}
		for l := range lanes {
			for blocks := 1; blocks <= 3; blocks++ {
				wrong := func(ms []Message, n int) {
					if right(ms, n); n == blocks {
						ms[l].Out[31] ^= 1
					}
				}
				if passes(lanes, wrong) {
					t.Errorf("%d lanes: a wrong lane %d of %d blocks goes unseen", lanes, l, blocks)
				}
			}
		}
		if passes(lanes, func([]Message, int) {}) {
			t.Errorf("%d lanes: what writes no hash passes", lanes)
		}
	}
}
