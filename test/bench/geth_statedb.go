package bench

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
)

// stateDBPeer applies blocks with go-ethereum's StateDB over its path database.
type stateDBPeer struct {
	disk   ethdb.Database
	tries  *triedb.Database
	state  state.Database
	config params.ChainConfig
	root   common.Hash
}

// NewStateDBPeer makes the peer "statedb" with a store in dir, which must not exist.
func NewStateDBPeer(dir string, s Sizes, g *Genesis) (Side, error) {
	disk, err := openGeth(dir, s, g)
	if err != nil {
		return nil, err
	}
	options := *pathdb.Defaults
	// The caches of a geth started without flags (ethconfig.Defaults), the buffer at its largest.
	options.TrieCleanSize, options.StateCleanSize = 614<<20, 409<<20
	options.WriteBufferSize = 256 << 20
	options.SnapshotNoBuild = true // the flat state is there, and adopted as after a sync
	tries := triedb.NewDatabase(disk, &triedb.Config{PathDB: &options})
	if err := tries.AdoptSyncedState(g.Root); err != nil {
		return nil, errors.Join(err, tries.Close(), disk.Close())
	}
	config := *params.MergedTestChainConfig
	config.AmsterdamTime = new(uint64)
	return &stateDBPeer{disk: disk, tries: tries, root: g.Root, config: config,
		state: state.NewDatabase(tries, state.NewCodeDB(disk))}, nil
}

func (p *stateDBPeer) Name() string { return "geth statedb" }

func (p *stateDBPeer) Apply(header *types.Header, raw []byte) (common.Hash, error) {
	list, err := decodeGeth(header, raw)
	if err != nil {
		return common.Hash{}, err
	}
	s, err := state.New(p.root, p.state)
	if err != nil {
		return common.Hash{}, fmt.Errorf("bench: %w", err)
	}
	if err := s.ApplyBlockAccessList(list); err != nil {
		return common.Hash{}, fmt.Errorf("bench: %w", err)
	}
	rules := p.config.Rules(header.Number, true, header.Time)
	root, err := s.Commit(rules, header.Number.Uint64())
	if err != nil {
		return common.Hash{}, fmt.Errorf("bench: %w", err)
	}
	p.root = root
	return root, nil
}

func (p *stateDBPeer) Close() error {
	return errors.Join(p.tries.Commit(p.root, false), p.tries.Close(), p.disk.Close())
}
