package telemetry

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	// asked finds the metrics of a query: names with an underscore that no bracket follows, outside
	// of label matchers and groupings.
	asked    = regexp.MustCompile(`\b(?:balsa|process|go)_[a-z0-9_]+`)
	labels   = regexp.MustCompile(`\{[^}]*\}|\b(?:by|without|on|ignoring)\s*\([^)]*\)`)
	families = regexp.MustCompile(`(?m)^([a-z][a-z0-9_]*)(?:\{| )`)
)

// metricsOf are the metrics that a query asks for.
func metricsOf(query string) []string {
	return asked.FindAllString(labels.ReplaceAllString(query, " "), -1)
}

// Every metric that a panel or an alert asks for is there after a real run.
func TestTheDashboardAsksForWhatIsThere(t *testing.T) {
	there := map[string]bool{}
	for _, m := range families.FindAllStringSubmatch(realRun(t, 40).scrape(t), -1) {
		there[m[1]] = true
	}
	raw, err := os.ReadFile("../../telemetry/grafana/balsa.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := map[string][]string{}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have id %d", p.ID)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			queries[p.Title] = append(queries[p.Title], target.Expr)
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
	}
	if raw, err = os.ReadFile("../../telemetry/grafana/alerts.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, rule := range strings.Split(string(raw), "- alert: ")[1:] {
		name, body, _ := strings.Cut(rule, "\n")
		expr, _, _ := strings.Cut(body, "labels:")
		queries[name] = append(queries[name], expr)
	}
	if len(queries) < 50 {
		t.Errorf("%d panels and alerts", len(queries))
	}
	for title, qs := range queries {
		for _, q := range qs {
			names := metricsOf(q)
			if len(names) == 0 {
				t.Errorf("%s: %s asks for no metric of Balsa's", title, q)
			}
			for _, name := range names {
				if !there[name] {
					t.Errorf("%s asks for %s, which is not there", title, name)
				}
			}
		}
	}
}
