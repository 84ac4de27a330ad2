package main

import (
	"context"
	"errors"
	"testing"
)

func TestWhatCannotBeInterruptedDoesNotHoldUpAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	defer close(never)
	started := make(chan struct{})
	go func() { <-started; cancel() }()
	v, err := interruptible(ctx, func() (int, error) { close(started); <-never; return 1, nil })
	if v != 0 || !errors.Is(err, context.Canceled) {
		t.Fatalf("%d, %v", v, err)
	}
	boom := errors.New("boom")
	v, err = interruptible(t.Context(), func() (int, error) { return 7, boom })
	if v != 7 || !errors.Is(err, boom) {
		t.Fatalf("%d, %v", v, err)
	}
}
