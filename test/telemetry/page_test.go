package telemetry

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const metricsPage = "../../docs/metrics.md"

var update = flag.Bool("update", false, "write docs/metrics.md and docs/images anew")

// sections of the page, by prefix, in this order.
var sections = []struct{ title, prefix string }{
	{"Blocks", "balsa.block."}, {"Storage phase", "balsa.storage."},
	{"Progress", "balsa.progress."}, {"Shadow", "balsa.shadow."}, {"Actors", "balsa.actor."},
	{"Store", "balsa.store."}, {"Telemetry itself", "balsa.telemetry."},
	{"Process", "process."}, {"Go", "go."},
}

// render writes the page: what stands above the first section stays.
func render(old []byte, all map[string]instrument) []byte {
	var b bytes.Buffer
	head, _, _ := bytes.Cut(old, []byte("\n## "))
	b.Write(head)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | kind | unit | meaning |\n|---|---|---|---|\n", s.title)
		for _, name := range names {
			if i := all[name]; strings.HasPrefix(name, s.prefix) {
				fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", name, i.kind, i.unit,
					strings.TrimSuffix(i.meaning, "."))
			}
		}
	}
	return b.Bytes()
}

func TestThePageListsWhatIsMeasured(t *testing.T) {
	all := registry(t)
	raw, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		raw = render(raw, all)
		if err := os.WriteFile(metricsPage, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listed := map[string]bool{}
	line := regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| ([a-z -]+) \\| `([^`]*)` \\| (.+) \\|$")
	for _, m := range line.FindAllStringSubmatch(string(raw), -1) {
		i, ok := all[m[1]]
		listed[m[1]] = true
		if !ok {
			t.Errorf("%s is on the page, and not measured", m[1])
		} else if i.kind != m[2] || i.unit != m[3] || strings.TrimSuffix(i.meaning, ".") != m[4] {
			t.Errorf("%s: the page has %q, it is %+v", m[1], m[2:], i)
		}
	}
	for name := range all {
		if !listed[name] {
			t.Errorf("%s is measured, and not on the page", name)
		}
	}
}

// Names and units are conventional: a prefix, snake case, a unit, histograms named *.duration.
func TestNamesAndUnitsAreConventional(t *testing.T) {
	name := regexp.MustCompile(`^(balsa|process|go)(\.[a-z][a-z0-9_]*)+$`)
	unit := regexp.MustCompile(`^(1|s|By|%|\{[a-z_]+\}(/s)?)$`)
	for n, i := range registry(t) {
		if !name.MatchString(n) {
			t.Errorf("name %s", n)
		}
		if !unit.MatchString(i.unit) || i.meaning == "" {
			t.Errorf("%s: unit %q, meaning %q", n, i.unit, i.meaning)
		}
		if strings.HasPrefix(n, "balsa.") && (i.kind == "histogram") !=
			strings.HasSuffix(n, ".duration") {
			t.Errorf("%s is a %s", n, i.kind)
		}
	}
}
