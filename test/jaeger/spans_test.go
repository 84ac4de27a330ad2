package jaeger

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
)

const blocks = 40

// A replay's blocks and a rebuild are in Jaeger as they were: trees, attributes, and times.
func TestJaegerHasTheSpansOfBlocksAndBuilds(t *testing.T) {
	s, run := start(t), balsa(t)
	store := filepath.Join(t.TempDir(), "store")
	run([]string{"OTEL_SDK_DISABLED=true"}, "init", "--datadir", store, sample+"/genesis.json")
	run([]string{"OTEL_SERVICE_NAME=blocks"}, "replay", "--datadir", store, "--workers", "2", "--to",
		fmt.Sprint(blocks), "--otlp.endpoint", s.otlp, sample+"/payloads.jsonl.gz")
	run([]string{"OTEL_SERVICE_NAME=build"}, "rebuild", "--datadir", store, "--otlp.endpoint",
		"http://"+s.http)
	t.Run("blocks", func(t *testing.T) {
		checkBlocks(t, s.traces(t, "blocks", "block.apply", blocks))
	})
	t.Run("build", func(t *testing.T) { checkBuild(t, s.traces(t, "build", "storage.phase", 2)) })
	t.Run("sampling", func(t *testing.T) {
		run([]string{"OTEL_SERVICE_NAME=few", "OTEL_TRACES_SAMPLER=traceidratio",
			"OTEL_TRACES_SAMPLER_ARG=0"}, "replay", "--datadir", store, "--to", fmt.Sprint(blocks+10),
			"--otlp.endpoint", s.otlp, sample+"/payloads.jsonl.gz")
		var services struct{ Data []string }
		if err := s.get("/api/services", &services); err != nil {
			t.Fatal(err)
		}
		for _, name := range services.Data {
			if name == "few" {
				t.Error("spans came though none is sampled")
			}
		}
	})
}

// tree is a trace's spans by their ids.
type tree struct {
	spans []span
	byID  map[string]*span
}

func treeOf(spans []span) *tree {
	t := &tree{spans, map[string]*span{}}
	for i := range spans {
		t.byID[spans[i].SpanID] = &spans[i]
	}
	return t
}

// slack is what a child may lie outside of its parent, in µs: times are rounded one by one.
const slack = 2

// checkParents checks that each span lies below one of those that it may lie below, also in time;
// "" is for the top.
func (tr *tree) checkParents(t *testing.T, parents map[string][]string,
	inside bool) map[string]int {
	t.Helper()
	count := map[string]int{}
	for i := range tr.spans {
		sp := &tr.spans[i]
		count[sp.Name]++
		allowed, known := parents[sp.Name]
		if !known {
			t.Errorf("a span %s", sp.Name)
			continue
		}
		name := ""
		parent := tr.byID[sp.parent()]
		if parent != nil {
			name = parent.Name
		} else if sp.parent() != "" {
			t.Errorf("the parent of %s is missing", sp.Name)
		}
		ok := false
		for _, a := range allowed {
			ok = ok || a == name
		}
		if !ok {
			t.Errorf("%s lies below %q, not below one of %q", sp.Name, name, allowed)
		}
		if parent != nil && inside && (sp.StartTime < parent.StartTime-slack ||
			sp.end() > parent.end()+slack) {
			t.Errorf("%s is from %d to %d, beyond its %s from %d to %d", sp.Name, sp.StartTime, sp.end(),
				name, parent.StartTime, parent.end())
		}
	}
	return count
}

func checkBlocks(t *testing.T, traces [][]span) {
	below := []string{"block.apply"}
	seen := map[int]bool{}
	for _, spans := range traces {
		tr := treeOf(spans)
		count := tr.checkParents(t, map[string][]string{
			"block.apply": {""}, "bal.decode": below, "bal.warmup": below, "bal.apply": below,
			"storage.roots": below, "account.root": below, "state.commit": below,
		}, true)
		for _, name := range []string{"block.apply", "bal.decode", "account.root", "state.commit"} {
			if count[name] != 1 {
				t.Errorf("%d spans %s", count[name], name)
			}
		}
		if count["bal.warmup"] == 0 || count["bal.warmup"] != count["storage.roots"] ||
			count["bal.warmup"] != count["bal.apply"] {
			t.Errorf("workers' spans: %v", count)
		}
		for i := range spans {
			if spans[i].Name == "block.apply" {
				checkBlock(t, tr, &spans[i], seen)
			}
		}
	}
	for n := 1; n <= blocks; n++ {
		if !seen[n] {
			t.Errorf("block %d has no trace", n)
		}
	}
}

// checkBlock checks a block's attributes, and that its parts follow each other.
func checkBlock(t *testing.T, tr *tree, b *span, seen map[int]bool) {
	seen[int(b.number(t, "balsa.block.number"))] = true
	hash, _ := b.tag("balsa.block.hash")
	if s, ok := hash.(string); !ok || len(s) != 66 {
		t.Errorf("hash %v", hash)
	}
	if mode, _ := b.tag("balsa.mode"); mode != "bulk" {
		t.Errorf("mode %v", mode)
	}
	if b.number(t, "balsa.accounts") == 0 {
		t.Error("a block that changes no account")
	}
	b.number(t, "balsa.slots")
	ready, ok := b.event("root.ready")
	if !ok {
		t.Error("no root.ready")
	}
	last := b.StartTime
	for _, name := range []string{"bal.decode", "bal.warmup", "bal.apply", "storage.roots",
		"account.root", "state.commit"} {
		first := int64(math.MaxInt64)
		for i := range tr.spans {
			if sp := &tr.spans[i]; sp.Name == name {
				first = min(first, sp.StartTime)
				if name == "account.root" && sp.end() > ready+slack {
					t.Errorf("root.ready at %d, the account root came at %d", ready, sp.end())
				}
				if name == "state.commit" && sp.StartTime < ready-slack {
					t.Errorf("root.ready at %d, the commit began at %d", ready, sp.StartTime)
				}
			}
		}
		if first < last-slack {
			t.Errorf("%s began at %d, before what it waits for at %d", name, first, last)
		}
		last = first
	}
}

func checkBuild(t *testing.T, traces [][]span) {
	phases := map[any]bool{}
	for _, spans := range traces {
		tr := treeOf(spans)
		// A flush goes on when its job has ended: what causes it is not what waits for it.
		count := tr.checkParents(t, map[string][]string{
			"storage.phase": {""}, "storage.slot": {"storage.phase"},
			"storage.flush": {"storage.slot", "storage.phase"},
		}, false)
		if count["storage.phase"] != 1 || count["storage.slot"] == 0 {
			t.Errorf("%v", count)
		}
		for i := range spans {
			sp := &spans[i]
			switch sp.Name {
			case "storage.phase":
				phase, _ := sp.tag("balsa.storage.phase")
				phases[phase] = true
			case "storage.slot":
				for _, key := range []string{"balsa.storage.slot", "balsa.accounts",
					"balsa.storage.leaves", "balsa.storage.rows", "balsa.storage.turnover"} {
					sp.number(t, key)
				}
				if kind, _ := sp.tag("balsa.storage.kind"); kind == nil {
					t.Error("a job without a kind")
				}
			case "storage.flush":
				sp.number(t, "balsa.storage.bytes")
			}
		}
	}
	if !phases["storage"] || !phases["accounts"] {
		t.Errorf("phases %v", phases)
	}
}
