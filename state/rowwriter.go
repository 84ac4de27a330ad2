package state

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"
)

// rowWriter adds the rows of one commit to the overlay, where nobody sees them yet.
type rowWriter struct {
	gen  *generation
	seq  uint64
	full bool        // the generation has not taken every row
	mark common.Hash // the account marked last
	any  bool        // mark is set
	key  keyBuf
	run  *sortedRun // of the key space that is being written
}

// newRowWriter begins a commit. The caller is the writer.
func (s *Store) newRowWriter() *rowWriter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &rowWriter{gen: s.recent.newest(), seq: s.recent.seq + 1}
}

// layer adds the layer's flat rows and branch rows, in order of key.
func (w *rowWriter) layer(l *Layer, order []rowOrder) {
	n := 0
	for n < len(order) && !l.Branches[order[n].index].Storage {
		n++
	}
	w.begin(n)
	for _, o := range order[:n] {
		w.branch(&l.Branches[o.index])
	}
	w.end(seekAccountBranch)
	w.begin(len(order) - n)
	for _, o := range order[n:] {
		w.branch(&l.Branches[o.index])
	}
	w.end(seekStorageBranch)
	w.begin(len(l.Accounts))
	for i := range l.Accounts {
		w.account(&l.Accounts[i])
	}
	w.end(seekAccount)
	w.begin(len(l.Slots))
	for i := range l.Slots {
		w.slot(&l.Slots[i])
	}
	w.end(seekSlot)
}

// begin starts a run of up to n rows, end adds it to the generation.
func (w *rowWriter) begin(n int) {
	w.run = &sortedRun{ranks: make([]uint64, 0, n), places: make([]uint32, 0, n)}
}

func (w *rowWriter) end(space int) {
	if len(w.run.places) > 0 {
		w.gen.runs[space].add(w.gen, w.run)
	}
}

func (w *rowWriter) branch(b *BranchWrite) {
	var account *common.Hash
	if b.Storage {
		account = &b.Account
		w.markAccount(account)
	}
	w.add(appendBranchKey(w.key[:0], account, &b.Path), b.Row)
}

func (w *rowWriter) account(a *AccountWrite) {
	if !bytes.Equal(a.Pre, a.Post) {
		w.add(appendHashKey(w.key[:0], spaceAccount, &a.Hash), a.Post)
	}
}

func (w *rowWriter) slot(s *SlotWrite) {
	if !bytes.Equal(s.Pre, s.Post) {
		w.markAccount(&s.Account)
		w.add(appendSlotKey(w.key[:0], &s.Account, &s.Slot), s.Post)
	}
}

// add adds a row, or its deletion where there is no value.
func (w *rowWriter) add(key, value []byte) {
	if w.put(key, value) {
		w.run.ranks = append(w.run.ranks, keyRank(key))
		w.run.places = append(w.run.places, w.gen.place)
	}
}

func (w *rowWriter) put(key, value []byte) bool {
	if !w.full {
		w.full = !w.gen.put(key, value, len(value) == 0, w.seq)
	}
	return !w.full
}

// block adds a row that is filed under a block, or a code, and keeps value. Nil deletes.
func (w *rowWriter) block(key, value []byte) {
	w.gen.blocks.put(key, value, w.seq)
	w.gen.last = w.seq
}

// markAccount notes that the account's storage changes.
func (w *rowWriter) markAccount(account *common.Hash) {
	if w.any && w.mark == *account {
		return
	}
	w.mark, w.any = *account, true
	var key [accountKeyLen]byte
	w.put(appendHashKey(key[:0], markSpace, account), []byte{1})
}
