package balactor

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// updater is a trie.Updater with the sink that collects its rows. An actor keeps one, because its
// buffers are large; what it hands out is not used again.
type updater struct {
	*trie.Updater
	sink rowSink
}

func newUpdater() *updater {
	u := &updater{}
	u.Updater = trie.NewUpdater(trie.Options{Sink: &u.sink})
	return u
}

// begin forgets what came before, an attempt that failed included.
func (u *updater) begin() {
	u.Reset()
	last := len(u.sink.rows) // blocks are alike: it saves growing
	u.sink = rowSink{rows: make([]state.BranchWrite, 0, last+last/4)}
}

// rowSink collects the branch rows that updates write and delete. A tag is an index into owners;
// with no owners the rows are the account trie's.
type rowSink struct {
	owners []common.Hash
	rows   []state.BranchWrite
	arena  arena
}

// PutBranch implements trie.Sink.
func (s *rowSink) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	row := b.AppendTo(s.arena.room(b.Len()))
	s.rows = append(s.rows, s.row(tag, p, row))
	return nil
}

// DeleteBranch implements trie.Sink.
func (s *rowSink) DeleteBranch(tag uint32, p trie.Path) error {
	s.rows = append(s.rows, s.row(tag, p, nil))
	return nil
}

func (s *rowSink) row(tag uint32, p trie.Path, row []byte) state.BranchWrite {
	w := state.BranchWrite{Path: p, Row: row}
	if len(s.owners) > 0 {
		w.Account, w.Storage = s.owners[tag], true
	}
	return w
}

// sorted returns the rows in the store's order: by account, then depth first.
func (s *rowSink) sorted() []state.BranchWrite {
	slices.SortFunc(s.rows, func(a, b state.BranchWrite) int {
		if c := bytes.Compare(a.Account[:], b.Account[:]); c != 0 {
			return c
		}
		if c := bytes.Compare(a.Path.Key[:], b.Path.Key[:]); c != 0 {
			return c
		}
		return cmp.Compare(a.Path.Len, b.Path.Len)
	})
	return s.rows
}

// arena hands out memory for many small byte strings that live as long as their layer.
type arena struct{ free []byte }

const arenaChunk = 64 << 10

// room returns an empty slice with capacity n that no other has.
func (a *arena) room(n int) []byte {
	if cap(a.free) < n {
		a.free = make([]byte, 0, max(arenaChunk, n))
	}
	b := a.free[:0:n]
	a.free = a.free[n:n:cap(a.free)]
	return b
}

// copy returns a copy of b; nil stays nil.
func (a *arena) copy(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(a.room(len(b)), b...)
}
