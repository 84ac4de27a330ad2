package plots

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// ErrNoPoints: there is nothing that could be drawn.
var ErrNoPoints = errors.New("plots: no points")

// Sizes of a plot. The margin has room for half of a label at an axis' end.
const (
	width        = 16 * vg.Centimeter
	height       = 10 * vg.Centimeter
	margin       = 0.6 * vg.Centimeter
	legendOffset = 0.3 * vg.Centimeter
	labelShare   = 0.1 // of the x axis, which a label takes
)

// Series is one line of a plot: Y[i] was measured at X[i].
type Series struct {
	Name string
	X, Y []float64
}

// Plot is some series over one quantity. Its y axis begins at 0: what is half as high is half as
// much.
type Plot struct {
	Title  string
	X, Y   string // what the axes show, with units
	LogX   bool   // x in powers; all X are positive then
	Series []Series
}

// WriteSVG draws the plot. Errors: ErrNoPoints for a series without points, or with ones that are
// no numbers; those of w.
func (p *Plot) WriteSVG(w io.Writer) error {
	g := plot.New()
	g.Title.Text, g.X.Label.Text, g.Y.Label.Text = p.Title, p.X, p.Y
	g.Legend.Top, g.Legend.Left = true, true
	g.Legend.XOffs, g.Legend.YOffs = legendOffset, -legendOffset
	g.Add(plotter.NewGrid())
	if len(p.Series) == 0 {
		return fmt.Errorf("%w in %q", ErrNoPoints, p.Title)
	}
	var top float64
	var ticks []plot.Tick
	for i, s := range p.Series {
		points, err := p.points(&s)
		if err != nil {
			return err
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("plots: %s: %w", s.Name, err)
		}
		line.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
		line.Dashes, marks.Shape = plotutil.Dashes(i), plotutil.Shape(i)
		g.Add(line, marks)
		g.Legend.Add(s.Name, line, marks)
		for _, at := range points {
			top = max(top, at.Y)
			ticks = append(ticks, plot.Tick{Value: at.X, Label: label(at.X)})
		}
	}
	if p.LogX {
		g.X.Scale = plot.LogScale{}
		// The values that were measured, each once.
		slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
		ticks = slices.CompactFunc(ticks, func(a, b plot.Tick) bool { return a.Value == b.Value })
		g.X.Tick.Marker = plot.ConstantTicks(spaced(ticks))
	}
	// Room for the legend above the lines.
	if top == 0 {
		top = 1
	}
	g.Y.Min, g.Y.Max = 0, top*(1.1+0.1*float64(len(p.Series)))
	canvas := vgsvg.New(width, height)
	g.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	_, err := canvas.WriteTo(w)
	return err
}

// label writes a value with a prefix of the SI: 51.7k, 1.55G.
func label(v float64) string {
	for _, p := range []struct {
		from, unit float64
		name       string
	}{{1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}} {
		if math.Abs(v) >= p.from {
			return strconv.FormatFloat(v/p.unit, 'g', 3, 64) + p.name
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// spaced drops the labels of ticks that stand too close to the one before, on a logarithmic axis.
func spaced(ticks []plot.Tick) []plot.Tick {
	position := func(t *plot.Tick) float64 { return math.Log(t.Value) }
	room := (position(&ticks[len(ticks)-1]) - position(&ticks[0])) * labelShare
	last := math.Inf(-1)
	for i := range ticks {
		if at := position(&ticks[i]); at-last < room {
			ticks[i].Label = ""
		} else {
			last = at
		}
	}
	return ticks
}

func (p *Plot) points(s *Series) (plotter.XYs, error) {
	if len(s.X) == 0 || len(s.X) != len(s.Y) {
		return nil, fmt.Errorf("%w: %s has %d x and %d y", ErrNoPoints, s.Name, len(s.X), len(s.Y))
	}
	points := make(plotter.XYs, len(s.X))
	for i := range s.X {
		x, y := s.X[i], s.Y[i]
		if math.IsNaN(x+y) || math.IsInf(x+y, 0) || p.LogX && x <= 0 {
			return nil, fmt.Errorf("%w: %s: (%v, %v)", ErrNoPoints, s.Name, x, y)
		}
		points[i] = plotter.XY{X: x, Y: y}
	}
	return points, nil
}
