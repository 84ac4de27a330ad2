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
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(
			withPath(t.endpoint, "/v1/traces")))
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(t.endpoint),
		otlptracehttp.WithInsecure())
}

// withPath adds a signal's path of OTLP/HTTP where a URL names only a host, or puts it in the place
// of the one for traces. Any other path takes all signals.
func withPath(endpoint, path string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = path
	} else if before, ok := strings.CutSuffix(u.Path, "/v1/traces"); ok {
		u.Path = before + path
	}
	return u.String()
}

// countingExporter counts what its exporter does, and says once that it fails: the SDK would hand
// every error to a global handler. It never gives an error, because there is nobody to act on it.
type countingExporter struct {
	sdktrace.SpanExporter
	name   string
	warn   *warnOnce
	ctx    context.Context // canceled at the end of Shutdown
	cancel context.CancelFunc
	turn   chan struct{} // holds an element while an export is under way

	exported, failed atomic.Uint64
	taken            func(spans int) // told of the spans that are off the queue
	failing          atomic.Bool     // the last export failed
}

// warnOnce says once, for spans and metrics together, that exporting fails.
type warnOnce struct {
	logger *slog.Logger
	once   sync.Once
}

func (w *warnOnce) failed(what, endpoint string, err error) {
	w.once.Do(func() {
		w.logger.Warn("what is measured cannot be exported; this is said once", "what", what,
			"endpoint", endpoint, "err", err)
	})
}

func newCountingExporter(e sdktrace.SpanExporter, name string, w *warnOnce) *countingExporter {
	ctx, cancel := context.WithCancel(context.Background())
	return &countingExporter{
		SpanExporter: e, name: name, warn: w, ctx: ctx, cancel: cancel, turn: make(chan struct{}, 1),
	}
}

func (e *countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.failing.Store(err != nil)
	if e.taken != nil {
		e.taken(len(spans))
	}
	if err == nil {
		e.exported.Add(uint64(len(spans)))
		return nil
	}
	e.warn.failed("spans", e.name, err)
	e.failed.Add(uint64(len(spans)))
	return nil
}
