package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns       = 100 // characters, a tab being one
	maxFunctionLines = 70
	maxFileLines     = 600
	// unbreakable is how long a word has to be, in characters, for its line to be longer than
	// maxColumns: an address, a hash or a path is not broken in two.
	unbreakable = 60
	// tabular is the same for a string in a test: the rows of a table stay rows.
	tabular = 40
)

func TestLinesFitTheScreen(t *testing.T) { check(t, checkLines) }

func checkLines(f *file) (found []finding) {
	if f.ast == nil || f.isGenerated() {
		return nil
	}
	strs := stringLines(f)
	for i, line := range f.lines {
		n := utf8.RuneCountInString(line)
		exempt := strs[i+1] || strings.HasPrefix(line, "//go:") || hasLongWord(line)
		if n > maxColumns && !exempt {
			found = append(found, f.finding(i+1,
				fmt.Sprintf("the line has %d characters, at most %d", n, maxColumns)))
		}
	}
	return found
}

func hasLongWord(line string) bool {
	for _, word := range strings.Fields(line) {
		if utf8.RuneCountInString(word) >= unbreakable {
			return true
		}
	}
	return false
}

// stringLines are the lines that a string makes long: one over several lines is what it is, and a
// long one in a test is part of a table.
func stringLines(f *file) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		first, last := f.line(lit.Pos()), f.line(lit.End())
		if first < last || f.isTest() && utf8.RuneCountInString(lit.Value) >= tabular {
			for line := first; line <= last; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

func TestFunctionsFitTheScreen(t *testing.T) { check(t, checkFunctions) }

func checkFunctions(f *file) (found []finding) {
	if f.ast == nil || f.isGenerated() {
		return nil
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first := f.line(fn.Pos())
		if n := f.line(fn.End()) - first + 1; n > maxFunctionLines {
			found = append(found, f.finding(first,
				fmt.Sprintf("%s has %d lines, at most %d", fn.Name.Name, n, maxFunctionLines)))
		}
	}
	return found
}

func TestFilesAreShort(t *testing.T) { check(t, checkFile) }

func checkFile(f *file) []finding {
	if n := len(f.lines); f.ast != nil && !f.isGenerated() && n > maxFileLines {
		return []finding{f.finding(n, fmt.Sprintf("the file has %d lines, at most %d", n, maxFileLines))}
	}
	return nil
}

// emptyWord is the end of a type's name that says nothing about it.
var emptyWord = regexp.MustCompile(`(Manager|Helper|Helpers|Util|Utils|Data|Info)$`)

func TestNamesSaySomething(t *testing.T) { check(t, checkNames) }

func checkNames(f *file) (found []finding) {
	if f.ast == nil {
		return nil
	}
	name := f.ast.Name.Name
	if title := strings.ToUpper(name[:1]) + name[1:]; emptyWord.FindString(title) == title {
		found = append(found, f.finding(f.line(f.ast.Name.Pos()),
			fmt.Sprintf("the package name %s says nothing", name)))
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		name := spec.Name.Name
		title := strings.ToUpper(name[:1]) + name[1:]
		if word := emptyWord.FindString(title); word != "" {
			found = append(found, f.finding(f.line(spec.Pos()),
				fmt.Sprintf("the type name %s ends in %s, which says nothing", name, word)))
		}
		return true
	})
	return found
}

func TestNoInitFunctions(t *testing.T) { check(t, checkInit) }

func checkInit(f *file) (found []finding) {
	if f.ast == nil {
		return nil
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, f.finding(f.line(fn.Pos()), "init has effects that nobody called for"))
		}
	}
	return found
}

// batchTest shows that the actors' kit does not take batches apart.
const batchTest = "actors/send_test.go"

func TestNoMessageIsABatch(t *testing.T) { check(t, checkBatch) }

// checkBatch finds what proto.actor's own mailboxes deliver twice: taken apart, and whole.
func checkBatch(f *file) (found []finding) {
	if f.ast == nil || f.path == batchTest {
		return nil
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "GetMessages" {
			found = append(found, f.finding(f.line(fn.Pos()), "no type has GetMessages"))
		}
	}
	return found
}

func TestPackagesHaveADoc(t *testing.T) {
	docs, first := map[string]bool{}, map[string]string{}
	for _, f := range tree(t) {
		if f.ast == nil {
			continue
		}
		if _, ok := first[f.dir()]; !ok {
			first[f.dir()] = f.path
		}
		if strings.HasSuffix("/"+f.path, "/doc.go") {
			docs[f.dir()] = true
			report(t, checkDoc(f))
		}
	}
	for dir, path := range first {
		if !docs[dir] {
			t.Errorf("%s:1: the package has no doc.go", path)
		}
	}
}

// checkDoc wants the comment to begin as godoc shows it.
func checkDoc(f *file) []finding {
	want := "Package " + f.ast.Name.Name + " "
	if f.ast.Name.Name == "main" {
		want = "Command "
	}
	if !strings.HasPrefix(f.ast.Doc.Text(), want) {
		return []finding{f.finding(f.line(f.ast.Package),
			fmt.Sprintf("the package comment does not begin with %q", want))}
	}
	return nil
}
