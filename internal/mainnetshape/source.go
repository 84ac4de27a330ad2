package mainnetshape

import (
	"fmt"
	"io"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// ChainID is the chain id of the states.
const ChainID = 1

// Header is a header for the state with the given root: that of a genesis block.
func Header(root common.Hash) *types.Header {
	return &types.Header{
		Number: new(big.Int), Difficulty: new(big.Int), Root: root,
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash,
		ReceiptHash: types.EmptyReceiptsHash,
	}
}

// Source gives the state to balsa.Import.
type Source struct {
	state   *State
	header  *types.Header
	code    int // the next
	walk    *Walk
	storage *Storage // of the account where the walk stands
	row     balsa.Row
}

var _ balsa.Source = (*Source)(nil)

// Source gives the rows of the state under a header with the state's root. The storage roots are
// unknown.
func (s *State) Source(h *types.Header) *Source {
	return &Source{state: s, header: h, walk: s.Walk()}
}

// Target implements balsa.Source.
func (s *Source) Target() (uint64, *types.Header) { return ChainID, s.header }

// Mark implements balsa.Source.
func (s *Source) Mark() string { return fmt.Sprintf("mainnetshape %+v", s.state.shape) }

// Next implements balsa.Source: the codes, and then each account before its slots.
func (s *Source) Next() (*balsa.Row, error) {
	r := &s.row
	if s.code < codeCount {
		*r = balsa.Row{Kind: balsa.CodeRow, Value: code(s.code)}
		r.Hash = keccak.Sum(r.Value)
		s.code++
		return r, nil
	}
	if s.storage != nil && s.storage.Next() {
		r.Kind, r.Hash, r.Slot, r.Value = balsa.SlotRow, s.walk.Hash, s.storage.Slot, s.storage.Value
		return r, nil
	}
	if !s.walk.Next() {
		return nil, io.EOF
	}
	*r = balsa.Row{Kind: balsa.AccountRow, Hash: s.walk.Hash, Account: s.walk.Account}
	if s.storage = nil; s.walk.Slots > 0 {
		s.storage = s.walk.Storage()
		r.Account.StorageRoot = balsa.UnknownRoot
	}
	return r, nil
}
