package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// ErrEndpoint is returned for an OTLP endpoint that cannot be one.
var ErrEndpoint = errors.New("bad OTLP endpoint")

// DefaultShutdownTimeout bounds the last export. It is there for a collector that accepts
// connections and then says nothing; one that is known to be away gets a tenth of it.
const DefaultShutdownTimeout = 3 * time.Second

// Options says what to export and where to.
//
// The environment variables of the OpenTelemetry specification hold for what no option says:
// OTEL_EXPORTER_OTLP_ENDPOINT and _TRACES_ENDPOINT, _PROTOCOL, _HEADERS, _TIMEOUT, _CERTIFICATE,
// _INSECURE; OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_*;
// OTEL_SDK_DISABLED turns all of it off.
type Options struct {
	// ServiceName is the resource's service.name. Default: "balsa". OTEL_SERVICE_NAME goes first.
	ServiceName string
	// Version is the resource's service.version. Default: none.
	Version string
	// OTLPEndpoint is host:port (gRPC without TLS) or a URL (http, https: OTLP over HTTP, with
	// /v1/traces and /v1/metrics where the URL has no path). OTEL_EXPORTER_OTLP_PROTOCOL=grpc makes
	// a URL gRPC.
	// Default: what the environment says; where it says nothing, nothing is exported.
	OTLPEndpoint string
	// Prometheus has MetricsHandler serve all metrics in Prometheus' format. Default: false.
	Prometheus bool
	// ShutdownTimeout bounds Shutdown. Default: DefaultShutdownTimeout.
	ShutdownTimeout time.Duration
	// Logger gets one warning when exporting starts to fail. Default: discarded.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.ServiceName == "" {
		o.ServiceName = "balsa"
	}
	if o.ShutdownTimeout <= 0 {
		o.ShutdownTimeout = DefaultShutdownTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Stats counts spans, and exports of metrics, since Setup.
type Stats struct {
	Exported uint64 // spans the collector took
	Failed   uint64 // spans it did not take
	Dropped  uint64 // spans for which the queue had no room, or Shutdown no time

	MetricExports uint64 // that the collector took
	MetricsFailed uint64 // that it did not take
}

// Providers is what Setup made. Its methods are safe for concurrent use.
type Providers struct {
	tracer   trace.TracerProvider
	sdk      *sdktrace.TracerProvider // nil: nothing is exported
	exporter *countingExporter
	admitted *admission
	metrics  meters
	timeout  time.Duration
}

// Setup makes the providers. Without an endpoint they are no-ops that cost nothing. A collector
// that cannot be reached is no error: it may come later.
func Setup(ctx context.Context, o Options) (*Providers, error) {
	o = o.withDefaults()
	p := &Providers{tracer: noop.NewTracerProvider(), timeout: o.ShutdownTimeout}
	traces, err := targetOf("TRACES", o.OTLPEndpoint, os.Getenv)
	if err != nil {
		return nil, err
	}
	meters, err := targetOf("METRICS", o.OTLPEndpoint, os.Getenv)
	if err != nil {
		return nil, err
	}
	if traces == nil && meters == nil && !o.Prometheus {
		p.metrics.provider = noopmetric.NewMeterProvider()
		return p, nil
	}
	if err := checkEnvironment(os.Getenv); err != nil {
		return nil, err
	}
	res, err := o.resource(ctx)
	if err != nil {
		return nil, err
	}
	warn := &warnOnce{logger: o.Logger}
	if traces != nil {
		if err := p.setUpTraces(ctx, traces, res, warn); err != nil {
			return nil, err
		}
	}
	if err := p.metrics.setUp(ctx, &o, meters, res, warn); err != nil {
		return nil, errors.Join(err, p.Shutdown(ctx))
	}
	return p, nil
}

// resource says what exports.
func (o *Options) resource(ctx context.Context) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", o.ServiceName)}
	if o.Version != "" {
		attrs = append(attrs, attribute.String("service.version", o.Version))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...),
		resource.WithFromEnv()) // the last one wins
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}

