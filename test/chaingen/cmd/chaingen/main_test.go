package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/test/chaingen"
)

// runIt gives the exit code and what the program printed.
func runIt(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestWritesTheFilesOfTheChain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := runIt("-family", "transfers", "-seed", "5", "-blocks", "3", "-size", "2",
		"-headers", "-check", "-out", dir)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	want, err := chaingen.Generate(chaingen.Config{Family: "transfers", Seed: 5, Blocks: 3, Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, want.Head().Hash().Hex()) {
		t.Errorf("%q does not name the head %v", stdout, want.Head().Hash())
	}
	text, err := chaingen.ReadFile(filepath.Join(dir, chaingen.PayloadsFile))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := chaingen.ReadPayloads(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 3 || blocks[2].Hash() != want.Head().Hash() {
		t.Errorf("%d blocks, the last %v", len(blocks), blocks[len(blocks)-1].Hash())
	}
	for _, name := range []string{chaingen.GenesisFile, chaingen.HeadersFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestBadUsageExitsWithTwo(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for word, args := range map[string][]string{
		"-out is missing":   {"-family", "mix"},
		`family "nonesuch"`: {"-family", "nonesuch", "-out", out},
		"0 blocks":          {"-blocks", "0", "-out", out},
		"size -1":           {"-size", "-1", "-out", out},
		"invalid value":     {"-seed", "x", "-out", out},
		"not defined":       {"-nonesuch"},
		"unexpected":        {"-out", out, "more"},
	} {
		code, _, stderr := runIt(args...)
		if code != exitUsage || !strings.Contains(stderr, word) {
			t.Errorf("%v: exit code %d, stderr %q; want 2 and %q", args, code, stderr, word)
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a refused command made %s", out)
	}
}

func TestFilesThatCannotBeWrittenExitWithOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runIt("-family", "empty", "-blocks", "1", "-out", file)
	if code != exitFailed || !strings.Contains(stderr, file) {
		t.Errorf("exit code %d, stderr %q; want 1 and the name of the file", code, stderr)
	}
}

func TestHelpAndListExitWithZero(t *testing.T) {
	code, _, stderr := runIt("-h")
	if code != exitDone || !strings.Contains(stderr, "-family") {
		t.Errorf("-h: exit code %d, %q", code, stderr)
	}
	code, stdout, _ := runIt("-list")
	if code != exitDone {
		t.Errorf("-list: exit code %d", code)
	}
	for _, name := range chaingen.FamilyNames() {
		if !strings.Contains(stdout, name) {
			t.Errorf("-list does not name %s", name)
		}
	}
}
