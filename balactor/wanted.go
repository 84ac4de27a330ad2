package balactor

import (
	"context"
	"fmt"

	"github.com/balsa-sync/balsa/trie"
)

// wantedEvery is after how many items of work it is asked again whether the request is still
// wanted: a few milliseconds, where an item is a slot read from the disk's cache.
const wantedEvery = 1024

// wanted says, for the work on a request, whether the request is still wanted. The zero value says
// that it is. For one goroutine.
type wanted struct {
	ctx   context.Context // nil: always
	items int             // worked on since begun
}

// err is nil while the request is wanted, and wraps ErrGivenUp and why from then on.
func (w *wanted) err() error {
	if w.ctx == nil || w.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrGivenUp, context.Cause(w.ctx))
}

// item counts an item of work. It looks whether the request is wanted now and then.
func (w *wanted) item() error {
	w.items++
	if w.items%wantedEvery != 0 {
		return nil
	}
	return w.err()
}

// wantedReader is a trie that an update stops reading once its request is not wanted.
type wantedReader struct {
	trie.Reader
	wanted *wanted
}

// FirstBranch implements trie.Reader.
func (r wantedReader) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	if err := r.wanted.item(); err != nil {
		return trie.Path{}, trie.Branch{}, false, err
	}
	return r.Reader.FirstBranch(p)
}
