package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/blockfile"
	"github.com/balsa-sync/balsa/internal/fixtures"
	"github.com/balsa-sync/balsa/state"
)

// The exit codes; see the package comment.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitVerify = 3
	exitStore  = 4
)

// errInterrupted: a signal ended the command before it was done.
var errInterrupted = errors.New("interrupted")

// usageError is an error in how the command was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// storeErrors are the errors that make a store unusable.
var storeErrors = []error{
	state.ErrNotFound, state.ErrLocked, state.ErrForeign, state.ErrSchema, state.ErrCorrupt,
	state.ErrUnfinished, state.ErrUnusable, state.ErrStoreFailed, state.ErrNotBuilt,
	balsa.ErrNoState,
}

// exitCode is the one place that turns errors into exit codes.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case isAny(err, balsa.ErrWrongRoot, balsa.ErrVerify, errSoak):
		return exitVerify
	case isAny(err, storeErrors...): // before the missing files: a damaged store misses some
		return exitStore
	case isAny(err, fs.ErrNotExist, blockfile.ErrNoFiles, fixtures.ErrNoTests):
		return exitUsage
	}
	return exitFailed
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// hints say what to do where an error does not say it itself.
var hints = []struct {
	err  error
	hint string
}{
	{state.ErrUnfinished, "balsa status says more"},
	{state.ErrNotFound, "balsa init and balsa import make a store"},
	{state.ErrNotBuilt, "balsa init and balsa import build one"},
	{balsa.ErrUnknownParent, "the blocks must follow the store's cursor, which balsa status shows"},
	{fixtures.ErrNoTests, "give files or folders of blockchain tests"},
}

// describe says an error, and what to do about it.
func describe(err error) string {
	text := strings.Join(sayings(err, nil), "\n")
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return text + "; " + h.hint
		}
	}
	return text
}

// sayings gives the errors that were joined, one a line. A store that failed says so at every call
// from then on: the first is enough.
func sayings(err error, said []string) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []string
		for _, e := range joined.Unwrap() {
			parts = append(parts, e.Error())
		}
		if err.Error() == strings.Join(parts, "\n") { // errors.Join, not fmt.Errorf
			failed := false
			for _, e := range joined.Unwrap() {
				if failed && errors.Is(e, state.ErrStoreFailed) {
					continue
				}
				failed = failed || errors.Is(e, state.ErrStoreFailed)
				said = sayings(e, said)
			}
			return said
		}
	}
	return append(said, err.Error())
}
