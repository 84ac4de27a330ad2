package chaingen

import (
	"errors"
	"fmt"
)

// Bounds of a Config. A chain lives in memory, with the state of every block, so they are there
// to turn a slip of the hand into an error instead of a machine that swaps.
const (
	MaxBlocks = 100_000
	MaxSize   = 20_000
)

// ErrConfig is wrapped by every error that a wrong Config gives.
var ErrConfig = errors.New("chaingen: bad configuration")

// Config says which chain to make. Two equal configurations give equal chains, byte for byte.
type Config struct {
	// Family is the name of one of Families.
	Family string
	// Seed draws everything that is drawn: keys, addresses, amounts and choices.
	Seed uint64
	// Blocks is how many blocks to make on top of the genesis (or of the ancestor, for Fork): 1
	// to MaxBlocks.
	Blocks int
	// Size is how many transactions a block has: 1 to MaxSize. A family whose recipes come in
	// pairs may exceed it by a few, mix leaves some blocks empty, and withdrawals has at most 16
	// withdrawals a block. The genesis scales with it (16 plain accounts a transaction).
	Size int
}

// Validate gives an error that wraps ErrConfig and names the field that is wrong.
func (c Config) Validate() error {
	if _, ok := familyByName(c.Family); !ok {
		return fmt.Errorf("%w: family %q is not one of %v", ErrConfig, c.Family, FamilyNames())
	}
	if c.Blocks < 1 || c.Blocks > MaxBlocks {
		return fmt.Errorf("%w: %d blocks, want 1 to %d", ErrConfig, c.Blocks, MaxBlocks)
	}
	if c.Size < 1 || c.Size > MaxSize {
		return fmt.Errorf("%w: size %d, want 1 to %d", ErrConfig, c.Size, MaxSize)
	}
	return nil
}
