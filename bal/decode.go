package bal

import "github.com/ethereum/go-ethereum/common"

const (
	// ItemCost is what an item of the list costs of the block's gas limit (EIP-7928, "Block Access
	// List Size Constraint": items <= gas limit / ItemCost).
	ItemCost = 2000

	// MaxCodeSize is the size in bytes of the largest code (EIP-7954; params.MaxCodeSizeAmsterdam
	// of go-ethereum). A list with a larger one cannot come from a valid block.
	MaxCodeSize = 65536
)

// Empty is the encoding of the empty list. It is not "not available", which is 0x80.
var Empty = []byte{0xc0}

// Limits are the bounds that a block sets to its access list.
type Limits struct {
	// GasLimit is the block's gas limit. There are no more than GasLimit / ItemCost addresses and
	// storage keys; math.MaxUint64 lifts the bound.
	GasLimit uint64
	// Transactions is the number of the block's transactions: no block access index is above it
	// plus one. Negative: not known, so an index is only bounded by its 4 bytes.
	Transactions int
}

// Decode takes the RLP of an access list to the list, or says which rule it breaks: the error is
// an [*Error] around one of this package's sentinels. The list keeps references into raw.
//
// The memory taken is at most 32 times len(raw), and none is taken before raw is known to be
// canonical, within the limits and in order.
func Decode(raw []byte, l Limits) (*AccessList, error) {
	c := newChecker(raw, l)
	if err := c.run(); err != nil {
		return nil, err
	}
	f := newFiller(raw, c.n)
	list := f.run()
	for i := range list.Accounts {
		a := &list.Accounts[i]
		if slot := commonSlot(a); slot != nil {
			return nil, &Error{Rule: ErrSlotInBoth, Offset: -1, Account: i, Address: &a.Address,
				Field: FieldStorageReads, Slot: slot}
		}
	}
	return list, nil
}

// commonSlot finds a slot that is in both of an account's lists of slots, which both ascend; nil
// if there is none.
func commonSlot(a *AccountChanges) *common.Hash {
	changed, read := a.StorageChanges, a.StorageReads
	for len(changed) > 0 && len(read) > 0 {
		switch d := changed[0].Slot.Cmp(read[0]); {
		case d < 0:
			changed = changed[1:]
		case d > 0:
			read = read[1:]
		default:
			return &read[0]
		}
	}
	return nil
}

// filler builds the list from bytes that the checker has accepted. All entries of one kind lie in
// one slab, whose capacity is their exact number: appending to it never moves it.
type filler struct {
	raw []byte
	pos int

	accounts []AccountChanges
	slots    []SlotChanges
	reads    []common.Hash
	writes   []StorageChange
	balances []BalanceChange
	nonces   []NonceChange
	codes    []CodeChange
}

func newFiller(raw []byte, n counts) *filler {
	return &filler{
		raw:      raw,
		accounts: make([]AccountChanges, 0, n.accounts),
		slots:    make([]SlotChanges, 0, n.slots),
		reads:    make([]common.Hash, 0, n.reads),
		writes:   make([]StorageChange, 0, n.writes),
		balances: make([]BalanceChange, 0, n.balances),
		nonces:   make([]NonceChange, 0, n.nonces),
		codes:    make([]CodeChange, 0, n.codes),
	}
}

// open enters the list at the position and returns where it ends.
func (f *filler) open() int {
	s, _, _ := header(f.raw, f.pos, len(f.raw))
	f.pos = s.start
	return s.end
}

// next returns the content of the string at the position and moves behind it.
func (f *filler) next() []byte {
	s, _, _ := header(f.raw, f.pos, len(f.raw))
	f.pos = s.end
	return f.raw[s.start:s.end:s.end]
}

// index enters a change and returns its block access index.
func (f *filler) index() uint32 {
	f.open()
	return uint32(number(f.next()))
}

// tail is what a slab has taken since it had from entries, nil if nothing.
func tail[T any](slab []T, from int) []T {
	if len(slab) == from {
		return nil
	}
	return slab[from:len(slab):len(slab)]
}

func (f *filler) run() *AccessList {
	for end := f.open(); f.pos < end; {
		f.open()
		f.accounts = append(f.accounts, AccountChanges{Address: common.Address(f.next())})
		a := &f.accounts[len(f.accounts)-1]
		a.StorageChanges = f.storageChanges()
		a.StorageReads = f.storageReads()
		a.BalanceChanges = f.balanceChanges()
		a.NonceChanges = f.nonceChanges()
		a.CodeChanges = f.codeChanges()
	}
	return &AccessList{Accounts: tail(f.accounts, 0)}
}

func (f *filler) storageChanges() []SlotChanges {
	from := len(f.slots)
	for end := f.open(); f.pos < end; {
		f.open()
		slot := SlotChanges{Slot: hashOf(f.next())}
		writes := len(f.writes)
		for end := f.open(); f.pos < end; {
			index := f.index()
			f.writes = append(f.writes, StorageChange{Index: index, Value: hashOf(f.next())})
		}
		slot.Changes = tail(f.writes, writes)
		f.slots = append(f.slots, slot)
	}
	return tail(f.slots, from)
}

func (f *filler) storageReads() []common.Hash {
	from := len(f.reads)
	for end := f.open(); f.pos < end; {
		f.reads = append(f.reads, hashOf(f.next()))
	}
	return tail(f.reads, from)
}

func (f *filler) balanceChanges() []BalanceChange {
	from := len(f.balances)
	for end := f.open(); f.pos < end; {
		f.balances = append(f.balances, BalanceChange{Index: f.index()})
		f.balances[len(f.balances)-1].Balance.SetBytes(f.next())
	}
	return tail(f.balances, from)
}

func (f *filler) nonceChanges() []NonceChange {
	from := len(f.nonces)
	for end := f.open(); f.pos < end; {
		index := f.index()
		f.nonces = append(f.nonces, NonceChange{Index: index, Nonce: number(f.next())})
	}
	return tail(f.nonces, from)
}

func (f *filler) codeChanges() []CodeChange {
	from := len(f.codes)
	for end := f.open(); f.pos < end; {
		index := f.index()
		f.codes = append(f.codes, CodeChange{Index: index, Code: f.next()})
	}
	return tail(f.codes, from)
}
