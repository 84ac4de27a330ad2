package actorstest

import "sync"

// queue is an unbounded queue.
type queue struct {
	mu    sync.Mutex
	items []any
}

func (q *queue) push(m any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, m)
}

func (q *queue) pop() (any, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, false
	}
	m := q.items[0]
	q.items = q.items[1:]
	return m, true
}
