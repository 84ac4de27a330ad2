package chaingen

import "slices"

// Family is one kind of block content.
type Family struct {
	Name string
	// Doc says in one line what the blocks of the family do.
	Doc string
	// fill puts about n transactions (or withdrawals) into the block. It keeps nothing between
	// blocks: what it needs to know it takes from the world, the block number and the state, so
	// that a fork can start at any block.
	fill func(b *block, n int)
}

// Families lists every family, mix last. The slice is the caller's.
func Families() []Family {
	return append(plainFamilies(), Family{
		Name: "mix",
		Doc:  "several families in each block, empty blocks, fees to accounts that the block uses",
		fill: fillMix,
	})
}

// plainFamilies lists the families that mix draws from.
func plainFamilies() []Family {
	return []Family{
		{"transfers", "transfers of value, or of none, to existing accounts", fillTransfers},
		{"new-accounts", "transfers that create the receiving account", fillNewAccounts},
		{"value-calls", "calls from contracts to empty accounts, with and without value",
			fillValueCalls},
		{"creations", "contract creations, with storage, value, or no code at all", fillCreations},
		{"create2", "CREATE2 factories that deploy one code many times", fillCreate2},
		{"authorisations", "EIP-7702 delegations set, used, changed and cleared",
			fillAuthorisations},
		{"storage", "storage written, overwritten, restored and cleared, down to no slot",
			fillStorage},
		{"create-destroy", "contracts created and destroyed in one transaction (EIP-6780)",
			fillCreateDestroy},
		{"withdrawals", "withdrawals to existing and to absent accounts, and of nothing",
			fillWithdrawals},
		{"empty", "blocks without transactions: the system calls alone", func(*block, int) {}},
	}
}

// FamilyNames lists the names of Families in the same order.
func FamilyNames() []string {
	var names []string
	for _, f := range Families() {
		names = append(names, f.Name)
	}
	return names
}

func familyByName(name string) (Family, bool) {
	all := Families()
	i := slices.IndexFunc(all, func(f Family) bool { return f.Name == name })
	if i < 0 {
		return Family{}, false
	}
	return all[i], true
}
