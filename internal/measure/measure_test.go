package measure

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

func TestSpreadOfKnownMeasurements(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, Spread{3, 1, 9, 4}},
	} {
		if got := Of(c.values); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.values, got, c.want)
		}
	}
	if got := Of([]float64{8, 10, 12}); got.Percent() != 40 || got.Text(1) != "10.0 [8.0-12.0]" {
		t.Errorf("%v percent, %q", got.Percent(), got.Text(1))
	}
	if got := Of([]float64{8, 10}).Times(2); got != (Spread{18, 16, 20, 2}) {
		t.Errorf("%+v", got)
	}
}

// A machine that is twice as slow in one round is so for both sides.
func TestRatioIsTakenWithinARound(t *testing.T) {
	if got := Ratio([]float64{3, 6, 30}, []float64{1, 2, 10}); got != (Spread{3, 3, 3, 3}) {
		t.Errorf("%+v", got)
	}
}

func TestFitLineThroughPoints(t *testing.T) {
	l, err := FitLine([]float64{1, 2, 3, 4}, []float64{5, 7, 9, 11})
	if err != nil || l.At(10) < 22.999 || l.At(10) > 23.001 {
		t.Errorf("%+v, %v", l, err)
	}
	for _, x := range [][]float64{nil, {1}, {1, 1}} {
		if _, err := FitLine(x, make([]float64, len(x))); !errors.Is(err, ErrFewPoints) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

func TestSidesTakeTurns(t *testing.T) {
	var order []string
	side := func(name string, wall time.Duration) Side {
		return Side{Name: name, Run: func(context.Context) (Sample, error) {
			order = append(order, name)
			return Sample{Wall: wall, Allocs: 7}, nil
		}}
	}
	got, err := Alternate(t.Context(), 3, side("a", time.Second), side("b", 2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "b", "a", "a", "b"}; !reflect.DeepEqual(order, want) {
		t.Errorf("order %v", order)
	}
	if !reflect.DeepEqual(got[1].Wall(), []float64{2, 2, 2}) ||
		!reflect.DeepEqual(got[0].Allocs(), []float64{7, 7, 7}) ||
		!reflect.DeepEqual(got[0].OneCore(), []float64{1, 1, 1}) {
		t.Errorf("%+v", got)
	}
}

func TestAFailingSideEndsTheRun(t *testing.T) {
	failure := errors.New("no room")
	_, err := Alternate(t.Context(), 2, Side{"bad", func(context.Context) (Sample, error) {
		return Sample{}, failure
	}})
	if !errors.Is(err, failure) || err.Error() != "bad: round 1: no room" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Alternate(ctx, 1, Side{Name: "never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRunCountsAllocations(t *testing.T) {
	var kept [][]byte
	s, err := Run(func() error {
		for range 100 {
			kept = append(kept, make([]byte, 1000))
		}
		return nil
	})
	if err != nil || s.Allocs < 100 || s.Bytes < 100_000 || len(kept) != 100 {
		t.Errorf("%+v, %v", s, err)
	}
}
