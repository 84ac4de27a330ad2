package balbench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/balsa-sync/balsa/internal/plots"
)

// Draw writes the plots of how the cost grows into dir, which exists, and notes their files.
func (rep *Report) Draw(dir string) error {
	for _, of := range []struct {
		name, title, x string
		results        []*Result
		at             func(*Result) float64
	}{
		{"growth", "Mixed blocks on growing states", "accounts of the state", rep.Growth,
			func(r *Result) float64 { return float64(r.State.All()) }},
		{"sizes", "Growing mixed blocks", "accounts that change in a block", rep.Sizes,
			func(r *Result) float64 { return r.Accounts }},
	} {
		if len(of.results) == 0 {
			continue
		}
		p := plots.Plot{Title: of.title, X: of.x, Y: "ms a block, median", LogX: true,
			Series: medians(of.results, of.at)}
		if err := rep.draw(&p, filepath.Join(dir, "bal-"+of.name+".svg")); err != nil {
			return err
		}
		item := p
		item.Y = "us an account or slot that changes"
		item.Series = []plots.Series{{Name: Bulk}}
		for _, r := range of.results {
			item.Series[0].X = append(item.Series[0].X, of.at(r))
			item.Series[0].Y = append(item.Series[0].Y, r.itemUS())
		}
		if err := rep.draw(&item, filepath.Join(dir, "bal-"+of.name+"-item.svg")); err != nil {
			return err
		}
	}
	return nil
}

// medians is a line for each contestant.
func medians(results []*Result, x func(*Result) float64) []plots.Series {
	var all []plots.Series
	for i := range results[0].Rows {
		s := plots.Series{Name: results[0].Rows[i].Name}
		for _, r := range results {
			s.X = append(s.X, x(r))
			s.Y = append(s.Y, r.Rows[i].MS.Median)
		}
		all = append(all, s)
	}
	return all
}

func (rep *Report) draw(p *plots.Plot, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := errors.Join(p.WriteSVG(f), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	rep.Plots = append(rep.Plots, file)
	return nil
}
