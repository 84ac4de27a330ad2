package bench

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/balsa-sync/balsa/internal/mainnetshape"
)

// FlatSizes says how large the flat state is that tries are built from, and how often.
type FlatSizes struct {
	Shape   mainnetshape.Shape
	Rounds  int
	CacheMB int    // memory of each side's Pebble, in mebibytes
	Dir     string // where the stores lie; "": a temporary folder
}

// DefaultFlatSizes are 300,000 accounts and 2 M slots, distributed like mainnet's.
func DefaultFlatSizes() FlatSizes {
	return FlatSizes{
		Shape:  mainnetshape.Shape{Accounts: 300_000, Storage: 33_900, Slots: 2_000_000, Seed: 1},
		Rounds: 5, CacheMB: 512,
	}
}

// FlatSizesFromEnv reads, over the defaults, BALSA_BENCH_SCALE (of mainnet, "1/1000"), or
// _FLAT_ACCOUNTS, _FLAT_STORAGE (accounts with storage) and _FLAT_SLOTS; _ROUNDS, _CACHE_MB and
// _DIR.
func FlatSizesFromEnv(getenv func(string) string) (FlatSizes, error) {
	s := DefaultFlatSizes()
	var errs []error
	if v := getenv("BALSA_BENCH_SCALE"); v != "" {
		scale, err := mainnetshape.ParseScale(v)
		if err == nil {
			s.Shape, err = mainnetshape.Mainnet(scale)
		}
		errs = append(errs, err)
	}
	number := func(name string, set func(uint64)) {
		v := getenv("BALSA_BENCH_" + name)
		if v == "" {
			return
		}
		n, err := strconv.ParseUint(v, 10, 40)
		if err != nil {
			errs = append(errs, fmt.Errorf("bench: BALSA_BENCH_%s: %w", name, err))
			return
		}
		set(n)
	}
	number("FLAT_ACCOUNTS", func(n uint64) { s.Shape.Accounts = n })
	number("FLAT_STORAGE", func(n uint64) { s.Shape.Storage = n })
	number("FLAT_SLOTS", func(n uint64) { s.Shape.Slots = n })
	number("ROUNDS", func(n uint64) { s.Rounds = int(n) })
	number("CACHE_MB", func(n uint64) { s.CacheMB = int(n) })
	s.Dir = getenv("BALSA_BENCH_DIR")
	if s.Rounds < 1 || s.CacheMB < 16 {
		errs = append(errs, fmt.Errorf("bench: %d rounds, %d MB of cache", s.Rounds, s.CacheMB))
	}
	return s, errors.Join(errs...)
}