func (p *Providers) setUpTraces(ctx context.Context, t *target,
	res *resource.Resource, w *warnOnce) error {
	client, err := newExporter(ctx, t)
	if err != nil {
		return fmt.Errorf("OTLP exporter for %s: %w", t, err)
	}
	p.exporter = newCountingExporter(client, t.String(), w)
	p.admitted = newAdmission(p.exporter, os.Getenv)
	p.sdk = sdktrace.NewTracerProvider(sdktrace.WithResource(res),
		sdktrace.WithSpanProcessor(p.admitted))
	p.tracer = p.sdk
	return nil
}

// TracerProvider gives the provider to make tracers from.
func (p *Providers) TracerProvider() trace.TracerProvider { return p.tracer }

// Enabled says whether spans are exported.
func (p *Providers) Enabled() bool { return p.sdk != nil }

// Stats counts the spans so far.
func (p *Providers) Stats() Stats {
	s := Stats{
		MetricExports: p.metrics.exported.Load(), MetricsFailed: p.metrics.failed.Load(),
	}
	if p.exporter != nil {
		s.Exported, s.Failed = p.exporter.exported.Load(), p.exporter.failed.Load()
		s.Dropped = p.admitted.dropped.Load()
	}
	return s
}

// Shutdown exports what is queued and stops. It returns within Options.ShutdownTimeout, or within
// ctx if that is shorter, whatever the collector does; spans that were not exported by then are
// dropped and counted.
func (p *Providers) Shutdown(ctx context.Context) error {
	timeout := p.timeout
	if p.exporter != nil && p.exporter.failing.Load() || p.metrics.failing.Load() {
		timeout /= 10
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	metrics := make(chan error, 1)
	go func() { metrics <- p.metrics.shutDown(ctx) }()
	err := p.shutDownTraces(ctx)
	if err = errors.Join(err, <-metrics); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	return nil
}

func (p *Providers) shutDownTraces(ctx context.Context) error {
	if p.sdk == nil {
		return nil
	}
	err := p.sdk.Shutdown(ctx)
	// The SDK's own deadline leaves an export that is under way alone; this ends it. It comes after
	// the SDK has returned, for sure: what waits for ctx beside it may be stopped before it has begun.
	p.exporter.cancel()
	p.admitted.end(p.exporter.turn)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// target is where a signal goes.
type target struct {
	endpoint string // host:port or URL; empty: the exporter reads the environment
	grpc     bool
}

func (t *target) String() string {
	if t.endpoint == "" {
		return "the endpoint of the environment"
	}
	return t.endpoint
}

func (t *target) isURL() bool { return strings.Contains(t.endpoint, "://") }

// targetOf says where a signal goes, TRACES or METRICS; nil: nowhere.
func targetOf(signal, endpoint string, getenv func(string) string) (*target, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") ||
		getenv("OTEL_"+signal+"_EXPORTER") == "none" {
		return nil, nil
	}
	fromEnv := false
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT",
		"OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if endpoint == "" {
			endpoint, fromEnv = getenv(name), true
		}
	}
	if endpoint == "" {
		return nil, nil
	}
	t := &target{endpoint: endpoint}
	if err := t.check(); err != nil {
		return nil, err
	}
	protocol := getenv("OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL")
	if protocol == "" {
		protocol = getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch {
	case protocol == "grpc" || protocol == "" && !t.isURL():
		t.grpc = true
	case protocol != "" && protocol != "http/protobuf":
		return nil, fmt.Errorf("%w: OTEL_EXPORTER_OTLP_PROTOCOL is %q, known are grpc and "+
			"http/protobuf", ErrEndpoint, protocol)
	}
	if fromEnv && t.isURL() {
		t.endpoint = "" // the exporter's own reading knows all of the rules
	}
	return t, nil
}
