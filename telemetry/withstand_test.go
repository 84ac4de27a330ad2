package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) warnings() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.b.String(), "level=WARN")
}

// flakyCollector takes spans, hangs, or refuses, as it is told.
type flakyCollector struct {
	hang   atomic.Bool
	refuse atomic.Bool
	freed  chan struct{}
	spans  atomic.Int64
}

func (c *flakyCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.hang.Load() {
		<-c.freed
	}
	body, err := io.ReadAll(r.Body)
	m := new(coltrace.ExportTraceServiceRequest)
	if c.refuse.Load() || err != nil || proto.Unmarshal(body, m) != nil {
		w.WriteHeader(http.StatusBadRequest) // not to be tried again
		return
	}
	for _, r := range m.ResourceSpans {
		for _, s := range r.ScopeSpans {
			c.spans.Add(int64(len(s.Spans)))
		}
	}
}

func flaky(t *testing.T) (*flakyCollector, *Providers, *lockedBuffer) {
	t.Helper()
	clearEnv(t)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "16")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	c := &flakyCollector{freed: make(chan struct{})}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(c.freed) })
	log := new(lockedBuffer)
	p, err := Setup(context.Background(), Options{
		OTLPEndpoint: s.URL, Logger: slog.New(slog.NewTextHandler(log, nil)),
		ShutdownTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, p, log
}

func spans(p *Providers, n int) {
	tracer := p.TracerProvider().Tracer(TracerName)
	for range n {
		_, span := tracer.Start(context.Background(), SpanBlockApply)
		span.End()
	}
}

// await waits until the condition holds, for as long as a slow machine may need.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		time.Sleep(time.Millisecond)
	}
}

// A collector that accepts and says nothing: what waits is bounded, the rest is dropped, every span
// is counted once, and whoever ends a span does not wait.
func TestASlowCollectorCostsSpansAndNoMemory(t *testing.T) {
	c, p, _ := flaky(t)
	c.hang.Store(true)
	const n = 10_000
	spans(p, n)
	if waiting := p.admitted.pending.Load(); waiting > 64 {
		t.Errorf("%d spans wait", waiting)
	}
	if s := p.Stats(); s.Dropped < n-64 {
		t.Errorf("%+v", s)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.Exported+s.Failed+s.Dropped != n {
		t.Errorf("%+v of %d", s, n)
	}
}

// A collector that dies and comes back: what it misses is counted, and one warning is logged.
func TestACollectorThatComesBackIsUsedAgain(t *testing.T) {
	c, p, log := flaky(t)
	spans(p, 10)
	await(t, "the first spans do not come", func() bool { return p.Stats().Exported == 10 })
	c.refuse.Store(true)
	for range 3 {
		failed := p.Stats().Failed
		spans(p, 10)
		await(t, "no export fails", func() bool { return p.Stats().Failed == failed+10 })
	}
	c.refuse.Store(false)
	spans(p, 10)
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	s := p.Stats()
	if s.Exported != 20 || s.Failed != 30 || s.Dropped != 0 || c.spans.Load() != 20 {
		t.Errorf("%+v, %d came", s, c.spans.Load())
	}
	if n := log.warnings(); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// Prometheus may scrape while everything is written to, and sees what was counted.
func TestReadersAndWritersDoNotWaitForEachOther(t *testing.T) {
	clearEnv(t)
	p, err := Setup(context.Background(), Options{Prometheus: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	m, err := NewMonitor(p.MeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	const each = 2000
	for w := range 4 {
		show := m.Slot("worker", w)
		writers.Go(func() {
			for range each {
				show(Job{Took: 1e-3})
				m.Waited("a/worker-1", time.Microsecond)
			}
		})
	}
	for range 20 {
		w := httptest.NewRecorder()
		p.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if st := m.Status(); w.Code != http.StatusOK || len(st.Slots) != 4 {
			t.Fatalf("%d, %d workers", w.Code, len(st.Slots))
		}
	}
	writers.Wait()
	w := httptest.NewRecorder()
	p.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	want := `balsa_actor_mailbox_wait_duration_seconds_count{balsa_actor="worker"} 8000`
	if !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s is not in\n%s", want, w.Body)
	}
	for _, s := range m.Status().Slots {
		if len(s.Jobs) != keptJobs {
			t.Errorf("%d jobs are kept", len(s.Jobs))
		}
	}
}
