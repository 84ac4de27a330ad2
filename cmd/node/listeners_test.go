package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenersStayOnLoopback(t *testing.T) {
	dir := newStore(t)
	for _, args := range [][]string{
		{"--http.addr", "0.0.0.0:0"}, {"--http.addr", "192.0.2.1:80"}, {"--http.addr", "nonsense"},
		{"--metrics.addr", "nonsense"}, {"--pprof", "--http.addr", ":::1"},
	} {
		runBalsa(t, append([]string{"replay", "--datadir", dir, samplePayloads}, args...)...).want(t,
			exitUsage)
	}
}

func TestListenersEndWithTheCommand(t *testing.T) {
	dir := newStore(t)
	r := runBalsa(t, "replay", "--datadir", dir, "--to", "3", "--metrics.addr", ":0", "--http.addr",
		":0", "--pprof", samplePayloads)
	r.want(t, exitDone, "3 blocks applied", "http://127.0.0.1:", "/metrics")
	if _, err := os.Stat(filepath.Join(dir, addressFile)); !os.IsNotExist(err) {
		t.Errorf("the address stays behind: %v", err)
	}
	runBalsa(t, "replay", "--datadir", dir, "--to", "4", "--http.addr", "off", samplePayloads).want(t,
		exitDone, "1 blocks applied")
}

// What the file names is asked only where it is on loopback, and read only up to a limit.
func TestARunningNodeIsAskedOnLoopbackAlone(t *testing.T) {
	dir := t.TempDir()
	say := func(addr string) {
		if err := os.WriteFile(filepath.Join(dir, addressFile), []byte(addr), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, addr := range []string{"192.0.2.1:80", "example.org:80", "", "127.0.0.1", "localhost:1"} {
		say(addr)
		if _, err := askRunning(t.Context(), dir); err == nil {
			t.Errorf("%q was asked", addr)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status.json" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer s.Close()
	say(strings.TrimPrefix(s.URL, "http://") + "\n")
	if raw, err := askRunning(t.Context(), dir); err != nil || string(raw) != "{}" {
		t.Errorf("%s, %v", raw, err)
	}
}
