package chaingen

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
)

// ErrGenerate is wrapped by the errors of chains that could not be made as asked, or that break
// a rule that every chain of this package keeps. It is a fault of this package.
var ErrGenerate = errors.New("chaingen: generation failed")

// Chain is a chain from its genesis on, with the state of every block.
type Chain struct {
	// Config is what the chain, or the branch on top of its ancestor, was made of.
	Config  Config
	Genesis *core.Genesis
	// GenesisBlock is the block of Genesis, number 0.
	GenesisBlock *types.Block
	// Blocks are the blocks 1, 2, ...; each has its AccessList.
	Blocks []*types.Block
	// Receipts are those of the transactions of Blocks, one list a block.
	Receipts []types.Receipts

	world *world
	db    ethdb.Database // go-ethereum's nodes and codes of all states, by hash
}

// Generate makes a chain on a genesis of its own.
func Generate(c Config) (*Chain, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	w := newWorld(c.Seed, c.Size)
	genesis := w.genesis()
	db := rawdb.NewMemoryDatabase()
	tdb := triedb.NewDatabase(db, triedb.HashDefaults)
	root, err := genesis.Commit(db, tdb, nil)
	if err = errors.Join(err, tdb.Close()); err != nil {
		return nil, fmt.Errorf("%w: genesis: %w", ErrGenerate, err)
	}
	base := &Chain{Config: c, Genesis: genesis, GenesisBlock: root, world: w, db: db}
	return base.extend(0, c, 0)
}

// Fork makes another branch: the blocks of base up to number at (0 for the genesis), then
// c.Blocks new ones. It leaves base as it is. c.Family and c.Seed may differ from the base's;
// c.Size may not be larger, since the genesis fits the base's size. Even with base's own
// configuration the new blocks differ from base's.
func Fork(base *Chain, at uint64, c Config) (*Chain, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if at > uint64(len(base.Blocks)) {
		return nil, fmt.Errorf("%w: fork at block %d of a chain of %d", ErrConfig, at,
			len(base.Blocks))
	}
	if c.Size > base.world.size {
		return nil, fmt.Errorf("%w: fork of size %d on a genesis for %d", ErrConfig, c.Size,
			base.world.size)
	}
	return base.extend(at, c, at+1)
}

// Block gives the block with a number, the genesis block for 0.
func (c *Chain) Block(number uint64) (*types.Block, error) {
	switch {
	case number == 0:
		return c.GenesisBlock, nil
	case number <= uint64(len(c.Blocks)):
		return c.Blocks[number-1], nil
	default:
		return nil, fmt.Errorf("%w: block %d of a chain of %d", ErrConfig, number, len(c.Blocks))
	}
}

// Head gives the last block.
func (c *Chain) Head() *types.Block {
	if len(c.Blocks) == 0 {
		return c.GenesisBlock
	}
	return c.Blocks[len(c.Blocks)-1]
}

// AccessListRLP gives the raw block access list of a block, the bytes that its header hashes.
func AccessListRLP(b *types.Block) ([]byte, error) {
	if b.AccessList() == nil {
		return nil, fmt.Errorf("%w: block %d has no access list", ErrGenerate, b.NumberU64())
	}
	return rlp.EncodeToBytes(b.AccessList())
}

// extend makes c.Blocks blocks on top of block number at; stream keeps the draws of branches
// apart.
func (base *Chain) extend(at uint64, c Config, stream uint64) (*Chain, error) {
	family, _ := familyByName(c.Family)
	parent, err := base.Block(at)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(c.Seed, stream))
	fill := func(_ int, gen *core.BlockGen) {
		b := &block{gen: gen, world: base.world, rng: rng, number: gen.Number().Uint64()}
		gen.SetParentBeaconRoot(base.world.digest("beacon root", rng.Uint64(), b.number))
		if family.Name != "mix" {
			b.setCoinbase(b.proposer())
		}
		family.fill(b, c.Size)
	}
	blocks, receipts, err := base.execute(parent, c.Blocks, fill)
	if err != nil {
		return nil, fmt.Errorf("%w: family %q, seed %d: %w", ErrGenerate, c.Family, c.Seed, err)
	}
	chain := *base
	chain.Config = c
	chain.Blocks = append(base.Blocks[:at:at], blocks...)
	chain.Receipts = append(base.Receipts[:at:at], receipts...)
	for i := range blocks {
		if err := chain.checkBlock(blocks[i], receipts[i]); err != nil {
			return nil, fmt.Errorf("%w: family %q, seed %d, block %d: %w", ErrGenerate, c.Family,
				c.Seed, blocks[i].NumberU64(), err)
		}
	}
	return &chain, nil
}

// execute runs core.GenerateChain, which reports by panicking: what it says about transactions
// that cannot be executed becomes an error here.
func (base *Chain) execute(parent *types.Block, n int, fill func(int, *core.BlockGen)) (
	blocks []*types.Block, receipts []types.Receipts, err error,
) {
	number := parent.NumberU64()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("block %d: %w", number, r.err)
		default:
			err = fmt.Errorf("block %d: %v", number, r)
		}
	}()
	engine := beacon.New(ethash.NewFaker())
	blocks, receipts = core.GenerateChain(base.world.config, parent, engine, base.db, n,
		func(i int, gen *core.BlockGen) {
			number = gen.Number().Uint64()
			fill(i, gen)
		})
	return blocks, receipts, nil
}

// checkBlock holds a block against what every chain of this package promises.
func (c *Chain) checkBlock(b *types.Block, receipts types.Receipts) error {
	list := b.AccessList()
	if list == nil || b.BlockAccessListHash() == nil {
		return errors.New("no block access list")
	}
	if err := list.Validate(b.GasLimit(), len(b.Transactions())); err != nil {
		return err
	}
	if got, want := list.Hash(), *b.BlockAccessListHash(); got != want {
		return fmt.Errorf("access list hash %v, the header says %v", got, want)
	}
	// The payload writers say that there are none.
	if h := b.RequestsHash(); h == nil || *h != types.EmptyRequestsHash {
		return errors.New("execution requests")
	}
	for i, r := range receipts {
		to := b.Transactions()[i].To()
		reverts := to != nil && *to == c.world.reverter
		if (r.Status == types.ReceiptStatusFailed) != reverts {
			return fmt.Errorf("transaction %d: status %d", i, r.Status)
		}
	}
	return nil
}
