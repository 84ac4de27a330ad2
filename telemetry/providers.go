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
	// /v1/traces where the URL has no path). OTEL_EXPORTER_OTLP_PROTOCOL=grpc makes a URL gRPC.
	// Default: what the environment says; where it says nothing, nothing is traced.
	OTLPEndpoint string
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

// Stats counts spans since Setup.
type Stats struct {
	Exported uint64 // spans the collector took
	Failed   uint64 // spans it did not take
}

// Providers is what Setup made. Its methods are safe for concurrent use.
type Providers struct {
	tracer   trace.TracerProvider
	sdk      *sdktrace.TracerProvider // nil: nothing is exported
	exporter *countingExporter
	timeout  time.Duration
}

// Setup makes the providers. Without an endpoint they are no-ops that cost nothing. A collector
// that cannot be reached is no error: it may come later.
func Setup(ctx context.Context, o Options) (*Providers, error) {
	o = o.withDefaults()
	p := &Providers{tracer: noop.NewTracerProvider(), timeout: o.ShutdownTimeout}
	t, err := targetOf(o.OTLPEndpoint, os.Getenv)
	if err != nil || t == nil {
		return p, err
	}
	if err := checkEnvironment(os.Getenv); err != nil {
		return nil, err
	}
	client, err := newExporter(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter for %s: %w", t, err)
	}
	attrs := []attribute.KeyValue{attribute.String("service.name", o.ServiceName)}
	if o.Version != "" {
		attrs = append(attrs, attribute.String("service.version", o.Version))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...),
		resource.WithFromEnv()) // the last one wins
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p.exporter = newCountingExporter(client, t.String(), o.Logger)
	p.sdk = sdktrace.NewTracerProvider(sdktrace.WithResource(res),
		sdktrace.WithBatcher(p.exporter))
	p.tracer = p.sdk
	return p, nil
}

// TracerProvider gives the provider to make tracers from.
func (p *Providers) TracerProvider() trace.TracerProvider { return p.tracer }

// Enabled says whether spans are exported.
func (p *Providers) Enabled() bool { return p.sdk != nil }

// Stats counts the spans so far.
func (p *Providers) Stats() Stats {
	if p.exporter == nil {
		return Stats{}
	}
	return Stats{Exported: p.exporter.exported.Load(), Failed: p.exporter.failed.Load()}
}

// Shutdown exports what is queued and stops. It returns within Options.ShutdownTimeout, or within
// ctx if that is shorter, whatever the collector does; spans that were not exported by then are
// dropped and counted as failed.
func (p *Providers) Shutdown(ctx context.Context) error {
	if p.sdk == nil {
		return nil
	}
	timeout := p.timeout
	if p.exporter.failing.Load() {
		timeout /= 10
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The SDK's own deadline leaves an export that is under way alone; this ends it. It comes after
	// the SDK has returned, for sure: what waits for ctx beside it may be stopped before it has begun.
	defer p.exporter.cancel()
	if err := p.sdk.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("telemetry: %w", err)
	}
	return nil
}

// target is where spans go.
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

// targetOf says where spans go, nil: nowhere.
func targetOf(endpoint string, getenv func(string) string) (*target, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	fromEnv := false
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
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
	protocol := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
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
