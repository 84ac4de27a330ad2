package jaeger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	jaegerTool = "github.com/jaegertracing/jaeger/cmd/jaeger"
	root       = "../.." // of Balsa's module
	sample     = root + "/test/chaingen/sample"
)

// config is Jaeger's: traces come over OTLP, are kept in memory, and are asked for over HTTP.
const config = `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [jaeger_storage_exporter]
  telemetry:
    logs: {level: warn}
    metrics: {level: none}
extensions:
  jaeger_storage:
    backends:
      memory: {memory: {max_traces: 100000}}
  jaeger_query:
    storage: {traces: memory}
    http: {endpoint: "%s"}
    grpc: {endpoint: "%s"}
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "%s"}
      http: {endpoint: "%s"}
exporters:
  jaeger_storage_exporter: {trace_storage: memory}
`

// server is a Jaeger that runs.
type server struct {
	query string // host:port of its query interface
	otlp  string // host:port of OTLP over gRPC
	http  string // host:port of OTLP over HTTP
}

// ports gives loopback addresses that are free now.
func ports(t *testing.T, n int) []any {
	t.Helper()
	var out []any
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out
}

// start builds Jaeger, unless Go's build cache has it, and runs it until the test ends.
func start(t *testing.T) *server {
	t.Helper()
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-n", jaegerTool)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("building Jaeger: %v", err)
	}
	t.Logf("Jaeger built, or found, in %v", time.Since(began).Round(time.Millisecond))
	addrs := ports(t, 4)
	file := filepath.Join(t.TempDir(), "jaeger.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, addrs...), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	jaeger := exec.CommandContext(ctx, strings.TrimSpace(string(out)), "--config", file)
	var log bytes.Buffer
	jaeger.Env = append(os.Environ(), "OTEL_TRACES_SAMPLER=always_off") // its own traces
	jaeger.Stdout, jaeger.Stderr = &log, &log
	jaeger.Cancel = func() error { return jaeger.Process.Signal(os.Interrupt) }
	jaeger.WaitDelay = 10 * time.Second
	if err := jaeger.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- jaeger.Wait() }()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Logf("Jaeger's log:\n%s", &log)
		}
	})
	s := &server{addrs[0].(string), addrs[2].(string), addrs[3].(string)}
	s.await(t, ended)
	return s
}

// await waits until Jaeger answers.
func (s *server) await(t *testing.T, ended chan error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var services struct{ Data []string }
		err := s.get("/api/services", &services)
		if err == nil {
			return
		}
		select {
		case end := <-ended:
			ended <- end
			t.Fatalf("Jaeger ended: %v", end)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("Jaeger does not answer: %v", err)
		}
	}
}

func (s *server) get(path string, to any) error {
	answer, err := http.Get("http://" + s.query + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.200s", path, answer.Status, raw)
	}
	return json.Unmarshal(raw, to)
}

// span is a span as Jaeger tells it. Times are in microseconds.
type span struct {
	TraceID    string
	SpanID     string
	Name       string `json:"operationName"`
	References []struct{ RefType, TraceID, SpanID string }
	StartTime  int64
	Duration   int64
	Tags       []tag
	Logs       []struct {
		Timestamp int64
		Fields    []tag
	}
}

type tag struct {
	Key   string
	Value any
}

func (s *span) end() int64 { return s.StartTime + s.Duration }

func (s *span) tag(key string) (any, bool) {
	for _, t := range s.Tags {
		if t.Key == key {
			return t.Value, true
		}
	}
	return nil, false
}

// number reads a numeric tag.
func (s *span) number(t *testing.T, key string) float64 {
	t.Helper()
	v, ok := s.tag(key)
	n, isNumber := v.(float64)
	if !ok || !isNumber {
		t.Fatalf("%s has %s = %v", s.Name, key, v)
	}
	return n
}

func (s *span) parent() string {
	for _, r := range s.References {
		if r.RefType == "CHILD_OF" {
			return r.SpanID
		}
	}
	return ""
}

// event says when an event was.
func (s *span) event(name string) (at int64, ok bool) {
	for _, l := range s.Logs {
		for _, f := range l.Fields {
			if f.Key == "event" && f.Value == name {
				return l.Timestamp, true
			}
		}
	}
	return 0, false
}

// traces asks for all traces of a service that have an operation, and waits until there are n.
func (s *server) traces(t *testing.T, service, operation string, n int) [][]span {
	t.Helper()
	query := url.Values{
		"service": {service}, "operation": {operation}, "limit": {"10000"}, "lookback": {"1h"},
	}
	var got struct {
		Data []struct{ Spans []span }
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err := s.get("/api/traces?"+query.Encode(), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Data) >= n || time.Now().After(deadline) {
			break
		}
	}
	if len(got.Data) != n {
		t.Fatalf("%d traces of %s with %s, want %d", len(got.Data), service, operation, n)
	}
	out := make([][]span, len(got.Data))
	for i, d := range got.Data {
		out[i] = d.Spans
	}
	return out
}

// balsa builds the binary once and gives a function that runs it.
func balsa(t *testing.T) func(env []string, args ...string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "balsa")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/node")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building balsa: %v\n%s", err, out)
	}
	return func(env []string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("balsa %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(string(out), "WARN") {
			t.Errorf("balsa %s warns:\n%s", args[0], out)
		}
	}
}
