package telemetry

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/genesisfile"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/telemetry"
)

// costs are the ways of being watched that BenchmarkBlocks compares.
var costs = []struct {
	name    string
	traced  bool   // with a collector that takes everything
	sampler string // with its argument; empty: the default, all of it
	metrics bool   // there is a Prometheus endpoint
	monitor bool   // as the binary has it: status page, timelines, root-ready lag
}{
	{name: "nothing"},
	{name: "default", monitor: true},
	{name: "metrics", monitor: true, metrics: true},
	{name: "traced 0", monitor: true, metrics: true, traced: true, sampler: "0"},
	{name: "traced 0.01", monitor: true, metrics: true, traced: true, sampler: "0.01"},
	{name: "traced all", monitor: true, metrics: true, traced: true},
}

// BenchmarkBlocks applies the sample chain, in memory, watched in different ways. Its blocks change
// some fifteen accounts each, so that what is spent on each block weighs many times what it does on
// mainnet. Run it with -benchtime 5x -count 5, so that the ways take turns.
func BenchmarkBlocks(b *testing.B) {
	blocks := sampleBlocks(b, 300)
	g, err := genesisfile.Read(filepath.Join(sample, "genesis.json"))
	if err != nil {
		b.Fatal(err)
	}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer collector.Close()
	for _, c := range costs {
		b.Run(c.name, func(b *testing.B) {
			o := telemetry.Options{Prometheus: c.metrics}
			if c.traced {
				o.OTLPEndpoint = collector.URL
			}
			if c.sampler != "" {
				b.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
				b.Setenv("OTEL_TRACES_SAMPLER_ARG", c.sampler)
			} else {
				os.Unsetenv("OTEL_TRACES_SAMPLER")
			}
			p, err := telemetry.Setup(context.Background(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Shutdown(context.Background())
			opts := balsa.Options{
				Dir: "node", Workers: 1, NoSync: true, TracerProvider: p.TracerProvider(),
			}
			if c.monitor {
				if opts.Monitor, err = telemetry.NewMonitor(p.MeterProvider()); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				applyAll(b, opts, g, blocks)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(blocks)), "µs/block")
		})
	}
}

func applyAll(b *testing.B, o balsa.Options, g *genesisfile.Genesis, blocks []balsa.Block) {
	b.StopTimer()
	o.FS = state.MemFS()
	if _, err := balsa.Init(b.Context(), o, balsa.Genesis{
		ChainID: g.ChainID, Header: g.Header, Alloc: g.Alloc,
	}); err != nil {
		b.Fatal(err)
	}
	e, err := balsa.Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	for _, block := range blocks {
		x := e.Executions(block.Header.Hash(), 1)
		x.End(0)
		x.Done()
		if _, err := e.Apply(b.Context(), block); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}
