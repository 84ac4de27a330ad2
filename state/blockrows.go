package state

import (
	"bytes"
	"sync"
)

// blockRows holds the few and large rows of a generation's blocks: headers, access lists, numbers,
// reverse diffs, codes and the cursor, each with the number (seq) of its commit. One goroutine
// writes; any number read.
type blockRows struct {
	mu   sync.RWMutex
	rows map[string][]blockRow // versions, oldest first
	size int                   // bytes
}

// blockRow is a version of a row; a nil value deletes it.
type blockRow struct {
	seq   uint64
	value []byte
}

// blockRowCost is what a row takes beside its key and its value, about.
const blockRowCost = 128

// put adds a version of a row, and keeps value. A nil value deletes.
func (b *blockRows) put(key, value []byte, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rows == nil {
		b.rows = make(map[string][]blockRow)
	}
	b.rows[string(key)] = append(b.rows[string(key)], blockRow{seq, value})
	b.size += len(key) + len(value) + blockRowCost
}

// get returns the newest version of the row not after commit seq.
func (b *blockRows) get(key []byte, seq uint64) ([]byte, rowState) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	versions := b.rows[string(key)]
	for i := len(versions) - 1; i >= 0; i-- {
		switch v := versions[i]; {
		case v.seq > seq:
		case v.value == nil:
			return nil, rowDeleted
		default:
			return v.value, rowPresent
		}
	}
	return nil, rowUnknown
}

// appendKeys appends the keys from lower on and below upper, in any order.
func (b *blockRows) appendKeys(keys [][]byte, lower, upper []byte) [][]byte {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for key := range b.rows {
		if key >= string(lower) && (upper == nil || key < string(upper)) {
			keys = append(keys, []byte(key))
		}
	}
	return keys
}

// newest returns the newest versions of all rows in the given key space, in any order.
func (b *blockRows) newest(space byte) (rows []blockKeyRow) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for key, versions := range b.rows {
		if key[0] == space {
			rows = append(rows, blockKeyRow{key, versions[len(versions)-1].value})
		}
	}
	return rows
}

// blockKeyRow is a row with its key; a nil value deletes it.
type blockKeyRow struct {
	key   string
	value []byte
}

func compareBlockRows(a, b blockKeyRow) int { return bytes.Compare([]byte(a.key), []byte(b.key)) }

func (b *blockRows) bytes() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.size
}
