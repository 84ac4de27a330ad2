package bench

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	gethbal "github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
)

// openGeth makes a go-ethereum database in dir, which must not exist, with flat state and tries.
func openGeth(dir string, s Sizes, g *Genesis) (ethdb.Database, error) {
	kv, err := pebble.New(dir, s.CacheMB, 1000, "", false)
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", dir, err)
	}
	db := rawdb.NewDatabase(kv)
	if err := fillGeth(db, g); err != nil {
		db.Close()
		return nil, fmt.Errorf("bench: %s: %w", dir, err)
	}
	return db, nil
}

func fillGeth(db ethdb.Database, g *Genesis) error {
	batch := db.NewBatch()
	plain := types.SlimAccountRLP(g.account(false))
	contract := types.SlimAccountRLP(g.account(true))
	for i := range g.Accounts {
		a := &g.Accounts[i]
		if !a.Contract {
			rawdb.WriteAccountSnapshot(batch, a.Hash, plain)
		} else {
			rawdb.WriteAccountSnapshot(batch, a.Hash, contract)
			for _, s := range g.Slots {
				rawdb.WriteStorageSnapshot(batch, a.Hash, s, genesisSlot)
			}
		}
		if batch.ValueSize() > 8<<20 || i == len(g.Accounts)-1 {
			if err := batch.Write(); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	if _, err := triedb.GenerateTrie(db, rawdb.PathScheme, g.Root, nil); err != nil {
		return err
	}
	return db.Compact(nil, nil)
}

// decodeGeth does what go-ethereum does with a list that came with a block: it compares its hash
// with the header's, decodes and validates it.
func decodeGeth(header *types.Header, raw []byte) (*gethbal.BlockAccessList, error) {
	if h := crypto.Keccak256Hash(raw); h != *header.BlockAccessListHash {
		return nil, fmt.Errorf("bench: list has hash %v, header %v", h, header.BlockAccessListHash)
	}
	var l gethbal.BlockAccessList
	if err := rlp.DecodeBytes(raw, &l); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := l.Validate(header.GasLimit, Transactions); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return &l, nil
}
