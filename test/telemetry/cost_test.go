package telemetry

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

// BenchmarkBlocks applies the sample chain, in memory, watched in ways that take turns, and
// reports the median of each and what it costs beside not being watched, in processor time, which
// neighbours disturb least. The chain's blocks change some fifteen accounts each, so that what is
// spent on each block weighs many times what it does on mainnet; and the collector, which is in the
// same process, is counted too. Run it with -benchtime 15x.
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
	took := make([][]float64, len(costs))
	for i := range b.N {
		for k := range costs {
			k = (k + i) % len(costs)
			cpu := watched(b, k, collector.URL, func(o balsa.Options) time.Duration {
				return applyAll(b, o, g, blocks)
			})
			took[k] = append(took[k], float64(cpu.Microseconds())/float64(len(blocks)))
		}
	}
	median := func(k int) float64 {
		slices.Sort(took[k])
		return took[k][len(took[k])/2]
	}
	for k, c := range costs {
		name := strings.ReplaceAll(c.name, " ", "-")
		b.ReportMetric(median(k), "µs/block:"+name)
		b.ReportMetric(100*(median(k)/median(0)-1), "%:"+name)
	}
}

// watched runs f watched in one of the ways.
func watched(b *testing.B, k int, collector string,
	f func(balsa.Options) time.Duration) time.Duration {
	c := &costs[k]
	o := telemetry.Options{Prometheus: c.metrics}
	if c.traced {
		o.OTLPEndpoint = collector
	}
	os.Unsetenv("OTEL_TRACES_SAMPLER")
	if c.sampler != "" {
		os.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
		os.Setenv("OTEL_TRACES_SAMPLER_ARG", c.sampler)
		defer os.Unsetenv("OTEL_TRACES_SAMPLER_ARG")
		defer os.Unsetenv("OTEL_TRACES_SAMPLER")
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
	return f(opts)
}

// applyAll applies the blocks to a new store and gives the processor time of that.
func applyAll(b *testing.B, o balsa.Options, g *genesisfile.Genesis,
	blocks []balsa.Block) time.Duration {
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
	runtime.GC()
	before := processorTime(b)
	for _, block := range blocks {
		x := e.Executions(block.Header.Hash(), 1)
		x.End(0)
		x.Done()
		if _, err := e.Apply(b.Context(), block); err != nil {
			b.Fatal(err)
		}
	}
	took := processorTime(b) - before
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	return took
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
