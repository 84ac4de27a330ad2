package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// check refuses what cannot be an endpoint: the exporters would fall back to a default in silence.
func (t *target) check() error {
	if !t.isURL() {
		if host, port, err := net.SplitHostPort(t.endpoint); err != nil || host == "" || port == "" {
			return fmt.Errorf("%w %q: neither host:port nor a URL", ErrEndpoint, t.endpoint)
		}
		return nil
	}
	u, err := url.Parse(t.endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w %q: not an http:// or https:// URL", ErrEndpoint, t.endpoint)
	}
	return nil
}

func newExporter(ctx context.Context, t *target) (sdktrace.SpanExporter, error) {
	switch {
	case t.endpoint == "" && t.grpc:
		return otlptracegrpc.New(ctx)
	case t.endpoint == "":
		return otlptracehttp.New(ctx)
	case t.grpc && t.isURL():
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(t.endpoint))
	case t.grpc:
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(t.endpoint),
			otlptracegrpc.WithInsecure())
	case t.isURL():
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(withTracesPath(t.endpoint)))
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(t.endpoint),
		otlptracehttp.WithInsecure())
}

// withTracesPath adds the path of OTLP/HTTP for traces where a URL names only a host.
func withTracesPath(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
		return u.String()
	}
	return endpoint
}

// countingExporter counts what its exporter does, and says once that it fails: the SDK would hand
// every error to a global handler. It never gives an error, because there is nobody to act on it.
type countingExporter struct {
	sdktrace.SpanExporter
	name   string
	logger *slog.Logger
	ctx    context.Context // canceled at the end of Shutdown
	cancel context.CancelFunc

	exported, failed atomic.Uint64
	failing          atomic.Bool // the last export failed
	warned           sync.Once
}

func newCountingExporter(e sdktrace.SpanExporter, name string, l *slog.Logger) *countingExporter {
	ctx, cancel := context.WithCancel(context.Background())
	return &countingExporter{SpanExporter: e, name: name, logger: l, ctx: ctx, cancel: cancel}
}

func (e *countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.failing.Store(err != nil)
	if err == nil {
		e.exported.Add(uint64(len(spans)))
		return nil
	}
	e.warned.Do(func() {
		e.logger.Warn("spans cannot be exported; this is said once", "endpoint", e.name, "err", err)
	})
	e.failed.Add(uint64(len(spans)))
	return nil
}
