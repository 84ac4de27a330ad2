package main

import "context"

// interruptible runs what cannot be interrupted itself, such as a read from a pipe or the decoding
// of a large file. Where ctx ends first its error is returned at once, and what f still does ends
// with the process: f must have no effects.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
