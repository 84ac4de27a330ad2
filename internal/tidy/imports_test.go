package tidy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// order is the module's packages, each line above what it may import: a package imports only what
// stands in a later line. Packages of one line do not import each other. test/... is not in it: it
// may import everything, and nothing imports it.
var order = [][]string{
	{"cmd/node"},
	{"internal/fixtures"},
	{"internal/genesisfile"},
	{"internal/blockfile"},
	{"internal/balbench", "internal/storagebench"},
	{"internal/mainnetshape"},
	{"."},
	{"internal/statuspage"},
	{"supervisor"},
	{"balactor", "storageactor"},
	{"telemetry"},
	{"actors/actorstest"},
	{"actors"},
	{"messages"},
	{"internal/flatfile"},
	{"state"},
	{"balactor/world"},
	{"bal"},
	{"trie/trietest"},
	{"internal/hashbench"},
	{"trie", "trie/classic"},
	{"trie/keccak/internal/asm"},
	{"trie/keccak"},
	{
		"internal/invariants", "internal/measure", "internal/mutants", "internal/plots",
		"internal/tidy",
	},
}

// testOnly is what the tests of a package import besides, out of order.
var testOnly = map[string][]string{
	"actors":       {"actors/actorstest"},
	"trie":         {"trie/classic", "trie/trietest"},
	"trie/classic": {"trie", "trie/trietest"},
}

// exclusive are the dependencies that only some packages import.
var exclusive = []struct {
	prefix string
	by     []string // "test" stands for test/...
	tests  bool     // and the tests of every package
	why    string
}{
	{
		prefix: "github.com/cockroachdb/pebble", by: []string{"state", "test"},
		why: "state alone knows Pebble",
	},
	{
		prefix: "go.opentelemetry.io/otel/sdk", by: []string{"telemetry", "test"}, tests: true,
		why: "telemetry alone knows the OpenTelemetry SDK",
	},
	{
		prefix: "go.opentelemetry.io/otel/exporters", by: []string{"telemetry", "test"}, tests: true,
		why: "telemetry alone knows OpenTelemetry's exporters",
	},
	{
		prefix: "go.opentelemetry.io", tests: true,
		by: []string{
			"actors", "actors/actorstest", "telemetry", "balactor", "storageactor", "supervisor", ".",
			"cmd/node", "test",
		},
		why: "what stands below actors is not traced",
	},
	{
		prefix: "github.com/asynkron/protoactor-go",
		by: []string{
			"actors", "actors/actorstest", "messages", "balactor", "storageactor", "supervisor", ".",
			"test",
		},
		why: "only actors and who speaks with them know proto.actor",
	},
}

const geth = "github.com/ethereum/go-ethereum/"

// pure are the packages without actors, store, traces, clock and randomness, with all that they
// import from outside the module and the standard library.
var pure = map[string][]string{
	"trie":           {geth + "common", geth + "rlp", "github.com/holiman/uint256"},
	"trie/classic":   {geth + "common", geth + "rlp", "golang.org/x/crypto/sha3"},
	"trie/keccak":    {geth + "common", "golang.org/x/crypto/sha3", "golang.org/x/sys/cpu"},
	"bal":            {geth + "common", geth + "rlp", "github.com/holiman/uint256"},
	"balactor/world": {geth + "common", "github.com/holiman/uint256", "golang.org/x/crypto/sha3"},
}

// impure is what pure packages do not import of the standard library.
var impure = []string{
	"crypto/rand", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os",
	"os/exec", "syscall", "time",
}

// environment are the files of pure packages that read environment variables, which their docs
// name: what they choose changes the speed and no result, also in tests that know nothing of it.
var environment = []string{"trie/keccak/select.go"}

// unreachable is what pure packages do not import through others either.
var unreachable = []string{
	"github.com/asynkron/protoactor-go", "github.com/cockroachdb/pebble", "go.opentelemetry.io",
	geth + "ethdb", geth + "triedb", geth + "core",
}

// rank is a package's line in the order, the lowest the highest; -1: it has none.
func rank(dir string) int {
	return slices.IndexFunc(order, func(line []string) bool { return slices.Contains(line, dir) })
}

func inTest(dir string) bool { return dir == "test" || strings.HasPrefix(dir, "test/") }

func TestPackagesImportOnlyWhatStandsBelowThem(t *testing.T) { check(t, checkOrder) }

func checkOrder(f *file) (found []finding) {
	if f.ast == nil || inTest(f.dir()) {
		return nil
	}
	from := rank(f.dir())
	if from < 0 {
		return []finding{f.finding(f.line(f.ast.Package),
			"the package has no place in the import order of internal/tidy")}
	}
	for line, imported := range own(f) {
		switch {
		case imported == f.dir(): // from its external tests
		case inTest(imported):
			found = append(found, f.finding(line, "nothing imports test/: "+imported))
		case f.isTest() && slices.Contains(testOnly[f.dir()], imported):
		case rank(imported) <= from:
			found = append(found, f.finding(line, f.dir()+" may not import "+imported+
				": it does not stand below"))
		}
	}
	return found
}

// own gives the line and the package, from the module's root, of each import from the module.
func own(f *file) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for line, path := range imports(f) {
			if path == module && !yield(line, ".") {
				return
			}
			dir, ok := strings.CutPrefix(path, module+"/")
			if ok && !yield(line, dir) {
				return
			}
		}
	}
}

func imports(f *file) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for _, spec := range f.ast.Imports {
			if !yield(f.line(spec.Pos()), strings.Trim(spec.Path.Value, "\"`")) {
				return
			}
		}
	}
}

// within tells whether an import is a path or lies below it, in whatever major version.
func within(imported, path string) bool {
	return imported == path || strings.HasPrefix(imported, path+"/")
}

func TestDependenciesAreImportedByTheirOwners(t *testing.T) { check(t, checkOwners) }

func checkOwners(f *file) (found []finding) {
	if f.ast == nil {
		return nil
	}
	for line, imported := range imports(f) {
		for _, dep := range exclusive {
			owner := slices.Contains(dep.by, f.dir()) ||
				inTest(f.dir()) && slices.Contains(dep.by, "test")
			if within(imported, dep.prefix) && !owner && !(dep.tests && f.isTest()) {
				found = append(found, f.finding(line, dep.why+": "+imported))
				break
			}
		}
	}
	return found
}

func TestPurePackagesImportNothingImpure(t *testing.T) { check(t, checkPure) }

func checkPure(f *file) (found []finding) {
	allowed, isPure := pure[f.dir()]
	if f.ast == nil || !isPure || f.isTest() {
		return nil
	}
	for line, imported := range imports(f) {
		outside := strings.Contains(strings.Split(imported, "/")[0], ".") && !within(imported, module)
		if imported == "os" && slices.Contains(environment, f.path) {
			continue
		}
		if slices.Contains(impure, imported) || outside && !slices.Contains(allowed, imported) {
			found = append(found, f.finding(line, f.dir()+" is pure: it may not import "+imported))
		}
	}
	return found
}

func TestPurePackagesReachNothingImpure(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for dir := range pure {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+dir)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -deps ./%s: %v", dir, err)
		}
		for _, dep := range strings.Fields(string(out)) {
			for _, path := range unreachable {
				if within(dep, path) {
					t.Errorf("%s:1: the package is pure: it may not reach %s", dir, dep)
				}
			}
		}
	}
}
