package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/blockfile"
	"github.com/balsa-sync/balsa/internal/fixtures"
	"github.com/balsa-sync/balsa/state"
)

func TestErrorsHaveTheirExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("anything"), exitFailed},
		{errInterrupted, exitFailed},
		{errOtherBranch, exitFailed},
		{blockfile.ErrPreAmsterdam, exitFailed},
		{balsa.ErrUnknownParent, exitFailed},
		{balsa.ErrOtherState, exitFailed},
		{usagef("x"), exitUsage},
		{fs.ErrNotExist, exitUsage},
		{blockfile.ErrNoFiles, exitUsage},
		{fixtures.ErrNoTests, exitUsage},
		{&balsa.WrongRootError{}, exitVerify},
		{balsa.ErrVerify, exitVerify},
		{state.ErrNotFound, exitStore},
		{state.ErrLocked, exitStore},
		{state.ErrForeign, exitStore},
		{state.ErrSchema, exitStore},
		{state.ErrCorrupt, exitStore},
		{state.ErrUnfinished, exitStore},
		{state.ErrUnusable, exitStore},
		{errors.Join(state.ErrUnusable, fs.ErrNotExist), exitStore},
		{state.ErrStoreFailed, exitStore},
		{balsa.ErrNoState, exitStore},
		{errors.Join(state.ErrCorrupt, fs.ErrNotExist), exitStore},
		{errors.Join(balsa.ErrWrongRoot, errors.New("closing")), exitVerify},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("file, block: %w", err)
		}
		if got := exitCode(err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestStoreErrorsSayWhatToDo(t *testing.T) {
	for _, err := range storeErrors {
		text := describe(fmt.Errorf("open store x: %w", err))
		if !strings.ContainsAny(text, ":;") || !strings.Contains(text, err.Error()) {
			t.Errorf("%q", text)
		}
		does := false
		for _, verb := range []string{"stop ", "choose ", "open it ", "restore ", "run balsa init",
			"run init", "check ", "see to ", "build "} {
			does = does || strings.Contains(text, verb)
		}
		if !does {
			t.Errorf("%q says nothing to do", text)
		}
	}
}

// TestAFailedStoreIsToldOnce: the write that failed and all that follows it have the same cause.
func TestAFailedStoreIsToldOnce(t *testing.T) {
	failed := fmt.Errorf("%w: write x.log: no space left on device", state.ErrStoreFailed)
	err := errors.Join(
		errors.Join(fmt.Errorf("commit: %w", failed), fmt.Errorf("abort: %w", failed)),
		errors.New("something else"), fmt.Errorf("close store: %w", failed))
	text := describe(err)
	if strings.Count(text, "no space left") != 1 || !strings.HasPrefix(text, "commit: ") ||
		!strings.Contains(text, "\nsomething else") {
		t.Errorf("%q", text)
	}
	if exitCode(err) != exitStore {
		t.Errorf("exit code %d", exitCode(err))
	}
}

// onEachCommand runs every command that opens a store.
func onEachCommand(t *testing.T, dir string, code int, texts ...string) {
	t.Helper()
	for _, args := range [][]string{
		{"status", "--datadir", dir}, {"verify", "--datadir", dir},
		{"replay", "--datadir", dir, samplePayloads}, {"init", "--datadir", dir, sampleGenesis},
	} {
		t.Run(args[0], func(t *testing.T) {
			runBalsa(t, args...).want(t, code, texts...)
		})
	}
}

func TestLockedStoreExitsWith4(t *testing.T) {
	dir := newStore(t)
	s, err := state.Open(state.Options{Dir: dir, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	onEachCommand(t, dir, exitStore, "in use", "stop the process that has it open")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	runBalsa(t, "status", "--datadir", dir).want(t, exitDone)
}

func TestForeignDirectoryExitsWith4AndIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	onEachCommand(t, dir, exitStore, "other than a Balsa store", "thesis.txt")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestMissingStoreExitsWith4AndNamesInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nothing")
	for _, args := range [][]string{
		{"status", "--datadir", dir}, {"verify", "--datadir", dir},
		{"replay", "--datadir", dir, samplePayloads},
	} {
		runBalsa(t, args...).want(t, exitStore, "no store here", "balsa init")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
}

func TestPathThatCannotBeAStoreExitsWith4(t *testing.T) {
	dir := t.TempDir()
	file, loop := filepath.Join(dir, "file"), filepath.Join(dir, "loop")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(loop, loop)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "db"), loop} {
		onEachCommand(t, path, exitStore, path, "choose another directory")
	}
}

func TestDamagedStoreExitsWith4(t *testing.T) {
	damage := map[string]func(t *testing.T, path string){
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 10); err != nil {
				t.Fatal(err)
			}
		},
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, f := range damage {
		for _, pattern := range []string{"*.sst", "MANIFEST-*"} {
			t.Run(pattern+" "+name, func(t *testing.T) {
				dir := newStore(t)
				files, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(files) == 0 {
					t.Fatalf("no %s: %v", pattern, err)
				}
				for _, path := range files {
					f(t, path)
				}
				runBalsa(t, "status", "--datadir", dir).
					want(t, exitStore, "damaged", "restore the directory from a copy")
			})
		}
	}
}

func TestUnfinishedBuildExitsWith4AndInitStartsOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := state.Open(state.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.NewBulk(state.BulkOptions{ChainID: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // gives the build up, as a crash would
		t.Fatal(err)
	}
	runBalsa(t, "replay", "--datadir", dir, samplePayloads).want(t, exitStore, "cut off", "status")
	runBalsa(t, "status", "--datadir", dir).want(t, exitDone, "building", "goes on where it was")
	runBalsa(t, "init", "--datadir", dir, sampleGenesis).want(t, exitDone, "cursor 0 ")
}
