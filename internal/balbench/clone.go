package balbench

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Clone copies a closed store, Balsa's or go-ethereum's, on one file system: its tables, which
// never change, by hard links.
func Clone(from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case filepath.Ext(path) == ".sst":
			return os.Link(path, target)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
	if err != nil {
		return fmt.Errorf("balbench: copy of %s: %w", from, err)
	}
	return nil
}
