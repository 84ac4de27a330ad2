package mainnetshape

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrBadShape: no state has the wanted shape.
var ErrBadShape = errors.New("mainnetshape: bad shape")

// Mainnet's figures; see the package's documentation.
const (
	MainnetAccounts = 300_000_000
	MainnetStorage  = 26_311_772 // accounts with storage
	MainnetSlots    = 1_552_108_325
	MainnetLargest  = 159_600_000 // slots of the largest trie
	mainnetHuge     = 3_300_000   // slots of the smallest of the huge tries

	// HugeTries is how many tries are huge, at every scale.
	HugeTries = 30
	// SmallShare is the share of the tries that have one slot or two.
	SmallShare = 0.7
	// singleShare is the share of those that have one.
	singleShare = 2.0 / 3
	// leastMiddle is the number of slots of the least trie that is not small.
	leastMiddle = 3
)

// Bounds of a Shape.
const (
	minStorage  = 200 // accounts with storage
	maxAccounts = 1 << 40
)

// Shape says how large a state is. Its slots are distributed over its accounts like mainnet's.
type Shape struct {
	Accounts uint64 // all accounts
	Storage  uint64 // accounts with storage
	Slots    uint64 // slots of all accounts
	Seed     uint64
	// Below leaves out the tries that have so many slots or more, with their accounts, and counts
	// neither among the others; 0 leaves out none.
	Below uint64
}

// Mainnet is the shape of mainnet at a scale, 1 being mainnet itself.
func Mainnet(scale float64) (Shape, error) {
	if !(scale > 0 && scale <= 1) {
		return Shape{}, fmt.Errorf("%w: scale %v is not above 0 and at most 1", ErrBadShape, scale)
	}
	of := func(n float64) uint64 { return uint64(math.Round(n * scale)) }
	s := Shape{Accounts: of(MainnetAccounts), Storage: of(MainnetStorage), Slots: of(MainnetSlots),
		Seed: 1}
	return s, s.validate()
}

// ParseScale reads a scale: "1/1000", or "0.001".
func ParseScale(text string) (float64, error) {
	over, under, isRatio := strings.Cut(strings.TrimSpace(text), "/")
	scale, err := strconv.ParseFloat(over, 64)
	if err == nil && isRatio {
		var by float64
		by, err = strconv.ParseFloat(under, 64)
		scale /= by
	}
	if err != nil {
		return 0, fmt.Errorf("%w: scale %q: %w", ErrBadShape, text, err)
	}
	_, err = Mainnet(scale)
	return scale, err
}

// Tail is the shape's small end alone: the accounts with storage of fewer than below slots, and no
// other account.
func (s Shape) Tail(below uint64) Shape {
	s.Accounts, s.Below = s.Storage, below
	return s
}

func (s Shape) validate() error {
	switch {
	case s.Storage < minStorage:
		return fmt.Errorf("%w: %d accounts with storage, at least %d", ErrBadShape, s.Storage,
			minStorage)
	case s.Accounts < s.Storage || s.Accounts > maxAccounts:
		return fmt.Errorf("%w: %d accounts, %d of them with storage", ErrBadShape, s.Accounts,
			s.Storage)
	case s.Slots/s.Storage < 10 || s.Slots/s.Storage > 1000:
		return fmt.Errorf("%w: %d slots over %d accounts: mainnet has 59 each", ErrBadShape,
			s.Slots, s.Storage)
	}
	return nil
}
