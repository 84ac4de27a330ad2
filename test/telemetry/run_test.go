package telemetry

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/blockfile"
	"github.com/balsa-sync/balsa/internal/genesisfile"
	"github.com/balsa-sync/balsa/telemetry"
)

const sample = "../chaingen/sample"

// run is a node that built a state, applied blocks, and is still open.
type run struct {
	providers *telemetry.Providers
	monitor   *telemetry.Monitor
	engine    *balsa.Engine
}

// sampleBlocks reads the first n blocks of the sample chain.
func sampleBlocks(t testing.TB, n int) []balsa.Block {
	t.Helper()
	r, err := blockfile.Open(blockfile.Options{
		Paths: []string{filepath.Join(sample, "payloads.jsonl.gz")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []balsa.Block
	for len(out) < n {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Block()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, balsa.Block{
			Header: b.Header, BAL: b.BAL, Transactions: b.Transactions,
		})
	}
	return out
}

// realRun builds the sample chain's state, rebuilds it, and applies blocks, one of them bad, one
// twice, and one undone and applied again; the lags of some are sampled.
func realRun(t *testing.T, blocks int) *run {
	t.Helper()
	t.Setenv("OTEL_SDK_DISABLED", "")
	p, err := telemetry.Setup(t.Context(), telemetry.Options{Prometheus: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	m, err := telemetry.NewMonitor(p.MeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	m.Exports(p.Stats)
	r := &run{providers: p, monitor: m}
	o := balsa.Options{Dir: t.TempDir(), Monitor: m, Workers: 2}
	o.Storage.Workers = 2
	o.Shadow.Enabled = true
	g, err := genesisfile.Read(filepath.Join(sample, "genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := balsa.Init(t.Context(), o, balsa.Genesis{
		ChainID: g.ChainID, Header: g.Header, Alloc: g.Alloc,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := balsa.Rebuild(t.Context(), o, balsa.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if r.engine, err = balsa.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.engine.Close(context.Background()) })
	r.apply(t, sampleBlocks(t, blocks))
	left := 1.0
	m.SetProgress(&telemetry.Progress{
		Command: "replay", Phase: "blocks", Share: 0.5, Remaining: &left,
		Counts: map[string]float64{"blocks": float64(blocks), "blocks_per_s": 100},
	})
	return r
}

func (r *run) apply(t *testing.T, blocks []balsa.Block) {
	t.Helper()
	for i, b := range blocks {
		var x *balsa.Executions
		if i%2 == 0 {
			x = r.engine.Executions(b.Header.Hash(), 4)
			for w := range 4 {
				x.End(w)
			}
			x.Done()
		}
		if _, err := r.engine.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if lag, sampled := x.Lag(); sampled != (i%2 == 0) || lag < 0 || lag > time.Minute {
			t.Errorf("block %d: lag %v, sampled %v", i, lag, sampled)
		}
	}
	last := blocks[len(blocks)-1]
	if a, err := r.engine.Apply(t.Context(), last); err != nil || !a.Known {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := r.engine.Rewind(t.Context(), last.Header.ParentHash); err != nil {
		t.Fatal(err)
	}
	if _, err := r.engine.Apply(t.Context(), balsa.Block{
		Header: last.Header, BAL: []byte{0xc0}, Transactions: -1,
	}); err == nil {
		t.Fatal("a block with another list was applied")
	}
	if _, err := r.engine.Apply(t.Context(), last); err != nil {
		t.Fatal(err)
	}
}

// scrape gives the metrics in Prometheus' format.
func (r *run) scrape(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.providers.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}
