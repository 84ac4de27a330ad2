package balbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/bal"
)

// Load is how much a block changes: about so many accounts and slots.
type Load struct {
	Accounts int `json:"accounts"`
	Slots    int `json:"slots"`
}

// scaled is the load with the given number of accounts, and slots in proportion.
func (l Load) scaled(accounts int) Load {
	if accounts == 0 || l.Accounts == 0 {
		return l
	}
	return Load{Accounts: accounts, Slots: max(l.Slots*accounts/l.Accounts, min(l.Slots, 1))}
}

// MainnetLoad is a large block of mainnet.
var MainnetLoad = Load{Accounts: 5000, Slots: 8000}

// Family is one kind of block content.
type Family struct {
	Name string
	// Doc says in one line what the blocks of the family do.
	Doc  string
	Load Load
	// Creates says that accounts are created, or change what they are, in most of its rows.
	Creates bool
	fill    func(b *block)
}

// Mixed is the name of the family that is like mainnet's blocks.
const Mixed = "mixed"

// Families lists every family: those of package chaingen, as access lists without the blocks that
// give them, the ones that Balsa's speed is claimed for, and a mix. The slice is the caller's.
func Families() []Family {
	small := Load{Accounts: 1000}
	return []Family{
		{"transfers", "transfers between existing accounts", small, false, fillTransfers},
		{"new-accounts", "transfers to empty accounts", small, true, fillNewAccounts},
		{"value-calls", "calls from a contract to empty accounts, most with value", small, true,
			fillValueCalls},
		{"creations", "contracts with codes of their own and two slots", Load{1000, 1000}, true,
			fillCreations},
		{"create2", "CREATE2 spam: small contracts of one code", small, true, fillCreate2},
		{"authorisations", "EIP-7702 delegations: nonce and code of existing accounts", small, true,
			fillAuthorisations},
		{"create-destroy", "accounts drained to nothing and funded again, contracts that are gone",
			small, true, fillCreateDestroy},
		{"withdrawals", "16 withdrawals", Load{Accounts: 16}, false, fillTransfers},
		{"empty", "the system contracts' slots alone", Load{2, 2}, false, fillOverwrites},
		{"storage-overwrite", "ten slots in each of some contracts written over", Load{200, 2000},
			false, fillOverwrites},
		{"storage-clear", "ten slots in each of some contracts cleared; once all are, set again",
			Load{200, 2000}, false, fillClears},
		{"storage-new", "ten new slots in each of some contracts", Load{200, 2000}, false,
			fillNewSlots},
		{"update", "1,000 balances, and ten slots in each of 200 contracts", Load{1200, 2000}, false,
			fillUpdate},
		{"create", "1,000 new accounts, and 200 new contracts of 200 codes and five slots each",
			Load{1200, 1000}, true, fillCreate},
		{Mixed, "like a large block of mainnet: mostly balances and skewed storage, and reads",
			MainnetLoad, false, fillMixed},
	}
}

// FamiliesByName picks families, in the order of Families; no names are all of them.
func FamiliesByName(names []string) ([]Family, error) {
	all := Families()
	known := func(name string) bool {
		return slices.ContainsFunc(all, func(f Family) bool { return f.Name == name })
	}
	for _, name := range names {
		if !known(name) {
			return nil, fmt.Errorf("%w: no family %q: there are %s", ErrBadOptions, name,
				strings.Join(FamilyNames(), ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(f Family) bool { return !slices.Contains(names, f.Name) }), nil
}

// FamilyNames lists the names of Families in the same order.
func FamilyNames() []string {
	var names []string
	for _, f := range Families() {
		names = append(names, f.Name)
	}
	return names
}

// AccessList is the access list of the n-th block of the family on a state, n from 1 on; always
// the same one.
func (f Family) AccessList(shape Shape, n int) *bal.AccessList {
	b := newBlock(shape, f.Load, n)
	f.fill(b)
	for i := range b.accounts {
		a := &b.accounts[i]
		slices.SortFunc(a.StorageChanges, func(a, b bal.SlotChanges) int { return a.Slot.Cmp(b.Slot) })
		slices.SortFunc(a.StorageReads, common.Hash.Cmp)
	}
	slices.SortFunc(b.accounts, func(a, b bal.AccountChanges) int { return a.Address.Cmp(b.Address) })
	return &bal.AccessList{Accounts: b.accounts}
}
