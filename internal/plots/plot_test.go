package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// text is all that an SVG file says, if it is one.
func text(t *testing.T, svg []byte) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var b strings.Builder
	for first := true; ; {
		tok, err := d.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if first && tok.Name.Local != "svg" {
				t.Fatalf("root element %s", tok.Name.Local)
			}
			first = false
		case xml.CharData:
			b.Write(tok)
		}
	}
}

func TestPlotSaysWhatItShows(t *testing.T) {
	p := Plot{Title: "Wall time", X: "accounts a batch", Y: "seconds", LogX: true, Series: []Series{
		{"storage", []float64{1, 16, 256}, []float64{9, 5, 4}},
		{"in all", []float64{1, 16, 256}, []float64{12, 8, 7}},
	}}
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	got := text(t, b.Bytes())
	for _, want := range []string{"Wall time", "accounts a batch", "seconds", "storage", "in all",
		"16", "256"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in it", want)
		}
	}
}

func TestLabelsAreShort(t *testing.T) {
	for v, want := range map[float64]string{1: "1", 0.5: "0.5", 9999: "9999", 51_737: "51.7k",
		155_211: "155k", 15_521_083: "15.5M", 1_552_108_325: "1.55G"} {
		if got := label(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestPlotOfOnePointAndOfZeros(t *testing.T) {
	for _, y := range []float64{0, 3} {
		p := Plot{Series: []Series{{"one", []float64{2}, []float64{y}}}}
		var b bytes.Buffer
		if err := p.WriteSVG(&b); err != nil {
			t.Errorf("%v: %v", y, err)
		}
		text(t, b.Bytes())
	}
}

func TestPlotRefusesWhatIsNoNumber(t *testing.T) {
	for _, s := range [][]Series{
		nil,
		{{"empty", nil, nil}},
		{{"uneven", []float64{1, 2}, []float64{1}}},
		{{"nan", []float64{1}, []float64{math.NaN()}}},
		{{"inf", []float64{1}, []float64{math.Inf(1)}}},
		{{"log of 0", []float64{0}, []float64{1}}},
	} {
		p := Plot{LogX: true, Series: s}
		if err := p.WriteSVG(io.Discard); !errors.Is(err, ErrNoPoints) {
			t.Errorf("%v: %v", s, err)
		}
	}
}
