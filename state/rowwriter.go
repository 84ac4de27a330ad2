package state

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// rowWriter writes flat rows and branch rows to a batch and to the overlay.
type rowWriter struct {
	batch *pebble.Batch
	err   error // the batch's first

	gen  *generation // nil where reads are plain
	seq  uint64
	full bool        // the generation has not taken every row
	mark common.Hash // the account marked last
	any  bool        // mark is set
}

// writeRows writes the layer's rows but its codes, in order of key: Pebble's memtable finds the
// place of a row sooner behind the one before. It reports false where the overlay could not take
// them all. The caller is the writer, and the current view exists.
func (s *Store) writeRows(b *pebble.Batch, l *Layer) (complete bool, err error) {
	w := &rowWriter{batch: b}
	if !s.plainReads() {
		w.gen, w.seq = s.recent.newest(), s.recent.seq+1
	}
	s.order = l.sortedBranches(s.order)
	for _, o := range s.order {
		w.branch(&l.Branches[o.index])
	}
	for i := range l.Accounts {
		w.account(&l.Accounts[i])
	}
	for i := range l.Slots {
		w.slot(&l.Slots[i])
	}
	return !w.full, w.err
}

func (w *rowWriter) branch(b *BranchWrite) {
	n := 1 + b.Path.Len
	var account *common.Hash
	if b.Storage {
		account = &b.Account
		n += common.HashLength
		w.markAccount(account)
	}
	op := w.begin(n, b.Row)
	appendBranchKey(op.Key[:0], account, &b.Path)
	w.end(op, b.Row)
}

func (w *rowWriter) account(a *AccountWrite) {
	if bytes.Equal(a.Pre, a.Post) {
		return
	}
	op := w.begin(accountKeyLen, a.Post)
	appendHashKey(op.Key[:0], spaceAccount, &a.Hash)
	w.end(op, a.Post)
}

func (w *rowWriter) slot(s *SlotWrite) {
	if bytes.Equal(s.Pre, s.Post) {
		return
	}
	w.markAccount(&s.Account)
	op := w.begin(slotKeyLen, s.Post)
	appendSlotKey(op.Key[:0], &s.Account, &s.Slot)
	w.end(op, s.Post)
}

// begin opens the write of a row, or its deletion where there is no value. The caller sets the key
// and calls end.
func (w *rowWriter) begin(klen int, value []byte) *pebble.DeferredBatchOp {
	if len(value) == 0 {
		return w.batch.DeleteDeferred(klen)
	}
	return w.batch.SetDeferred(klen, len(value))
}

func (w *rowWriter) end(op *pebble.DeferredBatchOp, value []byte) {
	copy(op.Value, value)
	w.note(op.Key, value)
	if err := op.Finish(); err != nil && w.err == nil {
		w.err = err
	}
}

// note adds a row, or its deletion, to the overlay.
func (w *rowWriter) note(key, value []byte) {
	if w.gen != nil && !w.full {
		w.full = !w.gen.put(key, value, len(value) == 0, w.seq)
	}
}

// markAccount notes that the account's storage changes.
func (w *rowWriter) markAccount(account *common.Hash) {
	if w.gen == nil || w.any && w.mark == *account {
		return
	}
	w.mark, w.any = *account, true
	var key [accountKeyLen]byte
	w.note(appendHashKey(key[:0], markSpace, account), []byte{1})
}
