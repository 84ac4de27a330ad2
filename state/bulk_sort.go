package state

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// rowSorter puts the rows of a BulkRows in order of key: by trie, then by path.
type rowSorter struct {
	order []uint32 // the tries in order of account
	next  []uint32 // by trie: where its next row goes
	rows  []rowRef // takes the rows of storage tries
}

// sort sorts both kinds of rows.
func (w *BulkRows) sort() {
	w.sortPaths(w.refs[accountBranches])
	refs := w.refs[storageBranches]
	if len(refs) == 0 {
		return
	}
	s := &w.sorter
	s.tries(w.accounts)
	s.next = append(s.next[:0], make([]uint32, len(w.accounts))...)
	for i := range refs {
		s.next[refs[i].trie]++
	}
	at := uint32(0)
	for _, trie := range s.order {
		n := s.next[trie]
		s.next[trie] = at
		at += n
	}
	s.rows = slices.Grow(s.rows[:0], len(refs))[:len(refs)]
	for i := range refs {
		n := &s.next[refs[i].trie]
		s.rows[*n] = refs[i]
		*n++
	}
	w.refs[storageBranches], s.rows = s.rows, refs
	from := uint32(0)
	for _, trie := range s.order { // next is now where the trie's rows end
		w.sortPaths(w.refs[storageBranches][from:s.next[trie]])
		from = s.next[trie]
	}
}

// tries sorts the tries by account, which they mostly are.
func (s *rowSorter) tries(accounts []common.Hash) {
	s.order = s.order[:0]
	ascending := true
	for i := range accounts {
		s.order = append(s.order, uint32(i))
		ascending = ascending && (i == 0 || bytes.Compare(accounts[i-1][:], accounts[i][:]) < 0)
	}
	if !ascending {
		slices.SortFunc(s.order, func(x, y uint32) int {
			return bytes.Compare(accounts[x][:], accounts[y][:])
		})
	}
}

// maxShift is how many places a row may move, on average, before sortPaths takes another way.
const maxShift = 32

// sortPaths sorts the rows of one trie. A builder gives a branch after all that lies below it, and
// beside that nearly in order, so that each row is but a level's number of moves from its place:
// insertion moves it there at once.
func (w *BulkRows) sortPaths(rows []rowRef) {
	moves := maxShift * len(rows)
	for i := 1; i < len(rows); i++ {
		x := rows[i]
		if w.compare(&rows[i-1], &x) <= 0 {
			continue
		}
		lo, hi := 0, i-1
		for lo < hi {
			mid := int(uint(lo+hi) / 2)
			if w.compare(&rows[mid], &x) <= 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if moves -= i - lo; moves < 0 {
			slices.SortFunc(rows, func(x, y rowRef) int { return w.compare(&x, &y) })
			return
		}
		copy(rows[lo+1:i+1], rows[lo:i])
		rows[lo] = x
	}
}

// compare orders rows of one trie.
func (w *BulkRows) compare(x, y *rowRef) int {
	if x.rank != y.rank {
		return cmp.Compare(x.rank, y.rank)
	}
	return bytes.Compare(w.path(x), w.path(y))
}
