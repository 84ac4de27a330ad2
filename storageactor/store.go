package storageactor

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// Store is what is built from and into. Its methods are safe for concurrent use; what they return
// is for one goroutine at a time.
type Store interface {
	// NewReader gives a view of the flat rows that are there now.
	NewReader() (Reader, error)
	// NewRows gives an empty buffer for branch rows.
	NewRows() Rows
}

// Reader reads flat rows in key order: see state.BulkReader.
type Reader interface {
	Refresh() error
	SeekSlots(account, from *common.Hash)
	NextSlot() (slot *common.Hash, value []byte, ok bool, err error)
	NextStorageAccount(after *common.Hash) (account common.Hash, ok bool, err error)
	SeekAccounts(from *common.Hash)
	NextAccount() (hash *common.Hash, slim []byte, ok bool, err error)
	Close() error
}

// Rows is a buffer of branch rows and corrections: see state.BulkRows.
type Rows interface {
	PutStorageBranch(account *common.Hash, p trie.Path, br trie.Branch) error
	PutAccountBranch(p trie.Path, br trie.Branch) error
	SetStorageRoot(account, root common.Hash)
	DropStorage(account common.Hash)
	Drop(account *common.Hash)
	Buffered() int
	Write(done ...state.KeyRange) error
	Flush(done ...state.KeyRange) (state.FlushStats, error)
	Discard()
}

// StoreOf is a state.Bulk as a Store.
func StoreOf(b *state.Bulk) Store { return bulkStore{b} }

type bulkStore struct{ bulk *state.Bulk }

// NewReader implements Store.
func (s bulkStore) NewReader() (Reader, error) {
	r, err := s.bulk.NewReader()
	if err != nil {
		return nil, err // not r, which would make a Reader that is not nil
	}
	return r, nil
}

// NewRows implements Store.
func (s bulkStore) NewRows() Rows { return s.bulk.NewRows() }
