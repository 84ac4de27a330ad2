package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v3"
)

// Folders of this repository and of go-ethereum's module.
const sampleDir = "../../test/chaingen/sample"

var (
	sampleGenesis  = filepath.Join(sampleDir, "genesis.json")
	samplePayloads = filepath.Join(sampleDir, "payloads.jsonl.gz")
)

// sampleBlocks is the length of the sample chain.
const sampleBlocks = 300

// goEthereum gives a path in go-ethereum's module.
var goEthereum = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/ethereum/go-ethereum").Output()
	return strings.TrimSpace(string(out)), err
})

func ethtest(t *testing.T, name string) string {
	t.Helper()
	dir, err := goEthereum()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "cmd/devp2p/internal/ethtest/testdata", name)
}

// result is what a command left.
type result struct {
	code           int
	stdout, stderr string
}

// runBalsa runs the command line in this process.
func runBalsa(t *testing.T, args ...string) result {
	t.Helper()
	return runBalsaIn(t, context.Background(), strings.NewReader(""), args...)
}

func runBalsaIn(t *testing.T, ctx context.Context, stdin io.Reader, args ...string) result {
	t.Helper()
	var out, errs syncBuffer
	a := &app{stdin: stdin, stdout: &out, stderr: &errs}
	code := a.run(ctx, append([]string{"balsa"}, args...))
	return result{code, out.String(), errs.String()}
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// want checks the exit code, and that both streams together have all texts.
func (r result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\n%s\n%s", r.code, code, r.stdout, r.stderr)
	}
	for _, s := range texts {
		if !strings.Contains(r.stdout+r.stderr, s) {
			t.Errorf("%q is not in the output\n%s\n%s", s, r.stdout, r.stderr)
		}
	}
}

// decode reads a command's output as JSON.
func (r result) decode(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		t.Fatalf("%v in %q", err, r.stdout)
	}
}

// newStore makes a store of the sample chain's genesis.
func newStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	runBalsa(t, "init", "--datadir", dir, sampleGenesis).want(t, exitDone, "cursor 0 0x")
	return dir
}

func TestBadUsageExitsWith2(t *testing.T) {
	store := newStore(t)
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no command":             {nil, "which command"},
		"unknown command":        {[]string{"sync"}, `unknown command "sync"`},
		"unknown flag":           {[]string{"status", "--nope"}, "nope"},
		"flag of another":        {[]string{"status", "--datadir", store, "--to", "5"}, "to"},
		"no datadir":             {[]string{"status"}, "datadir"},
		"empty datadir":          {[]string{"status", "--datadir", ""}, "datadir"},
		"no files":               {[]string{"replay", "--datadir", store}, "at least 1 argument"},
		"missing file":           {[]string{"replay", "--datadir", store, "gone.json"}, "gone.json"},
		"directory of no blocks": {[]string{"replay", "--datadir", store, empty}, empty},
		"argument to status":     {[]string{"status", "--datadir", store, "x"}, "no arguments"},
		"two genesis files":      {[]string{"init", "--datadir", store, "a", "b"}, "0 to 1 arguments"},
		"no genesis":             {[]string{"init", "--datadir", store}, "genesis file, or --alloc"},
		"alloc without header":   {[]string{"init", "--datadir", store, "--alloc", "a"}, "--header"},
		"missing genesis":        {[]string{"init", "--datadir", store, "gone.json"}, "gone.json"},
		"missing header": {[]string{"init", "--datadir", store, "--alloc", "a", "--header",
			"gone"}, "gone"},
		"another chain id": {[]string{"init", "--datadir", store, "--chainid", "5", sampleGenesis},
			"chain"},
		"number is none": {[]string{"replay", "--datadir", store, "--to", "x", "f"}, "to"},
		"log format":     {[]string{"status", "--datadir", store, "--log.format", "xml"}, "xml"},
		"verbosity": {[]string{"status", "--datadir", store, "--verbosity", "9"},
			"verbosity 9"},
		"endpoint": {[]string{"status", "--datadir", store, "--otlp.endpoint", "x"},
			"OTLP endpoint"},
		"workers": {[]string{"replay", "--datadir", store, "--workers", "-1", "f"},
			"Workers"},
		"cache": {[]string{"replay", "--datadir", store, "--cache.mib", "0", "f"},
			"cache.mib"},
		"no tests":      {[]string{"fixtures", empty}, "no tests"},
		"missing tests": {[]string{"fixtures", "gone"}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runBalsa(t, c.args...)
			r.want(t, exitUsage, "balsa: ", c.says)
			if r.stdout != "" {
				t.Errorf("on standard output: %q", r.stdout)
			}
		})
	}
}

