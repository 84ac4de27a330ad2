package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of the module, and of its root package.
const module = "github.com/balsa-sync/balsa"

// file is a file of the repository.
type file struct {
	path  string // from the module's root, with slashes
	text  []byte
	lines []string
	fset  *token.FileSet
	ast   *ast.File // nil: no Go file
}

// dir is the file's package, from the module's root; "." is the root.
func (f *file) dir() string { return path.Dir(f.path) }

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// isGenerated tells whether a program wrote the file: its size is nobody's fault.
func (f *file) isGenerated() bool { return generated.Match(f.text) }

// finding is a broken rule.
type finding struct {
	path string
	line int
	rule string
}

func (f *file) finding(line int, rule string) finding { return finding{f.path, line, rule} }

// report fails the test for each finding.
func report(t *testing.T, findings []finding) {
	t.Helper()
	for _, f := range findings {
		t.Errorf("%s:%d: %s", f.path, f.line, f.rule)
	}
}

// check reports what a rule finds in the files of the repository.
func check(t *testing.T, rule func(f *file) []finding) {
	t.Helper()
	for _, f := range tree(t) {
		report(t, rule(f))
	}
}

// read loads the tree once; it is the same for all tests of a run.
var read = sync.OnceValues(func() ([]*file, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	var files []*file
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != root && skipDir(name) {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(p); ext != ".go" && ext != ".md" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f, err := parse(filepath.ToSlash(rel), text)
		files = append(files, f)
		return err
	})
	return files, err
})

func tree(t *testing.T) []*file {
	t.Helper()
	files, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// skipDir leaves out what is not the module's own source.
func skipDir(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		slices.Contains([]string{"bin", "testdata", "vendor"}, name)
}

// moduleRoot is the folder of go.mod, from the working directory upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fs.ErrNotExist
		}
		dir = parent
	}
}

// parse makes a file of its text.
func parse(name string, text []byte) (*file, error) {
	f := &file{path: name, text: text, fset: token.NewFileSet()}
	f.lines = strings.Split(string(bytes.TrimSuffix(text, []byte("\n"))), "\n")
	if !strings.HasSuffix(name, ".go") {
		return f, nil
	}
	var err error
	f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return f, err
}
