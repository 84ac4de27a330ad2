package tidy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// unfinished is put together so that this file does not find itself.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestNothingIsLeftForLater(t *testing.T) { check(t, checkUnfinished) }

func checkUnfinished(f *file) (found []finding) {
	for i, line := range f.lines {
		if word := unfinished.FindString(line); word != "" {
			found = append(found, f.finding(i+1, fmt.Sprintf("%s: do it, or file it", word)))
		}
	}
	return found
}

func TestMarkdownHasNoTabsAndNoTrailingSpace(t *testing.T) { check(t, checkMarkdown) }

func checkMarkdown(f *file) (found []finding) {
	if !strings.HasSuffix(f.path, ".md") {
		return nil
	}
	for i, line := range f.lines {
		if strings.Contains(line, "\t") {
			found = append(found, f.finding(i+1, "the line has a tab"))
		}
		if strings.TrimRight(line, " \t\r") != line {
			found = append(found, f.finding(i+1, "the line ends in white space"))
		}
	}
	return found
}
