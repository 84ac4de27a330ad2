package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// run moves a share by step(i) every 250 ms, and gives the error of each estimate, as a ratio to
// what was left indeed, by the share at which it was made.
func runEstimate(step func(share float64) float64) (shares, ratios []float64) {
	var e estimate
	start := time.Unix(1000, 0)
	now, share := start, 0.0
	e.start(now)
	type moment struct {
		share float64
		at    time.Time
		left  time.Duration
	}
	var moments []moment
	for share < 1 {
		now = now.Add(250 * time.Millisecond)
		share = min(share+step(share), 1)
		e.add(now, share)
		moments = append(moments, moment{share, now, e.remaining(now, share)})
	}
	for _, m := range moments[:len(moments)-1] {
		shares = append(shares, m.share)
		ratios = append(ratios, float64(m.left)/float64(now.Sub(m.at)))
	}
	return shares, ratios
}

func TestAnEstimateOfASteadySpeedIsExact(t *testing.T) {
	_, ratios := runEstimate(func(float64) float64 { return 1.0 / 4096 })
	for i, r := range ratios {
		if math.Abs(r-1) > 1e-6 {
			t.Fatalf("estimate %d is %.6f of what was left", i, r)
		}
	}
}

func TestAnEstimateSettlesThoughSpeedsVary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shares, ratios := runEstimate(func(float64) float64 { return rng.Float64() / 1000 })
	for i, share := range shares {
		if share > 0.1 && share < 0.95 && math.Abs(ratios[i]-1) > 0.15 {
			t.Fatalf("at %.2f the estimate is %.2f of what was left", share, ratios[i])
		}
	}
}

func TestAnEstimateFollowsAChangeOfSpeed(t *testing.T) {
	shares, ratios := runEstimate(func(share float64) float64 {
		if share < 0.25 {
			return 1.0 / 500
		}
		return 1.0 / 2000
	})
	for i, share := range shares {
		if share > 0.6 && share < 0.98 && math.Abs(ratios[i]-1) > 0.2 {
			t.Fatalf("at %.2f the estimate is %.2f of what was left", share, ratios[i])
		}
	}
}

func TestWithoutProgressNothingIsKnown(t *testing.T) {
	var e estimate
	now := time.Unix(1000, 0)
	e.start(now)
	if left := e.remaining(now, 0); left != -1 {
		t.Errorf("%v", left)
	}
	if left := e.remaining(now.Add(time.Second), 0); left != -1 {
		t.Errorf("%v", left)
	}
	if left := e.remaining(now.Add(time.Second), 1); left != 0 {
		t.Errorf("%v", left)
	}
}
