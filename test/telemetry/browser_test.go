package telemetry

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/balsa-sync/balsa/internal/statuspage"
)

// browserTimeout bounds one run of the browser.
const browserTimeout = 90 * time.Second

// browser runs headless Chromium on a page for as long as the page's scripts need, and gives what
// it prints.
func browser(t *testing.T, args ...string) string {
	t.Helper()
	var bin string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			bin = path
			break
		}
	}
	if bin == "" {
		t.Skip("no Chromium here: apt-get install chromium")
	}
	ctx, stop := context.WithTimeout(t.Context(), browserTimeout)
	defer stop()
	cmd := exec.CommandContext(ctx, bin, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
		"--user-data-dir=" + t.TempDir(), "--window-size=1280,1500", "--virtual-time-budget=4000",
	}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", bin, err, &errs)
	}
	return out.String()
}

// The page shows a node's blocks, workers, actors and shadow, and says when the node is gone.
func TestTheStatusPageIsDrawnInABrowser(t *testing.T) {
	r := realRun(t, 100)
	s := httptest.NewServer(statuspage.Handler(statuspage.Options{Monitor: r.monitor}))
	defer s.Close()
	dom := browser(t, "--dump-dom", s.URL+"/")
	for _, want := range []string{
		`data-shown="`, "replay", "50.0 %", "bal-apply", "account-batch", "not sampled",
		`class="commit"`, `class="accountRoot"`, `class="busy"`, `class="rejected"`, `class="lag"`,
		"bal_hash", "dead letters", "on disk", "compared", "trie-build",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Count(dom, `class="commit"`) < 100 {
		t.Errorf("%d blocks are drawn", strings.Count(dom, `class="commit"`))
	}
	if !strings.Contains(dom, `id="stale" hidden`) {
		t.Error("the page says that nobody answers")
	}
	dir := os.Getenv("BALSA_ARTIFACTS")
	if dir == "" {
		dir = t.TempDir()
	}
	if *update {
		dir = "../../docs/images"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	picture, err := filepath.Abs(filepath.Join(dir, "status-page.png"))
	if err != nil {
		t.Fatal(err)
	}
	browser(t, "--screenshot="+picture, s.URL+"/")
	raw, err := os.ReadFile(picture)
	if err != nil || !bytes.HasPrefix(raw, []byte("\x89PNG")) || len(raw) < 10_000 {
		t.Errorf("a picture of %d bytes, %v", len(raw), err)
	}
	t.Logf("picture: %s", picture)
}
