package balactor

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// updater is a trie.Updater with the sink that collects its rows. An actor keeps one, because its
// buffers are large; what it hands out is not used again.
type updater struct {
	*trie.Updater
	sink   rowSink
	wanted wanted

	accounts []accountRun  // of the job in hand
	changes  []trie.Change // of its accounts' slots
}

func newUpdater() *updater {
	u := &updater{}
	u.Updater = trie.NewUpdater(trie.Options{Sink: &u.sink})
	return u
}

// begin forgets what came before, an attempt that failed included. The updates that follow fail
// with ErrGivenUp soon after ctx has ended.
func (u *updater) begin(ctx context.Context) {
	u.Reset()
	u.wanted = wanted{ctx: ctx}
	u.sink.begin(&u.wanted)
}

// reader is r for the updates since begin.
func (u *updater) reader(r trie.Reader) trie.Reader { return wantedReader{r, &u.wanted} }

// rowSink collects the branch rows that updates write and delete. A tag is an index into owners,
// which ascend; with no owners the rows are the account trie's.
type rowSink struct {
	owners []common.Hash
	rows   []state.BranchWrite // as they come
	order  []rowOrder          // of rows
	arena  arena
	wanted *wanted
}

// rowOrder sorts rows, mostly without looking at them.
type rowOrder struct {
	rank  uint64 // tag, and the path's first nibbles
	index uint32 // in rows
}

func (s *rowSink) begin(w *wanted) {
	clear(s.rows)
	*s = rowSink{owners: s.owners[:0], rows: s.rows[:0], order: s.order[:0], wanted: w}
}

// PutBranch implements trie.Sink.
func (s *rowSink) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	if err := s.wanted.item(); err != nil {
		return err
	}
	s.add(tag, p, b.AppendTo(s.arena.room(b.Len())))
	return nil
}

// DeleteBranch implements trie.Sink.
func (s *rowSink) DeleteBranch(tag uint32, p trie.Path) error {
	if mutants.Active != mutants.KeepBranchRows {
		s.add(tag, p, nil)
	}
	return nil
}

func (s *rowSink) add(tag uint32, p trie.Path, row []byte) {
	w := state.BranchWrite{Path: p, Row: row}
	if len(s.owners) > 0 {
		w.Account, w.Storage = s.owners[tag], true
	}
	s.order = append(s.order, rowOrder{
		rank:  uint64(tag)<<32 | uint64(binary.BigEndian.Uint32(p.Key[:])),
		index: uint32(len(s.rows)),
	})
	s.rows = append(s.rows, w)
}

// sorted returns the rows in the store's order: by account, then depth first. They are the
// caller's.
func (s *rowSink) sorted() []state.BranchWrite {
	slices.SortFunc(s.order, func(a, b rowOrder) int {
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		return s.rows[a.index].Path.Compare(s.rows[b.index].Path)
	})
	sorted := make([]state.BranchWrite, len(s.rows))
	for i, o := range s.order {
		sorted[i] = s.rows[o.index]
	}
	return sorted
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
