package actors

// maxSpare bounds the memory that an empty queue keeps after a burst: 1,024 slots of 16 bytes.
const maxSpare = 1024

// fifo is a queue in a slice. It keeps no message that was taken from it.
type fifo struct {
	items []any
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

// push makes room at the front where that is half of the slice, so that a queue that is never empty
// does not grow.
func (q *fifo) push(m any) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, m)
}

func (q *fifo) pushFront(m any) {
	q.items = append([]any{m}, q.items[q.head:]...)
	q.head = 0
}

func (q *fifo) pop() any {
	m := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		if cap(q.items) > maxSpare {
			q.items = nil
		}
	}
	return m
}
