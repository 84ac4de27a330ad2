package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxScrapes bounds the scrapes at a time: more are refused.
const maxScrapes = 4

// meters is the half of Providers that is about metrics.
type meters struct {
	provider metric.MeterProvider
	sdk      *sdkmetric.MeterProvider // nil: nothing is measured
	registry *prometheus.Registry     // nil: there is no Prometheus

	exported, failed atomic.Uint64
	failing          atomic.Bool // the last export failed
}

func (m *meters) setUp(ctx context.Context, o *Options, t *target,
	res *resource.Resource, w *warnOnce) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(res)}
	if o.Prometheus {
		m.registry = prometheus.NewRegistry()
		r, err := otelprometheus.New(otelprometheus.WithRegisterer(m.registry),
			otelprometheus.WithoutScopeInfo())
		if err != nil {
			return fmt.Errorf("Prometheus exporter: %w", err)
		}
		options = append(options, sdkmetric.WithReader(r))
	}
	if t != nil {
		e, err := newMetricExporter(ctx, t)
		if err != nil {
			return fmt.Errorf("OTLP exporter for %s: %w", t, err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(
			&countingMetrics{Exporter: e, counts: m, name: t.String(), warn: w, logger: o.Logger})))
	}
	if len(options) == 1 {
		m.provider = noop.NewMeterProvider()
		return nil
	}
	m.sdk = sdkmetric.NewMeterProvider(options...)
	m.provider = m.sdk
	return nil
}

func newMetricExporter(ctx context.Context, t *target) (sdkmetric.Exporter, error) {
	switch {
	case t.endpoint == "" && t.grpc:
		return otlpmetricgrpc.New(ctx)
	case t.endpoint == "":
		return otlpmetrichttp.New(ctx)
	case t.grpc && t.isURL():
		return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(t.endpoint))
	case t.grpc:
		return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(t.endpoint),
			otlpmetricgrpc.WithInsecure())
	case t.isURL():
		return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(
			withPath(t.endpoint, "/v1/metrics")))
	}
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(t.endpoint),
		otlpmetrichttp.WithInsecure())
}

// MeterProvider gives the provider to make meters from.
func (p *Providers) MeterProvider() metric.MeterProvider { return p.metrics.provider }

// MetricsHandler serves the metrics in Prometheus' format; nil without Options.Prometheus.
func (p *Providers) MetricsHandler() http.Handler {
	if p.metrics.registry == nil {
		return nil
	}
	return promhttp.HandlerFor(p.metrics.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes,
	})
}

func (m *meters) shutDown(ctx context.Context) error {
	if m.sdk == nil {
		return nil
	}
	if err := m.sdk.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// countingMetrics counts what its exporter does, and says once that it fails, as countingExporter
// does.
type countingMetrics struct {
	sdkmetric.Exporter
	counts *meters
	name   string
	warn   *warnOnce
	logger *slog.Logger
	off    atomic.Bool // the collector takes no metrics
}

func (e *countingMetrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if e.off.Load() {
		return nil
	}
	err := e.Exporter.Export(ctx, rm)
	if err != nil && takesNone(err) {
		e.off.Store(true)
		e.logger.Info("the collector takes no metrics: none are sent", "endpoint", e.name)
		return nil
	}
	e.counts.failing.Store(err != nil)
	if err == nil {
		e.counts.exported.Add(1)
		return nil
	}
	e.counts.failed.Add(1)
	e.warn.failed("metrics", e.name, err)
	return nil
}

// takesNone tells a collector of traces alone, such as Jaeger, from one that fails.
func takesNone(err error) bool {
	return status.Code(err) == codes.Unimplemented ||
		strings.Contains(err.Error(), "Unimplemented") || strings.Contains(err.Error(), "404")
}
