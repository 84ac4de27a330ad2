package measure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// ErrFewPoints: there are too few measurements for what is asked of them.
var ErrFewPoints = errors.New("measure: too few points")

// Spread is what some measurements of one thing say: their middle, and how far they lie apart.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Count  int     `json:"count"`
}

// Of reduces measurements; none give the zero Spread.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Min:    sorted[0], Max: sorted[n-1], Count: n,
	}
}

// Ratio is how many times b goes into a, taken round by round: both measured the same rounds.
func Ratio(a, b []float64) Spread {
	quotients := make([]float64, 0, len(a))
	for i := range min(len(a), len(b)) {
		quotients = append(quotients, a[i]/b[i])
	}
	return Of(quotients)
}

// Percent is the distance between the extremes, in percent of the median.
func (s Spread) Percent() float64 {
	if s.Median == 0 {
		return 0
	}
	return 100 * (s.Max - s.Min) / s.Median
}

// Times is the Spread of the measurements times f.
func (s Spread) Times(f float64) Spread {
	return Spread{Median: s.Median * f, Min: s.Min * f, Max: s.Max * f, Count: s.Count}
}

// Text is the median with the extremes behind it, in as many decimals as given.
func (s Spread) Text(decimals int) string {
	if s.Count < 2 {
		return fmt.Sprintf("%.*f", decimals, s.Median)
	}
	return fmt.Sprintf("%.*f [%.*f-%.*f]", decimals, s.Median, decimals, s.Min, decimals, s.Max)
}

// Line is y = Offset + Slope x.
type Line struct {
	Offset float64 `json:"offset"`
	Slope  float64 `json:"slope"`
}

// At is the line's value at x.
func (l Line) At(x float64) float64 { return l.Offset + l.Slope*x }

// FitLine is the line of least squares through the points, of which two must differ in x; else
// the error is ErrFewPoints.
func FitLine(x, y []float64) (Line, error) {
	if len(x) != len(y) || len(x) < 2 || slices.Min(x) == slices.Max(x) {
		return Line{}, fmt.Errorf("%w: a line through %d points", ErrFewPoints, len(x))
	}
	var l Line
	l.Offset, l.Slope = stat.LinearRegression(x, y, nil, false)
	if math.IsNaN(l.Offset) || math.IsNaN(l.Slope) {
		return Line{}, fmt.Errorf("%w: no line fits %v, %v", ErrFewPoints, x, y)
	}
	return l, nil
}
