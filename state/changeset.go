package state

import "github.com/ethereum/go-ethereum/common"

// ChangeSet is exactly what changed from a block's parent to the block, or back: each account and
// slot whose value is another, with both values. It shares its memory with others and must not be
// changed.
type ChangeSet struct {
	Number uint64
	Hash   common.Hash // of the block
	Parent common.Hash // of its parent
	// Undone says that the block was undone: Pre is the state of the block then, Post its parent's.
	Undone   bool
	Accounts []AccountWrite // ascending; hashes of addresses
	Slots    []SlotWrite    // ascending by account, then slot; hashes of addresses and keys
}

// Before is the hash of the block whose state has every Pre.
func (c *ChangeSet) Before() common.Hash {
	if c.Undone {
		return c.Hash
	}
	return c.Parent
}

// After is the hash of the block whose state has every Post.
func (c *ChangeSet) After() common.Hash {
	if c.Undone {
		return c.Parent
	}
	return c.Hash
}
