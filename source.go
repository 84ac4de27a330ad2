package balsa

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/internal/flatfile"
)

// Row is one row of a flat state: an account, a slot, or a code.
type Row = flatfile.Row

// The kinds of a Row.
const (
	AccountRow = flatfile.Account
	SlotRow    = flatfile.Slot
	CodeRow    = flatfile.Code
)

// ErrInput: what an Import reads is not a state, or is damaged.
var ErrInput = flatfile.ErrInput

// UnknownRoot stands for the storage root of an account that has slots, in a Source that does not
// know the root. It is the hash of nothing.
var UnknownRoot = common.Hash{common.HashLength - 1: 1}

// Source gives a flat state to Import.
type Source interface {
	// Target is the chain's id, and the header of the block after which the state is this.
	Target() (chainID uint64, h *types.Header)
	// Mark tells sources apart: an Import that was cut off goes on only with one of the same mark.
	// At most 1,024 bytes.
	Mark() string
	// Next gives the next row, valid until the next call, or io.EOF behind the last one.
	//
	// Accounts ascend by hash, slots by account and slot; an account comes before its slots. Codes
	// come in any order. An account without storage has the root of the empty trie, any other one its
	// root or UnknownRoot.
	Next() (*Row, error)
}
