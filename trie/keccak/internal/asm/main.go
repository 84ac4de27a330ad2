package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// files are what is generated, by name.
var files = map[string]func() *program{
	"avx2_amd64.s":   avx2,
	"avx512_amd64.s": avx512,
}

func main() {
	for name, build := range files {
		if err := write(name, build()); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// write writes a program's text into the working directory.
func write(name string, p *program) error {
	f, err := p.finish()
	if err != nil {
		return err
	}
	text, err := render(f)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(name), text, 0o644)
}
