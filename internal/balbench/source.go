package balbench

import (
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
)

// chainID is the chain id of the stores.
const chainID = 1

// source gives a State to balsa.Import.
type source struct {
	s    *State
	next int           // account
	left []common.Hash // slots of the account before, still to come
	row  balsa.Row
}

var _ balsa.Source = (*source)(nil)

// Source gives the state's rows.
func (s *State) Source() balsa.Source { return &source{s: s} }

// Target implements balsa.Source.
func (r *source) Target() (uint64, *types.Header) { return chainID, r.s.Header }

// Mark implements balsa.Source.
func (r *source) Mark() string { return fmt.Sprintf("balbench %+v", r.s.Shape) }

// Next implements balsa.Source.
func (r *source) Next() (*balsa.Row, error) {
	if len(r.left) > 0 {
		r.row = balsa.Row{Kind: balsa.SlotRow, Hash: r.s.accounts[r.next-1].hash, Slot: r.left[0],
			Value: genesisSlot}
		r.left = r.left[1:]
		return &r.row, nil
	}
	if r.next == len(r.s.accounts) {
		return nil, io.EOF
	}
	at := &r.s.accounts[r.next]
	r.next++
	v := r.s.value(at.kind)
	a := state.NewAccount()
	a.Nonce, a.Balance = v.Nonce, *v.Balance
	if at.kind == Contract {
		a.StorageRoot, r.left = balsa.UnknownRoot, r.s.slots
	}
	r.row = balsa.Row{Kind: balsa.AccountRow, Hash: at.hash, Account: a}
	return &r.row, nil
}
