package telemetry

import (
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/storageactor"
	"github.com/balsa-sync/balsa/telemetry"
)

// instrument is what the registry knows of a metric.
type instrument struct{ unit, meaning, kind string }

// recorder is a meter provider that notes what is made with it.
type recorder struct {
	noop.MeterProvider
	seen map[string]instrument
}

type recordingMeter struct {
	noop.Meter
	r *recorder
}

func (r *recorder) Meter(string, ...metric.MeterOption) metric.Meter {
	return recordingMeter{r: r}
}

func (r *recorder) note(name, kind, unit, meaning string) {
	r.seen[name] = instrument{unit, meaning, kind}
}

func (m recordingMeter) Int64Counter(name string, o ...metric.Int64CounterOption) (
	metric.Int64Counter, error) {
	c := metric.NewInt64CounterConfig(o...)
	m.r.note(name, "counter", c.Unit(), c.Description())
	return m.Meter.Int64Counter(name, o...)
}

func (m recordingMeter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (
	metric.Float64Histogram, error) {
	c := metric.NewFloat64HistogramConfig(o...)
	m.r.note(name, "histogram", c.Unit(), c.Description())
	return m.Meter.Float64Histogram(name, o...)
}

func (m recordingMeter) Int64ObservableCounter(name string,
	o ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	c := metric.NewInt64ObservableCounterConfig(o...)
	m.r.note(name, "counter", c.Unit(), c.Description())
	return m.Meter.Int64ObservableCounter(name, o...)
}

func (m recordingMeter) Float64ObservableCounter(name string,
	o ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	c := metric.NewFloat64ObservableCounterConfig(o...)
	m.r.note(name, "counter", c.Unit(), c.Description())
	return m.Meter.Float64ObservableCounter(name, o...)
}

func (m recordingMeter) Int64ObservableGauge(name string, o ...metric.Int64ObservableGaugeOption) (
	metric.Int64ObservableGauge, error) {
	c := metric.NewInt64ObservableGaugeConfig(o...)
	m.r.note(name, "gauge", c.Unit(), c.Description())
	return m.Meter.Int64ObservableGauge(name, o...)
}

func (m recordingMeter) Float64ObservableGauge(name string,
	o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	c := metric.NewFloat64ObservableGaugeConfig(o...)
	m.r.note(name, "gauge", c.Unit(), c.Description())
	return m.Meter.Float64ObservableGauge(name, o...)
}

func (m recordingMeter) Int64ObservableUpDownCounter(name string,
	o ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	c := metric.NewInt64ObservableUpDownCounterConfig(o...)
	m.r.note(name, "up-down counter", c.Unit(), c.Description())
	return m.Meter.Int64ObservableUpDownCounter(name, o...)
}

// registry is all that is measured.
func registry(t *testing.T) map[string]instrument {
	t.Helper()
	r := &recorder{seen: map[string]instrument{}}
	m, err := telemetry.NewMonitor(r)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Shutdown(t.Context())
	if _, err := storageactor.Spec(storageactor.Config{
		System: sys, Options: storageactor.Options{Meter: m.Meter()},
	}); err != nil {
		t.Fatal(err)
	}
	return r.seen
}