func TestEveryFlagHasATwinInTheEnvironmentAndADefault(t *testing.T) {
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	var leaves []*cli.Command
	path := map[*cli.Command][]string{}
	for _, c := range a.command().Commands {
		path[c] = []string{c.Name}
		for _, sub := range c.Commands {
			path[sub] = []string{c.Name, sub.Name}
		}
		leaves = append(leaves, c.Commands...)
		if len(c.Commands) == 0 {
			leaves = append(leaves, c)
		}
	}
	for _, c := range leaves {
		help := runBalsa(t, append(path[c], "--help")...)
		help.want(t, exitDone)
		for _, f := range c.Flags {
			name := f.Names()[0]
			if name == "help" {
				continue
			}
			if strings.ToLower(name) != name || strings.Contains(name, "_") {
				t.Errorf("%s --%s: names are lower case with dots", c.Name, name)
			}
			twin := strings.NewReplacer(".", "_", "-", "_").Replace("BALSA_" + strings.ToUpper(name))
			line := helpLine(help.stdout, name)
			if !strings.Contains(line, "[$"+twin+"]") {
				t.Errorf("%s: no %s in %q", c.Name, twin, line)
			}
			if !strings.Contains(line, "(default: ") && !strings.Contains(line, "(required)") {
				t.Errorf("%s: no default in %q", c.Name, line)
			}
			if d, ok := f.(cli.DocGenerationFlag); !ok || !slices.Contains(d.GetEnvVars(), twin) {
				t.Errorf("%s --%s does not read %s", c.Name, name, twin)
			}
		}
		for _, name := range []string{flagLogFormat, flagVerbosity, flagOTLPEndpoint} {
			if helpLine(help.stdout, name) == "" {
				t.Errorf("%s has no --%s", c.Name, name)
			}
		}
	}
}

func helpLine(help, flag string) string {
	for line := range strings.Lines(help) {
		if strings.HasPrefix(strings.TrimSpace(line), "--"+flag+" ") {
			return line
		}
	}
	return ""
}

func TestFlagsComeFromTheEnvironmentUnlessGiven(t *testing.T) {
	t.Setenv("BALSA_DATADIR", newStore(t))
	t.Setenv("BALSA_TO", "3")
	t.Setenv("BALSA_LOG_FORMAT", "json")
	runBalsa(t, "replay", samplePayloads).want(t, exitDone, "3 blocks applied")
	runBalsa(t, "replay", "--to", "5", samplePayloads).want(t, exitDone, "2 blocks applied")
	t.Setenv("BALSA_LOG_FORMAT", "xml")
	runBalsa(t, "replay", samplePayloads).want(t, exitUsage, "xml")
	runBalsa(t, "replay", "--log.format", "logfmt", samplePayloads).want(t, exitDone)
	t.Setenv("BALSA_TO", "many")
	runBalsa(t, "replay", samplePayloads).want(t, exitUsage, "BALSA_TO")
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{
		"terminal": "INFO  state read", "logfmt": `level=INFO msg="state read" accounts=`,
		"json": `"level":"INFO","msg":"state read","accounts":`,
	} {
		dir := filepath.Join(t.TempDir(), "store")
		r := runBalsa(t, "init", "--datadir", dir, "--log.format", format, sampleGenesis)
		r.want(t, exitDone)
		if !strings.Contains(r.stderr, want) || strings.Contains(r.stdout, "state read") {
			t.Errorf("%s: %q", format, r.stderr)
		}
	}
	dir := filepath.Join(t.TempDir(), "store")
	r := runBalsa(t, "init", "--datadir", dir, "--verbosity", "1", sampleGenesis)
	r.want(t, exitDone)
	if r.stderr != "" {
		t.Errorf("verbosity 1: %q", r.stderr)
	}
}

func TestHelpAndVersionExitWith0(t *testing.T) {
	runBalsa(t, "--help").want(t, exitDone, "init", "import", "export", "rebuild", "replay", "verify",
		"status", "fixtures", "soak", "bench", "version")
	runBalsa(t, "version").want(t, exitDone, "balsa ", "go1.")
}

func TestMain(m *testing.M) {
	if os.Getenv(beBalsa) != "" {
		main() // this process is to be the binary
	}
	os.Exit(m.Run())
}
