package world

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Account is an account of the state trie. Its fields are those of the store's account, so that
// one can be converted to the other.
type Account struct {
	Nonce       uint64
	Balance     uint256.Int // wei
	StorageRoot common.Hash
	CodeHash    common.Hash
}

var (
	// EmptyCodeHash is the Keccak-256 of no bytes.
	EmptyCodeHash = common.HexToHash(
		"c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
	// EmptyRoot is the root of a trie without leaves.
	EmptyRoot = common.HexToHash(
		"56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
)

// NewAccount returns the account that an absent one stands for.
func NewAccount() Account { return Account{StorageRoot: EmptyRoot, CodeHash: EmptyCodeHash} }

// Parent is the state before the block.
type Parent interface {
	// Account returns the account with an address hash; false if there is none.
	Account(hash common.Hash) (Account, bool, error)
	// Slot returns a slot's value by the hash of its key, zero if it is not set.
	Slot(account, slot common.Hash) (common.Hash, error)
	// EachSlot calls f with every slot of an account, in any order. It is asked only for accounts
	// with storage that a sweep removed, which Ethereum has seen none of since EIP-6780.
	EachSlot(account common.Hash, f func(slot, value common.Hash) error) error
}
