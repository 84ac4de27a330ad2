package telemetry

import "sync/atomic"

// ring keeps the last items of one writer. Readers never hold the writer up: an item is not changed
// once it is there.
type ring[T any] struct {
	items []atomic.Pointer[T]
	n     atomic.Uint64
}

func newRing[T any](size int) *ring[T] { return &ring[T]{items: make([]atomic.Pointer[T], size)} }

// add is called by one goroutine at a time.
func (r *ring[T]) add(item *T) {
	n := r.n.Load()
	r.items[n%uint64(len(r.items))].Store(item)
	r.n.Store(n + 1)
}

// read gives the items, the oldest first.
func (r *ring[T]) read() []*T {
	size := uint64(len(r.items))
	n := r.n.Load()
	first := uint64(0)
	if n > size {
		first = n - size
	}
	out := make([]*T, 0, n-first)
	for i := first; i < n; i++ {
		if item := r.items[i%size].Load(); item != nil {
			out = append(out, item)
		}
	}
	return out
}
