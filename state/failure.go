package state

import (
	"fmt"
	"sync"
)

// failure is the one-way switch from a working store to a failed one.
type failure struct {
	done  chan struct{} // closed once the store has failed
	cause error         // set before done is closed

	mu      sync.Mutex
	failed  bool
	open    bool        // opening is over: from then on onFatal is called
	onFatal func(error) // may be nil
}

func newFailure() *failure { return &failure{done: make(chan struct{})} }

// set fails the store. Only the first cause counts. The callback gets a goroutine of its own: the
// caller may hold Pebble's locks, and the callback may close snapshots.
func (f *failure) set(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed {
		return
	}
	f.failed, f.cause = true, cause
	close(f.done)
	f.callLocked()
}

// opened says that the store is open, and who is to be told when it fails. Before that Open tells.
func (f *failure) opened(onFatal func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.onFatal = true, onFatal
	f.callLocked()
}

func (f *failure) callLocked() {
	if f.open && f.failed && f.onFatal != nil {
		go f.onFatal(f.err())
	}
}

// opening reports whether Open has not ended yet.
func (f *failure) opening() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.open
}

// err is nil while the store works.
func (f *failure) err() error {
	select {
	case <-f.done:
		return fmt.Errorf("%w: %w", ErrStoreFailed, f.cause)
	default:
		return nil
	}
}

// run calls op, which writes through Pebble, on a goroutine of its own: one that Fatalf may end, a
// panic may unwind and a parked write may hold for good, without taking the caller along. Once the
// store has failed it returns at once, and what op works on must not be used again.
func (f *failure) run(op func() error) error {
	if err := f.err(); err != nil {
		return err
	}
	res := make(chan error, 1)
	go func() {
		ended := false
		defer func() {
			if ended {
				return
			}
			// Fatalf has set the cause already where it ended the goroutine.
			if r := recover(); r != nil {
				if err, ok := r.(error); ok {
					f.set(fmt.Errorf("write: %w", err))
				} else {
					f.set(fmt.Errorf("write: %v", r))
				}
			} else {
				f.set(fmt.Errorf("write: goroutine ended"))
			}
		}()
		err := op()
		ended = true
		res <- err
	}()
	select {
	case err := <-res:
		return err
	case <-f.done:
		return f.err()
	}
}

// park holds the calling goroutine for good.
func park() { select {} }
