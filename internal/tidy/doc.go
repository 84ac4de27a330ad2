// Package tidy has the tests that keep the repository in order: what a package may import, how long
// lines, functions and files get, which names say nothing. They read every Go and Markdown file of
// the module, with whatever build tags, and say the file, the line and the rule.
//
//	go test ./internal/tidy
package tidy
