package bench

import (
	"slices"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/internal/balbench"
)

const (
	// GasLimit of every block.
	GasLimit = balbench.GasLimit
	// Transactions of every block.
	Transactions = balbench.Transactions
)

// Genesis is the state that the blocks start from.
type Genesis = balbench.State

// NewGenesis makes the state of the given sizes, always the same one.
func NewGenesis(s Sizes) (*Genesis, error) { return balbench.NewState(s.shape()) }

func (s Sizes) shape() balbench.Shape {
	return balbench.Shape{Accounts: s.Accounts, Contracts: s.Contracts, Slots: s.Slots}
}

// AccessList is the access list of the n-th block, n from 1 on; always the same one.
func (s Sizes) AccessList(n int) *bal.AccessList { return s.family().AccessList(s.shape(), n) }

// family is the kind of block, as balbench names and makes it.
func (s Sizes) family() balbench.Family {
	name := map[Family]string{FamilyDelegate: "authorisations", FamilyClear: "storage-clear"}[s.Family]
	if name == "" {
		name = string(s.Family)
	}
	all := balbench.Families()
	return all[slices.IndexFunc(all, func(f balbench.Family) bool { return f.Name == name })]
}
