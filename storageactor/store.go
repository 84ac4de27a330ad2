package storageactor

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/trie"
)

// Store is what is built from and into. Its methods are safe for concurrent use; what they return
// is for one goroutine at a time.
type Store interface {
	// NewReader gives a view of the flat rows that are there now.
	NewReader() (Reader, error)
	// NewRows gives an empty buffer for branch rows.
	NewRows() Rows
	// SetStorageRoot has the account's row get another storage root. It is durable with the next
	// Flush at the latest.
	SetStorageRoot(account, root common.Hash) error
	// DropStorage has slot rows of an account that does not exist left out of the state. It is
	// durable with the next Flush at the latest.
	DropStorage(account common.Hash) error
}

// Reader reads flat rows in key order. What it returns by reference is valid until its next call.
type Reader interface {
	// Refresh makes rows visible that were added since.
	Refresh() error
	// SeekSlots goes to the first slot of the account at or behind from.
	SeekSlots(account, from *common.Hash)
	// NextSlot gives the account's slots from where SeekSlots went; values are RLP.
	NextSlot() (slot *common.Hash, value []byte, ok bool, err error)
	// NextStorageAccount gives the first account at or behind from that has slot rows.
	NextStorageAccount(from *common.Hash) (account common.Hash, ok bool, err error)
	// SeekAccounts goes to the first account at or behind from.
	SeekAccounts(from *common.Hash)
	// NextAccount gives accounts as leaves of the account trie have them (full RLP), with the storage
	// roots that SetStorageRoot gave them.
	NextAccount() (hash *common.Hash, account []byte, ok bool, err error)
	Close() error
}

// Rows is a buffer of branch rows. It may write to disk what is too much for memory.
type Rows interface {
	// PutStorageBranch adds a row; in any order. What it is given is copied.
	PutStorageBranch(account *common.Hash, p trie.Path, br trie.Branch) error
	PutAccountBranch(p trie.Path, br trie.Branch) error
	// Drop takes back all rows of an account that this buffer has.
	Drop(account *common.Hash)
	// Buffered is the size in bytes of what is in memory.
	Buffered() int
	// Flush stores what the buffer has and notes that the storage of the accounts in done is built;
	// both are durable when it returns. The buffer is empty then, also where it failed.
	Flush(done []messages.AccountRange) (Flushed, error)
	// Reset empties the buffer without storing it.
	Reset()
}

// Flushed says what a Flush wrote.
type Flushed struct {
	Bytes  int64
	Tables int
}
