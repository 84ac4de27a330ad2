package mainnetshape

import (
	"math/rand/v2"

	"github.com/balsa-sync/balsa/state"
	"github.com/ethereum/go-ethereum/common"
)

// State is a state of some shape. It is safe for concurrent use: walks do not know of each other.
type State struct {
	shape   Shape
	sizes   *sizes
	first   uint64 // the first rank that is not left out
	storage uint64 // accounts with storage that are not left out
	size    uint64 // accounts that are not left out
	slots   uint64 // of those
	order   permutation
	codes   [codeCount]common.Hash
}

// New makes the state of a shape.
func New(shape Shape) (*State, error) {
	if err := shape.validate(); err != nil {
		return nil, err
	}
	z, err := newSizes(shape)
	if err != nil {
		return nil, err
	}
	s := &State{shape: shape, sizes: z, slots: shape.Slots, codes: codeHashes()}
	if shape.Below > 0 {
		s.first = z.firstBelow(shape.Below)
		for rank := range s.first {
			s.slots -= z.of(rank)
		}
	}
	s.storage, s.size = shape.Storage-s.first, shape.Accounts-s.first
	s.order = newPermutation(s.size, shape.Seed)
	return s, nil
}

// Accounts is the number of accounts, StorageAccounts of those with storage, Slots of the slots of
// all accounts.
func (s *State) Accounts() uint64        { return s.size }
func (s *State) StorageAccounts() uint64 { return s.storage }
func (s *State) Slots() uint64           { return s.slots }

// Codes gives all codes that the accounts have.
func (s *State) Codes() [][]byte {
	codes := make([][]byte, codeCount)
	for i := range codes {
		codes[i] = code(i)
	}
	return codes
}

// Walk goes through the accounts in ascending order of their hashes.
type Walk struct {
	// Hash and Account are the account's; its storage root is that of no storage, whatever slots it
	// has: nothing has been built yet.
	Hash    common.Hash
	Account state.Account
	// Slots is how many slots it has.
	Slots uint64

	s     *State
	keys  keys
	index uint64
}

// Walk begins before the first account.
func (s *State) Walk() *Walk {
	return &Walk{s: s, keys: keys{rng: s.rng(0), left: s.size}}
}

// rng is a source of random numbers of its own.
func (s *State) rng(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.shape.Seed, mix(stream)))
}

// Next moves to the next account and tells whether there is one.
func (w *Walk) Next() bool {
	if w.keys.left == 0 {
		return false
	}
	at := w.s.order.at(w.index)
	w.index++
	w.Slots = 0
	if at < w.s.storage {
		w.Slots = w.s.sizes.of(w.s.first + at)
	}
	w.keys.next(&w.Hash)
	w.Account = w.s.randomAccount(w.keys.rng, w.Slots > 0)
	return true
}

// Storage goes through the slots of an account in ascending order of their hashes.
type Storage struct {
	Slot  common.Hash
	Value []byte // as the flat state and the leaf have it; valid until the next Next

	keys keys
}

// Storage begins before the first slot of the account at which the walk stands. It may be used
// while the walk goes on.
func (w *Walk) Storage() *Storage {
	return &Storage{
		keys:  keys{rng: w.s.rng(w.index), left: w.Slots},
		Value: make([]byte, 0, 1+common.HashLength),
	}
}

// Next moves to the next slot and tells whether there is one.
func (s *Storage) Next() bool {
	if s.keys.left == 0 {
		return false
	}
	s.keys.next(&s.Slot)
	s.Value = appendValue(s.Value[:0], s.keys.rng)
	return true
}
