package bench

import (
	"github.com/balsa-sync/balsa/internal/balbench"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// stateDBPeer applies blocks with go-ethereum's StateDB over its path database.
type stateDBPeer struct{ *balbench.StateDB }

// NewStateDBPeer makes the peer "statedb" with a store in dir, which must not exist.
func NewStateDBPeer(dir string, s Sizes, g *Genesis) (Side, error) {
	disk, err := balbench.MakeGeth(dir, s.CacheMB, g)
	if err != nil {
		return nil, err
	}
	p, err := balbench.NewStateDB(disk, g.Root)
	if err != nil {
		return nil, err
	}
	return stateDBPeer{p}, nil
}

func (stateDBPeer) Name() string { return "geth statedb" }

func (p stateDBPeer) Apply(header *types.Header, raw []byte) (common.Hash, error) {
	return p.StateDB.Apply(header, raw)
}
