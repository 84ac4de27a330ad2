package bench

import (
	"errors"
	"fmt"
	"strconv"
)

// Family is a kind of block.
type Family string

const (
	// FamilyUpdate changes 1,000 balances and 10 slots in each of 200 contracts.
	FamilyUpdate Family = "update"
	// FamilyCreate creates 1,000 accounts and 200 contracts with 5 slots each; every block
	// deploys the same 200 codes.
	FamilyCreate Family = "create"
	// FamilyDelegate changes nonce and code of 1,000 accounts (EIP-7702), among 50 codes.
	FamilyDelegate Family = "delegate"
	// FamilyClear clears 10 slots in each of 200 contracts.
	FamilyClear Family = "clear"
)

// Sizes says how large the state is and how many blocks follow.
type Sizes struct {
	Accounts  int    // plain accounts
	Contracts int    // accounts with storage
	Slots     int    // slots of each contract
	Blocks    int    // blocks in a row
	Segment   int    // blocks of one side before the other side's turn
	Family    Family // of all blocks
	CacheMB   int    // memory of each side's Pebble, in mebibytes; half of it is block cache
	NoSync    bool   // Balsa does not wait for the disk either
	Dir       string // where the stores lie; "": a temporary folder
	Profile   string // file for a CPU profile of Balsa's segments alone; "": none
}

// DefaultSizes takes a second or two a run.
func DefaultSizes() Sizes {
	return Sizes{Accounts: 20_000, Contracts: 1000, Slots: 20, Blocks: 20, Segment: 10,
		CacheMB: 512, Family: FamilyUpdate}
}

// The least state for blocks without an account or a slot twice.
const (
	balancesPerBlock  = 1000
	contractsPerBlock = 200
	slotsPerContract  = 10
)

// Validate refuses sizes of which no block can be made.
func (s Sizes) Validate() error {
	switch {
	case s.Accounts < balancesPerBlock:
		return fmt.Errorf("bench: %d accounts, want at least %d", s.Accounts, balancesPerBlock)
	case s.Contracts < contractsPerBlock:
		return fmt.Errorf("bench: %d contracts, want at least %d", s.Contracts, contractsPerBlock)
	case s.Slots < slotsPerContract:
		return fmt.Errorf("bench: %d slots, want at least %d", s.Slots, slotsPerContract)
	case s.CacheMB < 16: // go-ethereum takes no less
		return fmt.Errorf("bench: %d MB of cache, want at least 16", s.CacheMB)
	case s.Blocks < 1 || s.Segment < 1:
		return fmt.Errorf("bench: %d blocks in segments of %d", s.Blocks, s.Segment)
	}
	switch s.Family {
	case FamilyUpdate, FamilyCreate, FamilyDelegate, FamilyClear:
		return nil
	}
	return fmt.Errorf("bench: no family %q of blocks", s.Family)
}

// SizesFromEnv reads, over the defaults, BALSA_BENCH_ACCOUNTS, _CONTRACTS, _SLOTS, _BLOCKS,
// _SEGMENT, _CACHE_MB, _FAMILY, _NOSYNC (any value), _DIR and _PROFILE.
func SizesFromEnv(getenv func(string) string) (Sizes, error) {
	s := DefaultSizes()
	var errs []error
	number := func(name string, n *int) {
		v := getenv("BALSA_BENCH_" + name)
		if v == "" {
			return
		}
		got, err := strconv.Atoi(v)
		if err != nil {
			errs = append(errs, fmt.Errorf("bench: BALSA_BENCH_%s: %w", name, err))
			return
		}
		*n = got
	}
	number("ACCOUNTS", &s.Accounts)
	number("CONTRACTS", &s.Contracts)
	number("SLOTS", &s.Slots)
	number("BLOCKS", &s.Blocks)
	number("SEGMENT", &s.Segment)
	number("CACHE_MB", &s.CacheMB)
	if v := getenv("BALSA_BENCH_FAMILY"); v != "" {
		s.Family = Family(v)
	}
	s.NoSync = getenv("BALSA_BENCH_NOSYNC") != ""
	s.Dir, s.Profile = getenv("BALSA_BENCH_DIR"), getenv("BALSA_BENCH_PROFILE")
	if err := errors.Join(errs...); err != nil {
		return Sizes{}, err
	}
	return s, s.Validate()
}
