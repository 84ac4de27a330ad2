package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

const (
	// defaultRowBytes bounds the rows that a BulkRows holds in memory.
	defaultRowBytes = 16 << 20
	rowRefBytes     = 32 // of memory for each row beside its bytes
)

// BulkRows collects branch rows in any order and writes them as sorted tables. It is for one
// goroutine; a build has any number of them. Its memory is bounded, kept and used again: rows above
// the bound are written as a sorted run, and runs that overlap are merged at Commit.
type BulkRows struct {
	b   *Bulk
	max int // bytes in memory

	mem      []byte // of each row: path, one byte a nibble, then the row
	accounts []common.Hash
	trie     int // index of the account that came last
	refs     [numBranchSpaces][]rowRef
	fixes    fixes

	runs  []tableMeta // written before, not in the manifest
	drops []rowDrop   // of rows in runs
	spill FlushStats  // what runs cost
	key   keyBuf
}

// The two kinds of rows, in order of their key spaces.
const (
	accountBranches = iota
	storageBranches
	numBranchSpaces
)

// rowRef is a collected row.
type rowRef struct {
	account uint64 // the hash's first 8 bytes
	rank    uint64 // the path's first 16 nibbles
	trie    uint32 // index in BulkRows.accounts
	off     uint32 // in BulkRows.mem
	nRow    uint16
	nPath   uint8
}

// rowDrop voids the rows of an account in the first n runs.
type rowDrop struct {
	account common.Hash
	n       int
}

// NewRows returns a writer of branch rows.
func (b *Bulk) NewRows() *BulkRows { return &BulkRows{b: b, max: defaultRowBytes, trie: -1} }

// PutStorageBranch adds a row of the account's storage trie. Everything is copied.
func (w *BulkRows) PutStorageBranch(account *common.Hash, p trie.Path, br trie.Branch) error {
	if w.trie < 0 || w.accounts[w.trie] != *account {
		w.trie = len(w.accounts)
		w.accounts = append(w.accounts, *account)
	}
	r := rowRef{account: binary.BigEndian.Uint64(account[:]), trie: uint32(w.trie)}
	return w.put(storageBranches, r, &p, &br)
}

// PutAccountBranch adds a row of the account trie. A build that was cut off has lost these rows
// when it goes on: the account trie is built as a whole.
func (w *BulkRows) PutAccountBranch(p trie.Path, br trie.Branch) error {
	return w.put(accountBranches, rowRef{}, &p, &br)
}

func (w *BulkRows) put(space int, r rowRef, p *trie.Path, br *trie.Branch) error {
	r.rank = binary.BigEndian.Uint64(p.Key[:])
	r.off, r.nPath, r.nRow = uint32(len(w.mem)), uint8(p.Len), uint16(br.Len())
	w.mem = br.AppendTo(appendNibbles(w.mem, p))
	w.refs[space] = append(w.refs[space], r)
	if w.Buffered() < w.max {
		return nil
	}
	return w.spillRun()
}

// SetStorageRoot is Bulk.SetStorageRoot for an account of the range that the next Flush finishes:
// both become durable together.
func (w *BulkRows) SetStorageRoot(account, root common.Hash) {
	w.fixes.roots = append(w.fixes.roots, rootFix{account, root})
}

// DropStorage is Bulk.DropStorage, durable with the next Flush.
func (w *BulkRows) DropStorage(account common.Hash) {
	w.fixes.drops = append(w.fixes.drops, account)
}

// Drop voids all rows of the account's storage trie that were put since the last Flush.
func (w *BulkRows) Drop(account *common.Hash) {
	w.refs[storageBranches] = slices.DeleteFunc(w.refs[storageBranches], func(r rowRef) bool {
		return w.accounts[r.trie] == *account
	})
	w.fixes.roots = slices.DeleteFunc(w.fixes.roots, func(f rootFix) bool {
		return f.account == *account
	})
	for i := range w.runs {
		if w.runs[i].mayHold(account) {
			w.drops = append(w.drops, rowDrop{*account, len(w.runs)})
			return
		}
	}
}

// mayHold says whether the account's storage rows lie in the table's range.
func (t *tableMeta) mayHold(account *common.Hash) bool {
	return t.first[0] == spaceStorageBranch &&
		bytes.Compare(t.first[1:accountKeyLen], account[:]) <= 0 &&
		bytes.Compare(t.last[1:accountKeyLen], account[:]) >= 0
}

// Discard voids all rows and corrections since the last Flush.
func (w *BulkRows) Discard() {
	w.b.remove(w.runs)
	w.runs, w.drops, w.spill = nil, nil, FlushStats{}
	w.fixes.clear()
	w.clear()
}

// clear forgets the rows in memory.
func (w *BulkRows) clear() {
	w.mem, w.accounts, w.trie = w.mem[:0], w.accounts[:0], -1
	for i := range w.refs {
		w.refs[i] = w.refs[i][:0]
	}
}

// Buffered is the number of bytes of rows and corrections in memory.
func (w *BulkRows) Buffered() int {
	n := len(w.refs[accountBranches]) + len(w.refs[storageBranches])
	return len(w.mem) + n*rowRefBytes + len(w.accounts)*common.HashLength + w.fixes.bytes()
}

// sort puts the rows in order of key.
func (w *BulkRows) sort() {
	for _, refs := range w.refs {
		slices.SortFunc(refs, w.compare)
	}
}

func (w *BulkRows) compare(x, y rowRef) int {
	if x.trie != y.trie {
		if x.account != y.account {
			if x.account < y.account {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(w.accounts[x.trie][:], w.accounts[y.trie][:]); c != 0 {
			return c
		}
	}
	if x.rank != y.rank {
		if x.rank < y.rank {
			return -1
		}
		return 1
	}
	return bytes.Compare(w.path(&x), w.path(&y))
}

func (w *BulkRows) path(r *rowRef) []byte { return w.mem[r.off:][:r.nPath] }

// write writes the sorted rows to t. Between rows for which group differs a table is cut.
func (w *BulkRows) write(t *tableWriter, group func(account *common.Hash) int) error {
	key := append(w.key[:0], spaceAccountBranch)
	for i := range w.refs[accountBranches] {
		if err := w.writeRow(t, key, &w.refs[accountBranches][i]); err != nil {
			return err
		}
	}
	trie, in := uint32(1<<32-1), 0
	for i := range w.refs[storageBranches] {
		r := &w.refs[storageBranches][i]
		if i == 0 || r.trie != trie {
			account := &w.accounts[r.trie]
			trie, key = r.trie, appendHashKey(w.key[:0], spaceStorageBranch, account)
			if g := group(account); i == 0 || g != in {
				in = g
				if err := t.finish(); err != nil {
					return err
				}
			}
		}
		if err := w.writeRow(t, key, r); err != nil {
			return err
		}
	}
	return t.finish()
}

func (w *BulkRows) writeRow(t *tableWriter, prefix []byte, r *rowRef) error {
	key := append(prefix, w.path(r)...)
	if err := t.set(key, w.mem[int(r.off)+int(r.nPath):][:r.nRow]); err != nil {
		return fmt.Errorf("branch %x: %w", key, err)
	}
	return nil
}
