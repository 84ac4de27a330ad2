package statuspage

import (
	"embed"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"

	"github.com/balsa-sync/balsa/telemetry"
)

//go:embed page.html page.css page.js
var assets embed.FS

// Options says what is served.
type Options struct {
	Monitor *telemetry.Monitor
	// PProf serves profiles below /debug/pprof/. Default: false.
	PProf bool
}

// Handler serves the page. It answers requests for loopback names alone.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	for path, file := range map[string][2]string{
		"/{$}":      {"page.html", "text/html; charset=utf-8"},
		"/page.css": {"page.css", "text/css; charset=utf-8"},
		"/page.js":  {"page.js", "text/javascript; charset=utf-8"},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			body, err := assets.ReadFile(file[0])
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", file[1])
			_, _ = w.Write(body)
		})
	}
	mux.HandleFunc("/status.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o.Monitor.Status()) // a reader that left
	})
	if o.PProf {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return guard(mux)
}

// guard refuses what is no request of this machine's own browser for this page.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; "+
			"style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "+
			"form-action 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "read-only", http.StatusMethodNotAllowed)
		case !ownHost(r.Host):
			http.Error(w, "not a name of this machine's loopback", http.StatusForbidden)
		case !ownOrigin(r):
			http.Error(w, "not for other origins", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ownHost says whether a Host header names loopback, so that no other name leads here.
func ownHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return isLoopback(host)
}

// ownOrigin says whether a request comes from the page itself, from the address bar, or from a
// program that is no browser.
func ownOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.Host == r.Host
}
