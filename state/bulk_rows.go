package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

const (
	// defaultRowBytes bounds the rows that a BulkRows holds in memory.
	defaultRowBytes = 16 << 20
	// rowsASlice is how many rows are written before others may have the core: where builds have all
	// cores, somebody may wait for one who has to hand out work.
	rowsASlice   = 256
	rowRefBytes  = 2 * 24 // of memory for each row beside its bytes
	rowTrieBytes = 3 * 32 // and for each account
)

// BulkRows collects branch rows in any order and writes them as sorted tables. It is for one
// goroutine; a build has any number of them. Its memory is bounded, kept and used again: rows above
// the bound are written as a sorted run, and runs that overlap are merged at Commit.
type BulkRows struct {
	b   *Bulk
	max int // bytes in memory

	mem      []byte // of each row: path, one byte a nibble, then the row
	accounts []common.Hash
	index    map[common.Hash]uint32 // of accounts
	trie     int                    // index of the account that came last
	refs     [numBranchSpaces][]rowRef
	sorter   rowSorter
	fixes    fixes

	runs   []tableMeta // written before, not in the manifest
	drops  []rowDrop   // of rows in runs
	broken error       // a run could not be made durable
	spill  FlushStats  // what runs cost
	key    keyBuf
	since  int // rows written since others could have the core
}

// The two kinds of rows, in order of their key spaces.
const (
	accountBranches = iota
	storageBranches
	numBranchSpaces
)

// rowRef is a collected row.
type rowRef struct {
	rank  uint64 // the path's first 16 nibbles
	trie  uint32 // index in BulkRows.accounts
	off   uint32 // in BulkRows.mem
	nRow  uint16
	nPath uint8
}

// rowDrop voids the rows of an account in the first n runs.
type rowDrop struct {
	account common.Hash
	n       int
}

// NewRows returns a writer of branch rows.
func (b *Bulk) NewRows() *BulkRows {
	index := make(map[common.Hash]uint32)
	return &BulkRows{b: b, max: defaultRowBytes, trie: -1, index: index}
}

// PutStorageBranch adds a row of the account's storage trie. Everything is copied.
func (w *BulkRows) PutStorageBranch(account *common.Hash, p trie.Path, br trie.Branch) error {
	if w.trie < 0 || w.accounts[w.trie] != *account {
		i, ok := w.index[*account]
		if !ok {
			i = uint32(len(w.accounts))
			w.index[*account] = i
			w.accounts = append(w.accounts, *account)
		}
		w.trie = int(i)
	}
	return w.put(storageBranches, rowRef{trie: uint32(w.trie)}, &p, &br)
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
	if i, ok := w.index[*account]; ok {
		w.refs[storageBranches] = slices.DeleteFunc(w.refs[storageBranches], func(r rowRef) bool {
			return r.trie == i
		})
	}
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
	if w.b.enter() == nil {
		w.b.remove(w.runs)
		w.b.leave()
	} else {
		closeTables(w.runs) // the build is ended, and what it left in its folder is the next one's
	}
	w.runs, w.drops, w.spill, w.broken = nil, nil, FlushStats{}, nil
	w.fixes.clear()
	w.clear()
}

// clear forgets the rows in memory.
func (w *BulkRows) clear() {
	w.mem, w.accounts, w.trie = w.mem[:0], w.accounts[:0], -1
	clear(w.index)
	for i := range w.refs {
		w.refs[i] = w.refs[i][:0]
	}
}

// Buffered is the number of bytes of rows and corrections in memory.
func (w *BulkRows) Buffered() int {
	n := len(w.refs[accountBranches]) + len(w.refs[storageBranches])
	return len(w.mem) + n*rowRefBytes + len(w.accounts)*rowTrieBytes + w.fixes.bytes()
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
	if w.since++; w.since == rowsASlice {
		w.since = 0
		runtime.Gosched()
	}
	key := append(prefix, w.path(r)...)
	if err := t.set(key, w.mem[int(r.off)+int(r.nPath):][:r.nRow]); err != nil {
		return fmt.Errorf("branch %x: %w", key, err)
	}
	return nil
}
