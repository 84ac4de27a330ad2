package storagebench

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/internal/plots"
)

// Draw writes a sweep's plots into dir, which exists, and returns their files: wall time,
// utilisation, and the dispatcher's wait.
func (s *Sweep) Draw(dir string) ([]string, error) {
	line := func(name string, f func(*Point) measure.Spread, times float64) plots.Series {
		series := plots.Series{Name: name}
		for i := range s.Points {
			series.X = append(series.X, float64(s.Points[i].Value))
			series.Y = append(series.Y, f(&s.Points[i]).Median*times)
		}
		return series
	}
	return draw(dir, "sweep-"+s.Name, map[string]plots.Plot{
		"wall": {Title: "Wall time", Y: "seconds", Series: []plots.Series{
			line("storage tries", func(p *Point) measure.Spread { return p.StorageWallS }, 1),
			line("with the account trie", func(p *Point) measure.Spread { return p.WallS }, 1),
		}},
		"utilization": {Title: "Utilisation", Y: "% of workers x wall", Series: []plots.Series{
			line("storage tries", func(p *Point) measure.Spread { return p.Utilization }, 100),
		}},
		"wait": {Title: "Dispatcher wait", Y: "% of the wall time", Series: []plots.Series{
			line("storage tries", func(p *Point) measure.Spread { return p.DispatcherWait }, 100),
		}},
	}, s.Axis)
}

// Draw writes the plot of nanoseconds a leaf over leaves into dir.
func (g *Growth) Draw(dir string) ([]string, error) {
	line := func(name string, f func(*GrowthPoint) measure.Spread) plots.Series {
		series := plots.Series{Name: name}
		for i := range g.Points {
			series.X = append(series.X, float64(g.Points[i].State.Slots))
			series.Y = append(series.Y, f(&g.Points[i]).Median)
		}
		return series
	}
	all := []plots.Series{
		line("threads that build", func(p *GrowthPoint) measure.Spread { return p.StorageNS }),
		line("whole process", func(p *GrowthPoint) measure.Spread { return p.ProcessNS }),
	}
	if g.Storage != nil {
		x := float64(g.MainnetLeaves)
		all = append(all,
			plots.Series{Name: "extrapolated: threads", X: []float64{x},
				Y: []float64{g.MainnetStorageNS}},
			plots.Series{Name: "extrapolated: process", X: []float64{x},
				Y: []float64{g.MainnetProcessNS}})
	}
	return draw(dir, "growth", map[string]plots.Plot{
		"leaf": {Title: "Cost of a leaf", Y: "ns of processor time", Series: all},
	}, "leaves of all storage tries")
}

func draw(dir, prefix string, all map[string]plots.Plot, axis string) ([]string, error) {
	var files []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		p.X, p.LogX = axis, true
		file := filepath.Join(dir, fmt.Sprintf("%s-%s.svg", prefix, name))
		f, err := os.Create(file)
		if err != nil {
			return files, err
		}
		err = p.WriteSVG(f)
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return files, fmt.Errorf("%s: %w", file, err)
		}
		files = append(files, file)
	}
	return files, nil
}
