package storageactor

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/telemetry"
)

// A phase holds its jobs, a job the flush that it caused; there is no span for an account.
func TestSpansNestAndMetricsCount(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	s, accounts := world(t, 10, mixed(300)...)
	accounts[3].Expected[0]++
	sys, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := smallThresholds(2)
	o.Meter = meters.Meter("test")
	spec, err := Spec(Config{
		System: sys, Store: s, Options: o, Tracer: provider.Tracer("test"),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, sys: sys, results: map[common.Hash]messages.StorageResult{}}
	if r.pid, err = sys.Spawn(spec); err != nil {
		t.Fatal(err)
	}
	if r.client, err = NewClient(sys, r.pid, r.take); err != nil {
		t.Fatal(err)
	}
	r.build(accounts, 1000)
	if _, err := r.client.BuildAccounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.stop()
	checkSpans(t, spans.GetSpans(), len(accounts))
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	checkMetrics(t, &got, len(accounts))
}

func checkSpans(t *testing.T, spans tracetest.SpanStubs, accounts int) {
	t.Helper()
	byID := map[[8]byte]string{}
	for _, sp := range spans {
		byID[sp.SpanContext.SpanID()] = sp.Name
	}
	count := map[string]int{}
	for _, sp := range spans {
		count[sp.Name]++
		want := map[string][]string{
			telemetry.SpanStoragePhase: {""},
			telemetry.SpanStorageSlot:  {telemetry.SpanStoragePhase},
			telemetry.SpanStorageFlush: {telemetry.SpanStorageSlot, telemetry.SpanStoragePhase},
		}[sp.Name]
		if parent := byID[sp.Parent.SpanID()]; !slices.Contains(want, parent) {
			t.Fatalf("%s lies below %q", sp.Name, parent)
		}
	}
	if count[telemetry.SpanStoragePhase] != 2 || count[telemetry.SpanStorageFlush] == 0 {
		t.Fatalf("%v", count)
	}
	if n := count[telemetry.SpanStorageSlot]; n == 0 || n > accounts {
		t.Fatalf("%d jobs for %d accounts", n, accounts)
	}
}

func checkMetrics(t *testing.T, got *metricdata.ResourceMetrics, accounts int) {
	t.Helper()
	seen := map[string]string{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			seen[m.Name] = m.Unit
			if m.Name != "balsa.storage.accounts" {
				continue
			}
			good, bad := int64(0), int64(0)
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				if kind, ok := p.Attributes.Value(keyError); !ok {
					good = p.Value
				} else if kind.AsString() == "root_mismatch" {
					bad = p.Value
				}
			}
			if good != int64(accounts-1) || bad != 1 {
				t.Errorf("%d accounts good, %d bad", good, bad)
			}
		}
	}
	for name, unit := range map[string]string{
		"balsa.storage.leaves": "{leaf}", "balsa.storage.branch_rows": "{row}",
		"balsa.storage.written": "By", "balsa.storage.job.duration": "s",
		"balsa.storage.turnover.duration": "s", "balsa.storage.flush.duration": "s",
	} {
		if seen[name] != unit {
			t.Errorf("%s has unit %q, want %q", name, seen[name], unit)
		}
	}
}
