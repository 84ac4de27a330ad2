package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// BranchSink collects the branch rows of one trie, or of a batch of storage tries, in any order.
// Close sorts them and adds them to the build. It is for one goroutine at a time.
type BranchSink struct {
	b        *Bulk
	storage  bool
	accounts []common.Hash // by tag, where storage is set
	one      bool          // there is one trie, whatever the tag
	rows     []sinkRow
	mem      []byte
	closed   bool
}

var _ trie.Sink = (*BranchSink)(nil)

// sinkRow is a collected row: the path's nibbles, then the row, from off on in BranchSink.mem.
type sinkRow struct {
	trie  int    // index of the account
	rank  uint64 // the path's first 15 nibbles
	off   int
	nPath uint8
	nRow  uint16
}

// Branches returns a sink for the rows of the account trie, or of the account's storage trie. Tags
// do not matter. Sinks of storage tries must be closed in ascending order of account.
func (b *Bulk) Branches(account common.Hash, storage bool) *BranchSink {
	return &BranchSink{b: b, storage: storage, accounts: []common.Hash{account}, one: true}
}

// StorageBranches returns a sink for the rows of many storage tries: a row's tag is the index of
// its account. Accounts ascend, and those of sinks closed one after the other do too.
func (b *Bulk) StorageBranches(accounts []common.Hash) *BranchSink {
	return &BranchSink{b: b, storage: true, accounts: slices.Clone(accounts)}
}

// PutBranch collects a row.
func (k *BranchSink) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	if k.closed {
		return fmt.Errorf("branch sink: %w", ErrClosed)
	}
	r := sinkRow{off: len(k.mem), nPath: uint8(p.Len), nRow: uint16(b.Len())}
	if !k.one {
		if r.trie = int(tag); r.trie >= len(k.accounts) {
			return fmt.Errorf("branch sink: tag %d of %d tries", tag, len(k.accounts))
		}
	}
	r.rank = binary.BigEndian.Uint64(p.Key[:]) >> 4
	k.mem = b.AppendTo(appendNibbles(k.mem, &p))
	k.rows = append(k.rows, r)
	return nil
}

// DeleteBranch fails: a build deletes nothing.
func (k *BranchSink) DeleteBranch(_ uint32, p trie.Path) error {
	return fmt.Errorf("branch sink: %w: deletion of branch %v in a build", errors.ErrUnsupported, p)
}

// Close sorts the rows and adds them to the build. Closing again returns ErrClosed.
func (k *BranchSink) Close() error {
	if k.closed {
		return fmt.Errorf("branch sink: %w", ErrClosed)
	}
	k.closed = true
	if err := k.b.open(); err != nil {
		return err
	}
	slices.SortFunc(k.rows, func(x, y sinkRow) int {
		if x.trie != y.trie {
			return cmp.Compare(x.trie, y.trie)
		}
		if x.rank != y.rank {
			return cmp.Compare(x.rank, y.rank)
		}
		return bytes.Compare(k.path(&x), k.path(&y))
	})
	t := k.b.accountRows
	if k.storage {
		t = k.b.storageRows
	}
	for i := range k.rows {
		r := &k.rows[i]
		key := append(k.b.key[:0], spaceAccountBranch)
		if k.storage {
			key = appendHashKey(k.b.key[:0], spaceStorageBranch, &k.accounts[r.trie])
		}
		key = append(key, k.path(r)...)
		row := k.mem[r.off+int(r.nPath):][:r.nRow]
		if err := t.set(key, row); err != nil {
			return fmt.Errorf("build branch %x: %w", key, err)
		}
	}
	k.rows, k.mem = nil, nil
	return nil
}

func (k *BranchSink) path(r *sinkRow) []byte { return k.mem[r.off:][:r.nPath] }
