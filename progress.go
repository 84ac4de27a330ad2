package balsa

import "sync/atomic"

// BuildProgress says how far an Import or a Rebuild is. All but Phase only grow.
type BuildProgress struct {
	// Loading and the building of storage tries overlap.
	Loading bool
	// AccountTrie says that all storage is built, and the account trie is under way.
	AccountTrie bool
	Accounts    uint64 // read from the source, those that were held already too
	Slots       uint64
	Codes       uint64
	// Share is how far along the account hashes storage tries were asked for, from 0 to 1.
	Share         float64
	StorageTries  uint64 // built in this run
	StorageLeaves uint64
}

// progress counts. It is safe for concurrent use.
type progress struct {
	f                       func(BuildProgress)
	accounts, slots, codes  atomic.Uint64
	asked                   atomic.Uint64 // the first eight bytes of the account hash
	storageTries, leaves    atomic.Uint64
	loadingOver, accountTop atomic.Bool
}

func (p *progress) tell() {
	if p.f == nil {
		return
	}
	p.f(BuildProgress{
		Loading: !p.loadingOver.Load(), AccountTrie: p.accountTop.Load(),
		Accounts: p.accounts.Load(), Slots: p.slots.Load(), Codes: p.codes.Load(),
		Share:        float64(p.asked.Load()) / (1 << 64),
		StorageTries: p.storageTries.Load(), StorageLeaves: p.leaves.Load(),
	})
}
