package chaingen

import (
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
)

// chains holds one small chain a family, made when a test first asks for it.
var chains = func() map[string]func() (*Chain, error) {
	m := make(map[string]func() (*Chain, error))
	for _, name := range FamilyNames() {
		m[name] = sync.OnceValues(func() (*Chain, error) {
			return Generate(smallConfig(name))
		})
	}
	return m
}()

func smallConfig(family string) Config {
	return Config{Family: family, Seed: 7, Blocks: 12, Size: 7}
}

func chainOf(t *testing.T, family string) *Chain {
	t.Helper()
	c, err := chains[family]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eachFamily runs a test on the small chain of every family.
func eachFamily(t *testing.T, f func(t *testing.T, c *Chain)) {
	for _, name := range FamilyNames() {
		t.Run(name, func(t *testing.T) { f(t, chainOf(t, name)) })
	}
}

// has and hasNot name what each family must, and must not, contain.
var families = map[string]struct{ has, hasNot []string }{
	"transfers": {
		has:    []string{"transaction", "fee recipient is a target"},
		hasNot: []string{"created", "destroyed", "code deployed", "withdrawal", "failed"},
	},
	"new-accounts": {
		has:    []string{"created"},
		hasNot: []string{"destroyed", "code deployed", "touched in vain", "failed"},
	},
	"value-calls": {
		has:    []string{"created", "touched in vain"},
		hasNot: []string{"destroyed", "code deployed", "failed"},
	},
	"creations": {
		has: []string{"creation", "code deployed", "contract without code", "created with storage",
			"funded, then a contract"},
		hasNot: []string{"destroyed", "failed"},
	},
	"create2": {
		has:    []string{"code deployed", "created with storage"},
		hasNot: []string{"creation", "destroyed", "failed"},
	},
	"authorisations": {
		has: []string{"delegation set", "delegation changed", "delegation cleared",
			"delegation creates", "set and cleared in one transaction", "code set to empty",
			"storage under a delegation", "storage outlives its delegation"},
		hasNot: []string{"code deployed", "destroyed", "failed"},
	},
	"storage": {
		has: []string{"slot written", "slot overwritten", "slot cleared", "slot read",
			"slot back where it was", "storage emptied", "one slot emptied", "storage refilled",
			"failed"},
		hasNot: []string{"created", "destroyed", "code deployed"},
	},
	"create-destroy": {
		has: []string{"destroyed", "created and drained in one block", "destroyed unseen",
			"destroyed, balance stays", "creation"},
		hasNot: []string{"code deployed", "failed"},
	},
	"withdrawals": {
		has: []string{"withdrawal creates", "withdrawal to an account",
			"zero withdrawal to nobody", "zero withdrawal to an account"},
		hasNot: []string{"transaction"},
	},
	"empty": {
		has:    []string{"empty block"},
		hasNot: []string{"transaction", "withdrawal", "created"},
	},
}

func TestFamiliesContainWhatTheySay(t *testing.T) {
	eachFamily(t, func(t *testing.T, c *Chain) {
		want, ok := families[c.Config.Family]
		if !ok {
			if c.Config.Family != "mix" {
				t.Fatal("no expectation for the family")
			}
			return // TestSampleHasSomethingOfEverything
		}
		counts := takeCensus(t, c, 1)
		t.Log(counts)
		for _, name := range want.has {
			if counts[name] == 0 {
				t.Errorf("no %q", name)
			}
		}
		for _, name := range want.hasNot {
			if counts[name] > 0 {
				t.Errorf("%q %d times", name, counts[name])
			}
		}
	})
}

func TestCreate2RepeatsOneCodeAThousandTimesInABlock(t *testing.T) {
	t.Parallel()
	c, err := Generate(Config{Family: "create2", Seed: 3, Blocks: 1, Size: 440})
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[string]int)
	for _, row := range *c.Blocks[0].AccessList() {
		for _, cc := range row.CodeChanges {
			times[string(cc.NewCode)]++
		}
	}
	if n := times[string(twinCode(0))]; n < 1000 {
		t.Errorf("the same code %d times, want 1000", n)
	}
}

func TestTheSmallestChainsWork(t *testing.T) {
	for _, family := range FamilyNames() {
		c, err := Generate(Config{Family: family, Blocks: 1, Size: 1})
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := Replay(c); err != nil {
			t.Errorf("%s: %v", family, err)
		}
	}
}

func TestBlocksHaveTheSizeAskedFor(t *testing.T) {
	eachFamily(t, func(t *testing.T, c *Chain) {
		const mostExtra = 3 // a recipe of three transactions begun at the last place, or one more
		for _, b := range c.Blocks {
			n := len(b.Transactions()) + len(b.Withdrawals())
			low, high := c.Config.Size, c.Config.Size+mostExtra
			switch c.Config.Family {
			case "mix":
				low, high = 0, 2*high
			case "empty":
				low, high = 0, 0
			}
			if n < low || n > high {
				t.Errorf("block %d: %d, want %d to %d", b.NumberU64(), n, low, high)
			}
		}
	})
}

func TestBlocksStayBelowTheGasTarget(t *testing.T) {
	eachFamily(t, func(t *testing.T, c *Chain) {
		for _, b := range c.Blocks {
			if b.GasUsed() > b.GasLimit()/2 {
				t.Errorf("block %d uses %d of %d gas", b.NumberU64(), b.GasUsed(), b.GasLimit())
			}
		}
	})
}

func TestGoEthereumImportsEveryFamily(t *testing.T) {
	eachFamily(t, func(t *testing.T, c *Chain) {
		bc, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), c.Genesis,
			beacon.New(ethash.NewFaker()), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer bc.Stop()
		// Executes every block and compares roots, receipts and access lists with the header's.
		if n, err := bc.InsertChain(c.Blocks); err != nil {
			t.Fatalf("block %d: %v", n+1, err)
		}
		if got, want := bc.CurrentBlock().Hash(), c.Head().Hash(); got != want {
			t.Errorf("head %v, want %v", got, want)
		}
	})
}

func TestOneSeedAndSizeHaveOneGenesis(t *testing.T) {
	want := chainOf(t, "mix").GenesisBlock.Hash()
	eachFamily(t, func(t *testing.T, c *Chain) {
		if got := c.GenesisBlock.Hash(); got != want {
			t.Errorf("genesis %v, mix has %v", got, want)
		}
	})
}
