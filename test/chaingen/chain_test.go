package chaingen

import (
	"bytes"
	"errors"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/holiman/uint256"
)

func TestEqualConfigurationsGiveEqualChains(t *testing.T) {
	for _, family := range FamilyNames() {
		var written [2]string
		for i := range written {
			c, err := Generate(Config{Family: family, Seed: 2, Blocks: 6, Size: 5})
			if err != nil {
				t.Fatal(err)
			}
			written[i] = filesOf(t, c)
		}
		if written[0] != written[1] {
			t.Errorf("%s: the same configuration gave another chain", family)
		}
	}
}

// filesOf gives all that a chain writes.
func filesOf(t *testing.T, c *Chain) string {
	t.Helper()
	var buf bytes.Buffer
	err := errors.Join(c.WriteGenesis(&buf), c.WritePayloads(&buf), c.WriteHeaders(&buf))
	if err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestSeedsGiveDifferentChains(t *testing.T) {
	c := chainOf(t, "mix")
	config := c.Config
	config.Seed++
	other, err := Generate(config)
	if err != nil {
		t.Fatal(err)
	}
	if other.GenesisBlock.Hash() == c.GenesisBlock.Hash() {
		t.Error("two seeds, one genesis")
	}
}

func TestConfigRefusesWhatIsOutOfBounds(t *testing.T) {
	good := Config{Family: "mix", Seed: 0, Blocks: 1, Size: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"nonesuch":    func(c *Config) { c.Family = "nonesuch" },
		"0 blocks":    func(c *Config) { c.Blocks = 0 },
		"many blocks": func(c *Config) { c.Blocks = MaxBlocks + 1 },
		"size 0":      func(c *Config) { c.Size = 0 },
		"large":       func(c *Config) { c.Size = MaxSize + 1 },
	} {
		c := good
		change(&c)
		if err := c.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
		if _, err := Generate(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: Generate: %v, want ErrConfig", name, err)
		}
	}
}

func TestForkSharesTheBlocksUpToTheAncestor(t *testing.T) {
	base := chainOf(t, "mix")
	before := filesOf(t, base)
	const at = 8
	fork, err := Fork(base, at, base.Config)
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(at + 1) {
		a, _ := base.Block(n)
		b, _ := fork.Block(n)
		if a.Hash() != b.Hash() {
			t.Errorf("block %d differs below the ancestor", n)
		}
	}
	for n := uint64(at + 1); n <= uint64(len(base.Blocks)); n++ {
		if base.Blocks[n-1].Hash() == fork.Blocks[n-1].Hash() {
			t.Errorf("block %d is the same on both branches", n)
		}
	}
	if got, want := len(fork.Blocks), at+base.Config.Blocks; got != want {
		t.Errorf("%d blocks, want %d", got, want)
	}
	if got := fork.Blocks[at].ParentHash(); got != base.Blocks[at-1].Hash() {
		t.Errorf("the branch starts on %v", got)
	}
	if filesOf(t, base) != before {
		t.Error("the fork changed its base")
	}
	for _, c := range []*Chain{base, fork} {
		if _, err := Replay(c); err != nil {
			t.Error(err)
		}
	}
}

func TestBranchesCreateSomeAccountsAlikeAndOthersNot(t *testing.T) {
	base := chainOf(t, "creations")
	config := base.Config
	config.Seed, config.Blocks = 99, 7
	fork, err := Fork(base, 5, config)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := Reference(base).At(5)
	a, errA := Reference(base).At(12)
	b, errB := Reference(fork).At(12)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	both, only := 0, 0
	for addr, x := range a {
		switch y := b[addr]; {
		case old[addr] != nil:
		case y == nil:
			only++
		case !reflect.DeepEqual(x, y):
			both++
		}
	}
	if both == 0 || only == 0 {
		t.Errorf("%d accounts differ between the branches, %d are on one only; want some of each",
			both, only)
	}
}

func TestForkWorksAtTheGenesisAndAtTheHead(t *testing.T) {
	base := chainOf(t, "storage")
	for _, at := range []uint64{0, uint64(len(base.Blocks))} {
		fork, err := Fork(base, at, Config{Family: "create-destroy", Blocks: 3, Size: 4})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fork.Head().NumberU64(), at+3; got != want {
			t.Errorf("head %d, want %d", got, want)
		}
		if _, err := Replay(fork); err != nil {
			t.Error(err)
		}
	}
}

func TestForkRefusesWhatTheBaseCannotCarry(t *testing.T) {
	base := chainOf(t, "empty")
	larger := base.Config
	larger.Size++
	for name, err := range map[string]error{
		"beyond the head": second(Fork(base, uint64(len(base.Blocks))+1, base.Config)),
		"larger":          second(Fork(base, 1, larger)),
		"no family":       second(Fork(base, 1, Config{Blocks: 1, Size: 1})),
	} {
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}

func second(_ *Chain, err error) error { return err }

func TestTransactionsThatCannotBeExecutedGiveAnError(t *testing.T) {
	base := chainOf(t, "empty")
	for name, fill := range map[string]func(b *block){
		"a nonce from the future": func(b *block) {
			from := b.sender()
			b.add(from, &types.LegacyTx{Nonce: 1 << 40, To: &from.addr, Gas: transferGas,
				GasPrice: b.gen.BaseFee()})
		},
		"call data of an unknown kind": func(b *block) { args("word") },
	} {
		_, _, err := base.execute(base.GenesisBlock, 2, func(i int, gen *core.BlockGen) {
			if i == 1 {
				fill(&block{gen: gen, world: base.world, rng: rand.New(rand.NewPCG(1, 1))})
			}
		})
		if err == nil || !strings.Contains(err.Error(), "block 2:") {
			t.Errorf("%s: %v, want an error that names block 2", name, err)
		}
	}
}

func TestChecksRefuseBlocksThatBreakTheirPromises(t *testing.T) {
	c := chainOf(t, "transfers")
	b, receipts := c.Blocks[0], c.Receipts[0]
	if err := c.checkBlock(b, receipts); err != nil {
		t.Fatal(err)
	}
	failed := append(types.Receipts{{Status: types.ReceiptStatusFailed}}, receipts[1:]...)
	header := b.Header()
	header.RequestsHash = new(common.Hash)
	requests := types.NewBlockWithHeader(header).WithBody(*b.Body())
	lowGas := b.Header()
	lowGas.GasLimit = 2000 // room for one item in the access list (EIP-7928)
	small := types.NewBlockWithHeader(lowGas).WithBody(*b.Body())
	for name, err := range map[string]error{
		"a failed transaction":   c.checkBlock(b, failed),
		"no list":                c.checkBlock(types.NewBlockWithHeader(b.Header()), nil),
		"the list of another":    c.checkBlock(b.WithAccessList(c.Blocks[1].AccessList()), receipts),
		"requests":               c.checkBlock(requests.WithAccessList(b.AccessList()), receipts),
		"more items than gas/2k": c.checkBlock(small.WithAccessList(b.AccessList()), receipts),
	} {
		if err == nil {
			t.Errorf("%s passed", name)
		}
	}
}

func TestReplayProvesEveryRootAndEndsInGoEthereumsState(t *testing.T) {
	eachFamily(t, func(t *testing.T, c *Chain) {
		got, err := Replay(c)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Reference(c).At(c.Head().NumberU64())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%d accounts, go-ethereum has %d", len(got), len(want))
		}
		for addr, a := range want {
			if !reflect.DeepEqual(got[addr], a) {
				t.Errorf("%v: %+v, go-ethereum has %+v", addr, got[addr], a)
			}
		}
	})
}

func TestReplayTellsAWrongAccessList(t *testing.T) {
	c := chainOf(t, "storage")
	for name, change := range map[string]func(list *bal.BlockAccessList){
		"a row": func(l *bal.BlockAccessList) {
			i := slices.IndexFunc(*l, func(a bal.AccountAccess) bool {
				return len(a.BalanceChanges) > 0
			})
			*l = slices.Delete(*l, i, i+1)
		},
		"a balance": func(l *bal.BlockAccessList) {
			for _, row := range *l {
				for i := range row.BalanceChanges {
					row.BalanceChanges[i].PostBalance = uint256.NewInt(1)
				}
			}
		},
		"a slot": func(l *bal.BlockAccessList) {
			for _, row := range *l {
				for _, sc := range row.StorageChanges {
					sc.SlotChanges[len(sc.SlotChanges)-1].PostValue = uint256.NewInt(1)
				}
			}
		},
	} {
		wrong := *c
		wrong.Blocks = append([]*types.Block(nil), c.Blocks...)
		list := c.Blocks[3].AccessList().Copy()
		change(list)
		wrong.Blocks[3] = c.Blocks[3].WithAccessList(list)
		_, err := Replay(&wrong)
		if !errors.Is(err, ErrWrongRoot) || !strings.Contains(err.Error(), "block 4:") {
			t.Errorf("%s: %v, want ErrWrongRoot at block 4", name, err)
		}
	}
}

func TestReferenceReadsTheGenesisAsItIs(t *testing.T) {
	c := chainOf(t, "empty")
	state, err := Reference(c).At(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(state) != len(c.Genesis.Alloc) {
		t.Errorf("%d accounts, the alloc has %d", len(state), len(c.Genesis.Alloc))
	}
	for addr, want := range c.Genesis.Alloc {
		got := state[addr]
		if got == nil {
			t.Errorf("%v is missing", addr)
			continue
		}
		if got.Nonce != want.Nonce || got.Balance.ToBig().Cmp(want.Balance) != 0 ||
			!bytes.Equal(got.Code, want.Code) || len(got.Storage) != len(want.Storage) {
			t.Errorf("%v: %+v, want %+v", addr, got, want)
		}
		for slot, v := range want.Storage {
			if got.Storage[slot] != v {
				t.Errorf("%v: slot %v is %v, want %v", addr, slot, got.Storage[slot], v)
			}
		}
	}
}

func TestReferenceRefusesBlocksThatAreNotThere(t *testing.T) {
	c := chainOf(t, "empty")
	if _, err := Reference(c).At(uint64(len(c.Blocks)) + 1); err == nil {
		t.Error("a state after the head")
	}
	lost := *c
	genesis := *c.Genesis
	genesis.Alloc = types.GenesisAlloc{common.Address{}: {Balance: new(big.Int)}}
	lost.Genesis = &genesis
	if _, err := Reference(&lost).At(0); !errors.Is(err, ErrReference) {
		t.Errorf("accounts whose address nobody knows: %v, want ErrReference", err)
	}
}
