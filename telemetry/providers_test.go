package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// collector keeps the names of the spans that it is sent, over HTTP or gRPC.
type collector struct {
	coltrace.UnimplementedTraceServiceServer
	mu       sync.Mutex
	paths    []string
	services map[string]bool
	spans    []string
}

func (c *collector) Export(_ context.Context, m *coltrace.ExportTraceServiceRequest) (
	*coltrace.ExportTraceServiceResponse, error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range m.ResourceSpans {
		for _, a := range r.Resource.Attributes {
			if a.Key == "service.name" || a.Key == "service.version" {
				if c.services == nil {
					c.services = make(map[string]bool)
				}
				c.services[a.Value.GetStringValue()] = true
			}
		}
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				c.spans = append(c.spans, span.Name)
			}
		}
	}
	return new(coltrace.ExportTraceServiceResponse), nil
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if strings.HasSuffix(r.URL.Path, "/v1/metrics") {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths = append(c.paths, r.URL.Path)
		return
	}
	m := new(coltrace.ExportTraceServiceRequest)
	if err != nil || proto.Unmarshal(body, m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.paths = append(c.paths, r.URL.Path)
	c.mu.Unlock()
	c.Export(r.Context(), m)
}

// listen gives a loopback address that something listens on.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// clearEnv takes OpenTelemetry's variables out of the test's environment.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}

// traceOne makes a span and shuts down.
func traceOne(t *testing.T, o Options) *Providers {
	t.Helper()
	p, err := Setup(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.TracerProvider().Tracer(TracerName).Start(context.Background(), SpanBlockApply)
	span.SetAttributes(attribute.Int64(AttrBlockNumber, 36))
	span.End()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWithoutEndpointNothingIsRecorded(t *testing.T) {
	clearEnv(t)
	p, err := Setup(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.TracerProvider().Tracer(TracerName).Start(context.Background(), SpanBlockApply)
	if span.IsRecording() || p.Enabled() {
		t.Error("spans are recorded without an endpoint")
	}
	if allocs := testing.AllocsPerRun(100, func() { span.End() }); allocs != 0 {
		t.Errorf("%v allocations a span", allocs)
	}
	if err := p.Shutdown(context.Background()); err != nil || p.Stats() != (Stats{}) {
		t.Errorf("shutdown: %v, %+v", err, p.Stats())
	}
}

func TestSpansReachACollector(t *testing.T) {
	for _, c := range []struct {
		name, path string
		endpoint   func(host string) (flag, env, protocol string)
	}{
		{"host:port is gRPC", "", func(h string) (string, string, string) { return h, "", "" }},
		{"URL is HTTP", "/v1/traces", func(h string) (string, string, string) {
			return "http://" + h, "",
				""
		}},
		{"URL with a path", "/in", func(h string) (string, string, string) {
			return "http://" + h + "/in",
				"", ""
		}},
		{"URL over gRPC", "", func(h string) (string, string, string) {
			return "http://" + h, "",
				"grpc"
		}},
		{"host:port over HTTP", "/v1/traces",
			func(h string) (string, string, string) { return h, "", "http/protobuf" }},
		{"environment's URL", "/v1/traces", func(h string) (string, string, string) {
			return "",
				"http://" + h, ""
		}},
		{"environment's URL over gRPC", "",
			func(h string) (string, string, string) { return "", "http://" + h, "grpc" }},
		{"environment's host:port", "", func(h string) (string, string, string) { return "", h, "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			clearEnv(t)
			col, l := new(collector), listen(t)
			if c.path == "" {
				s := grpc.NewServer()
				coltrace.RegisterTraceServiceServer(s, col)
				go s.Serve(l)
				t.Cleanup(s.Stop)
			} else {
				s := &httptest.Server{Listener: l, Config: &http.Server{Handler: col}}
				s.Start()
				t.Cleanup(s.Close)
			}
			flag, env, protocol := c.endpoint(l.Addr().String())
			if env != "" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", env)
			}
			if protocol != "" {
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			}
			p := traceOne(t, Options{OTLPEndpoint: flag, Version: "1.2.3"})
			if len(col.spans) != 1 || col.spans[0] != SpanBlockApply {
				t.Fatalf("spans %v", col.spans)
			}
			if !col.services["balsa"] || !col.services["1.2.3"] {
				t.Errorf("resource %v", col.services)
			}
			paths := []string{strings.Replace(c.path, "traces", "metrics", 1), c.path}
			slices.Sort(col.paths)
			if c.path != "" && !slices.Equal(col.paths, paths) {
				t.Errorf("paths %v, want %s", col.paths, paths)
			}
			if s := p.Stats(); s.Exported != 1 || s.Failed != 0 || s.Dropped != 0 {
				t.Errorf("%+v", p.Stats())
			}
		})
	}
}

func TestEnvironmentNamesTheService(t *testing.T) {
	clearEnv(t)
	col, l := new(collector), listen(t)
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: col}}
	s.Start()
	defer s.Close()
	t.Setenv("OTEL_SERVICE_NAME", "balsa-7")
	traceOne(t, Options{OTLPEndpoint: s.URL})
	if !col.services["balsa-7"] || col.services["balsa"] {
		t.Errorf("service %v", col.services)
	}
}

func TestDisabledSDKExportsNothing(t *testing.T) {
	clearEnv(t)
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if p := traceOne(t, Options{OTLPEndpoint: "127.0.0.1:1"}); p.Enabled() {
		t.Error("enabled")
	}
}

func TestNoCollectorCostsOneWarningAndNoHang(t *testing.T) {
	clearEnv(t)
	gone := listen(t)
	gone.Close()
	silent := listen(t) // accepts, and never answers
	for name, endpoint := range map[string]string{
		"gRPC, nobody there":  gone.Addr().String(),
		"HTTP, nobody there":  "http://" + gone.Addr().String(),
		"gRPC, never answers": silent.Addr().String(),
		"HTTP, never answers": "http://" + silent.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			p, err := Setup(context.Background(), Options{OTLPEndpoint: endpoint,
				Logger:          slog.New(slog.NewTextHandler(&log, nil)),
				ShutdownTimeout: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_, span := p.TracerProvider().Tracer(TracerName).Start(context.Background(), "x")
				span.End()
			}
			done := make(chan error)
			go func() { done <- p.Shutdown(context.Background()) }()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("shutdown: %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("shutdown hangs")
			}
			for i := 0; i < 10_000 && p.Stats().Failed+p.Stats().Dropped < 3; i++ {
				time.Sleep(time.Millisecond)
			}
			if s := p.Stats(); s.Exported != 0 || s.Failed+s.Dropped != 3 {
				t.Errorf("%+v", s)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings: %s", n, &log)
			}
		})
	}
}

func TestBadEndpointsAreErrors(t *testing.T) {
	clearEnv(t)
	for _, endpoint := range []string{"localhost", "ftp://x:1", "http://", ":4317", "localhost:",
		"http://a b"} {
		if _, err := Setup(context.Background(), Options{OTLPEndpoint: endpoint}); !errors.Is(err,
			ErrEndpoint) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon")
	if _, err := Setup(context.Background(), Options{OTLPEndpoint: "a:1"}); !errors.Is(err,
		ErrEndpoint) {
		t.Errorf("protocol: %v", err)
	}
}
