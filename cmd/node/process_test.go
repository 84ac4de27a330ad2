package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/balsa-sync/balsa/telemetry"
)

// beBalsa is the environment variable that makes the test binary be balsa; see TestMain.
const beBalsa = "BALSA_TEST_BE_BALSA"

// process runs the command line in a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, args...)
	c.Env = append(os.Environ(), beBalsa+"=1")
	return c
}

func TestProcessExitsWithTheCode(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, exitDone},
		{[]string{"frobnicate"}, exitUsage},
		{[]string{"status", "--datadir", t.TempDir() + "/nothing"}, exitStore},
	} {
		err := process(t, c.args...).Run()
		var exit *exec.ExitError
		code := 0
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != c.want {
			t.Errorf("%v: exit code %d, want %d", c.args, code, c.want)
		}
	}
}

// replaying starts a replay that waits on its standard input for more than the blocks that it was
// given, and returns once they are applied.
func replaying(t *testing.T, dir string, blocks int) (cmd *exec.Cmd, stderr *bufio.Reader) {
	t.Helper()
	cmd = process(t, "replay", "--datadir", dir, "--verbosity", "4", "--log.format", "logfmt", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, b := range sample(t, blocks) {
		if _, err := io.WriteString(stdin, headerLine(t, b.Header, b.BAL)); err != nil {
			t.Fatal(err)
		}
	}
	stderr = bufio.NewReader(pipe)
	for n := 0; n < blocks; {
		line, err := stderr.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d blocks: %v", n, err)
		}
		if strings.Contains(line, `msg="block `) { // applied, or passed over
			n++
		}
	}
	return cmd, stderr
}

// checkRunning asks a replay that is under way for its status.
func checkRunning(t *testing.T, dir string) {
	t.Helper()
	r := runBalsa(t, "status", "--datadir", dir)
	r.want(t, exitDone, "running", "replay: blocks", "actors", "shadow")
	r = runBalsa(t, "status", "--datadir", dir, "--json")
	var st struct {
		Phase   string
		Running telemetry.Status
	}
	if err := json.Unmarshal([]byte(r.stdout), &st); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	p := st.Running.Progress
	if st.Phase != "running" || p == nil || p.Command != "replay" ||
		len(st.Running.Blocks) == 0 || len(st.Running.Actors) == 0 || st.Running.Store == nil {
		t.Errorf("%s", r.stdout)
	}
}

func TestSignalStopsInOrderAndTheNextRunGoesOn(t *testing.T) {
	dir := newStore(t)
	for i, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		blocks := 3 * (i + 1)
		cmd, stderr := replaying(t, dir, blocks)
		// The store is in use as long as the process lives, which says itself what it does.
		runBalsa(t, "verify", "--datadir", dir).want(t, exitStore, "in use")
		checkRunning(t, dir)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(stderr)
		if err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Errorf("%v: %v, want exit code %d", signal, err, exitFailed)
		}
		if !strings.Contains(string(rest), "interrupted at block ") {
			t.Errorf("%v: %s", signal, rest)
		}
		runBalsa(t, "verify", "--datadir", dir).want(t, exitDone, " 0 faults")
	}
	runBalsa(t, "replay", "--datadir", dir, "--to", "8", samplePayloads).
		want(t, exitDone, "6 blocks passed over", "2 blocks applied", "cursor 8 ")
}

func TestInterruptedReplayIsNoFailureOfTheStore(t *testing.T) {
	dir := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	go func() {
		for _, b := range sample(t, 2) {
			io.WriteString(out, headerLine(t, b.Header, b.BAL))
		}
		cancel() // the pipe stays open: the read under way never returns
	}()
	runBalsaIn(t, ctx, in, "replay", "--datadir", dir, "-").want(t, exitFailed,
		"interrupted at block ", "run the same command again to go on")
	runBalsa(t, "replay", "--datadir", dir, "--to", "4", samplePayloads).want(t, exitDone, "cursor 4 ")
}

func TestInterruptedCommandsExitWith1(t *testing.T) {
	dir := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := strings.NewReader("")
	runBalsaIn(t, ctx, none, "verify", "--datadir", dir).want(t, exitFailed, "interrupted")
	runBalsaIn(t, ctx, none, "replay", "--datadir", dir, samplePayloads).want(t, exitFailed,
		"interrupted")
	fresh := t.TempDir() + "/store"
	runBalsaIn(t, ctx, none, "init", "--datadir", fresh, sampleGenesis).want(t, exitFailed,
		"interrupted")
	runBalsa(t, "init", "--datadir", fresh, sampleGenesis).want(t, exitDone, "cursor 0 ")
}

// spans collects spans over OTLP/HTTP: how many there are of a name, and of which parent.
type spans struct {
	mu     sync.Mutex
	names  map[string]int
	parent map[string]string // by span id: its name
	child  [][2]string       // name, parent's id
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	m := new(coltrace.ExportTraceServiceRequest)
	if err != nil || proto.Unmarshal(body, m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range m.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				s.names[span.Name]++
				s.parent[string(span.SpanId)] = span.Name
				s.child = append(s.child, [2]string{span.Name, string(span.ParentSpanId)})
			}
		}
	}
}

func TestEachBlockIsASpanWithItsPhasesAsChildren(t *testing.T) {
	s := &spans{names: make(map[string]int), parent: make(map[string]string)}
	server := httptest.NewServer(s)
	defer server.Close()
	runBalsa(t, "replay", "--datadir", newStore(t), "--to", "5", "--otlp.endpoint", server.URL,
		samplePayloads).want(t, exitDone, "5 blocks applied")
	if s.names[telemetry.SpanBlockApply] != 5 {
		t.Fatalf("spans %v", s.names)
	}
	for _, name := range []string{telemetry.SpanBALDecode, telemetry.SpanBALWarmup,
		telemetry.SpanStorageRoots, telemetry.SpanAccountRoot, telemetry.SpanStateCommit} {
		if s.names[name] < 5 {
			t.Errorf("%d spans %s of 5 blocks", s.names[name], name)
		}
	}
	for _, c := range s.child {
		if c[0] != telemetry.SpanBlockApply && s.parent[c[1]] != telemetry.SpanBlockApply {
			t.Errorf("%s is a child of %q", c[0], s.parent[c[1]])
		}
	}
}

func TestACollectorThatIsNotThereIsAWarning(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	done := make(chan result)
	dir := newStore(t)
	go func() {
		done <- runBalsa(t, "replay", "--datadir", dir, "--to", "5", "--otlp.endpoint", server.URL,
			samplePayloads)
	}()
	select {
	case r := <-done:
		r.want(t, exitDone, "5 blocks applied", "cannot be exported")
		if n := strings.Count(r.stderr, "WARN"); n != 1 {
			t.Errorf("%d warnings: %s", n, r.stderr)
		}
	case <-time.After(time.Minute):
		t.Fatal("the command hangs")
	}
}
