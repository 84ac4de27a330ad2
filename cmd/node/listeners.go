package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/internal/statuspage"
)

// Flags of what a command shows while it runs.
const (
	flagMetricsAddr = "metrics.addr"
	flagHTTPAddr    = "http.addr"
	flagPProf       = "pprof"

	// listenOff turns the status page off.
	listenOff = "off"
)

// listenerFlags say where a command shows itself.
func listenerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: flagMetricsAddr, Sources: env(flagMetricsAddr), DefaultText: "none",
			Usage: "host:port to serve metrics at, at /metrics in Prometheus' format; " +
				"without a host, loopback",
		},
		&cli.StringFlag{
			Name: flagHTTPAddr, Sources: env(flagHTTPAddr),
			DefaultText: "a free port, where a command changes a store",
			Usage:       "loopback host:port of the status page, or off",
		},
		&cli.BoolFlag{
			Name: flagPProf, Sources: env(flagPProf), DefaultText: "false",
			Usage: "serve profiles at the status page's address, below /debug/pprof/",
		},
	}
}

// writing are the commands that hold a store for long, whose status others may ask for.
var writing = []string{"init", "import", "rebuild", "replay", "soak"}

// listen starts what the flags ask for. What it started ends with s.quiet.
func (s *session) listen(c *cli.Command) error {
	if addr := c.String(flagMetricsAddr); addr != "" {
		l, err := statuspage.Listen(addr, false)
		if err != nil {
			return usagef("--%s: %w", flagMetricsAddr, err)
		}
		mux := http.NewServeMux()
		mux.Handle("/metrics", s.telemetry.MetricsHandler())
		s.atEnd(statuspage.Serve(l, mux))
		s.log.Info("metrics are served", "url", fmt.Sprintf("http://%s/metrics", l.Addr()))
	}
	addr, asked := c.String(flagHTTPAddr), true
	if addr == "" {
		asked = c.Bool(flagPProf)
		if !asked && !slices.Contains(writing, c.Name) {
			return nil
		}
		addr = "127.0.0.1:0"
	}
	if addr == listenOff {
		return nil
	}
	l, err := statuspage.Listen(addr, true)
	if err != nil && !asked {
		s.log.Debug("no status page", "err", err)
		return nil
	}
	if err != nil {
		return usagef("--%s: %w", flagHTTPAddr, err)
	}
	s.atEnd(statuspage.Serve(l, statuspage.Handler(statuspage.Options{
		Monitor: s.monitor, PProf: c.Bool(flagPProf),
	})))
	if asked {
		s.log.Info("the status page is served", "url", fmt.Sprintf("http://%s/", l.Addr()))
	}
	if dir := c.String(flagDataDir); dir != "" {
		s.atEnd(s.announce(dir, l.Addr().String()))
	}
	return nil
}

func (s *session) atEnd(f func()) { s.ends = append(s.ends, f) }

// quiet stops what listen started, the last first.
func (s *session) quiet() {
	for _, f := range slices.Backward(s.ends) {
		f()
	}
	s.ends = nil
}

// addressFile is where a store's directory says where the status page of its holder is.
const addressFile = "http.addr"

// announce writes the address into the store's directory once the store is open, and takes it away
// again when the returned function is called.
func (s *session) announce(dir, addr string) (done func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	path := filepath.Join(dir, addressFile)
	go func() {
		defer close(ended)
		select {
		case <-s.monitor.Attached():
		case <-stop:
			return
		}
		if err := os.WriteFile(path, []byte(addr+"\n"), 0o600); err != nil {
			s.log.Debug("the status page is not announced", "err", err)
			return
		}
		<-stop
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Debug("the announcement of the status page stays", "err", err)
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

const (
	askTimeout = 3 * time.Second
	// maxStatusBytes bounds an answer: what is at the address may be anything by now.
	maxStatusBytes = 64 << 20
)

var errNoStatusPage = errors.New("the process that has the store open shows no status")

// askRunning asks the process that has the store open for its status, as JSON.
func askRunning(ctx context.Context, dir string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStatusPage, err)
	}
	addr := strings.TrimSpace(string(raw))
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%w: %s names %.60q, which is not loopback", errNoStatusPage,
			addressFile, addr)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status.json", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStatusPage, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxStatusBytes))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s answered %s", errNoStatusPage, addr, answer.Status)
	}
	return body, nil
}
