package statuspage

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/balsa-sync/balsa/telemetry"
)

func serve(t *testing.T, o Options) http.Handler {
	t.Helper()
	m, err := telemetry.NewMonitor(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Monitor = m
	return Handler(o)
}

func TestOnlyReadsOfTheOwnHostAndOriginAreAnswered(t *testing.T) {
	h := serve(t, Options{})
	for name, tc := range map[string]struct {
		method, host string
		header       [2]string
		want         int
	}{
		"address bar":        {"GET", "127.0.0.1:7000", [2]string{"Sec-Fetch-Site", "none"}, 200},
		"the page":           {"GET", "localhost:70", [2]string{"Sec-Fetch-Site", "same-origin"}, 200},
		"IPv6":               {"GET", "[::1]:7000", [2]string{}, 200},
		"a program":          {"HEAD", "127.0.0.1:7000", [2]string{}, 200},
		"own origin":         {"GET", "localhost:70", [2]string{"Origin", "http://localhost:70"}, 200},
		"another port":       {"GET", "localhost:70", [2]string{"Origin", "http://localhost:80"}, 403},
		"another origin":     {"GET", "localhost:7000", [2]string{"Origin", "http://evil.example"}, 403},
		"no origin":          {"GET", "localhost:7000", [2]string{"Origin", "null"}, 403},
		"another site":       {"GET", "localhost:70", [2]string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a name bound to us": {"GET", "evil.example:7000", [2]string{}, 403},
		"looks like us":      {"GET", "localhost.evil.example", [2]string{}, 403},
		"another address":    {"GET", "10.0.0.1:7000", [2]string{}, 403},
		"writing":            {"POST", "127.0.0.1:7000", [2]string{}, 405},
		"removing":           {"DELETE", "127.0.0.1:7000", [2]string{}, 405},
	} {
		for _, path := range []string{"/", "/status.json"} {
			r := httptest.NewRequest(tc.method, "http://"+tc.host+path, nil)
			if tc.header[0] != "" {
				r.Header.Set(tc.header[0], tc.header[1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Errorf("%s %s: %d, want %d", name, path, w.Code, tc.want)
			}
		}
	}
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:7000"+path, nil))
	return w
}

func TestProfilesAreOffUnlessAskedFor(t *testing.T) {
	for _, on := range []bool{false, true} {
		if got := get(t, serve(t, Options{PProf: on}), "/debug/pprof/").Code == 200; got != on {
			t.Errorf("asked for: %v, served: %v", on, got)
		}
	}
}

func TestThePageNamesNothingExternal(t *testing.T) {
	h := serve(t, Options{})
	external := regexp.MustCompile(`(?i)(src|href|url\(|import|fetch\()[="'( ]*(https?:)?//`)
	for _, path := range []string{"/", "/page.css", "/page.js"} {
		w := get(t, h, path)
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d", path, w.Code)
		}
		if found := external.FindString(w.Body.String()); found != "" {
			t.Errorf("%s has %q", path, found)
		}
	}
	if get(t, h, "/page.go").Code != 404 {
		t.Error("a file that is no part of the page is served")
	}
}

func TestStatusIsJSON(t *testing.T) {
	var st telemetry.Status
	raw := get(t, serve(t, Options{}), "/status.json").Body.Bytes()
	if err := json.Unmarshal(raw, &st); err != nil {
		t.Fatal(err)
	}
	if st.Verdict != "off" || st.Blocks == nil || st.Actors == nil || st.Progress != nil {
		t.Errorf("%+v", st)
	}
}

func TestAddressesBeyondLoopbackAreRefused(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0", "7000"} {
		if l, err := Listen(addr, true); !errors.Is(err, ErrAddress) {
			if err == nil {
				l.Close()
			}
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{":0", "127.0.0.1:0", "localhost:0"} {
		l, err := Listen(addr, true)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if host := l.Addr().String(); !ownHost(host) {
			t.Errorf("%s listens on %s", addr, host)
		}
		l.Close()
	}
}
