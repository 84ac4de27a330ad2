package balbench

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	gethbal "github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
)

const (
	gethHandles = 1000 // files that its database may have open
	// minGethCacheMB is the least cache that its database takes, in mebibytes.
	minGethCacheMB = 16
)

// OpenGeth opens a database of go-ethereum's in dir, or makes one; cacheMB are mebibytes.
func OpenGeth(dir string, cacheMB int) (ethdb.Database, error) {
	kv, err := pebble.New(dir, max(cacheMB, minGethCacheMB), gethHandles, "", false)
	if err != nil {
		return nil, fmt.Errorf("balbench: %s: %w", dir, err)
	}
	return rawdb.NewDatabase(kv), nil
}

// MakeGeth makes a database of go-ethereum's in dir, with the state's flat rows and tries.
func MakeGeth(dir string, cacheMB int, s *State) (db ethdb.Database, err error) {
	if db, err = OpenGeth(dir, cacheMB); err != nil {
		return nil, err
	}
	if err := fillGeth(db, s); err != nil {
		return nil, errors.Join(fmt.Errorf("balbench: %s: %w", dir, err), db.Close())
	}
	return db, nil
}

func fillGeth(db ethdb.Database, s *State) error {
	batch := db.NewBatch()
	flush := func(least int) error {
		if batch.ValueSize() < least {
			return nil
		}
		defer batch.Reset()
		return batch.Write()
	}
	var rows [kinds][]byte
	for k := range kinds {
		rows[k] = types.SlimAccountRLP(s.value(k))
	}
	for i := range s.accounts {
		a := &s.accounts[i]
		rawdb.WriteAccountSnapshot(batch, a.hash, rows[a.kind])
		if a.kind == Contract {
			for _, k := range s.slots {
				rawdb.WriteStorageSnapshot(batch, a.hash, k, genesisSlot)
			}
		}
		if err := flush(8 << 20); err != nil {
			return err
		}
	}
	if err := flush(0); err != nil {
		return err
	}
	if _, err := triedb.GenerateTrie(db, rawdb.PathScheme, s.Root, nil); err != nil {
		return err
	}
	return db.Compact(nil, nil)
}

// DecodeGeth does what go-ethereum does with a list that came with a block: it compares its hash
// with the header's, decodes and validates it.
func DecodeGeth(header *types.Header, raw []byte) (*gethbal.BlockAccessList, error) {
	if h := crypto.Keccak256Hash(raw); h != *header.BlockAccessListHash {
		return nil, fmt.Errorf("balbench: list has hash %v, header %v", h,
			header.BlockAccessListHash)
	}
	var l gethbal.BlockAccessList
	if err := rlp.DecodeBytes(raw, &l); err != nil {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	if err := l.Validate(header.GasLimit, Transactions); err != nil {
		return nil, fmt.Errorf("balbench: %w", err)
	}
	return &l, nil
}

// StateDB applies blocks with go-ethereum's StateDB over its path database, as its parallel block
// processing does: StateDB.ApplyBlockAccessList, then Commit.
type StateDB struct {
	disk   ethdb.Database
	tries  *triedb.Database
	state  gethstate.Database
	config params.ChainConfig
	root   common.Hash
}

// NewStateDB opens the state with the given root, whose flat rows and tries are in the database. It
// closes the database, in any case.
func NewStateDB(disk ethdb.Database, root common.Hash) (*StateDB, error) {
	options := *pathdb.Defaults
	// The caches of a geth started without flags (ethconfig.Defaults), the buffer at its largest.
	options.TrieCleanSize, options.StateCleanSize = 614<<20, 409<<20
	options.WriteBufferSize = 256 << 20
	options.SnapshotNoBuild = true // the flat state is there, and adopted as after a sync
	tries := triedb.NewDatabase(disk, &triedb.Config{PathDB: &options})
	if err := tries.AdoptSyncedState(root); err != nil {
		return nil, errors.Join(err, tries.Close(), disk.Close())
	}
	config := *params.MergedTestChainConfig
	config.AmsterdamTime = new(uint64)
	return &StateDB{disk: disk, tries: tries, root: root, config: config,
		state: gethstate.NewDatabase(tries, gethstate.NewCodeDB(disk))}, nil
}

// Apply checks the list against the header, applies it, and returns the root it comes to.
func (p *StateDB) Apply(header *types.Header, raw []byte) (common.Hash, error) {
	list, err := DecodeGeth(header, raw)
	if err != nil {
		return common.Hash{}, err
	}
	s, err := gethstate.New(p.root, p.state)
	if err != nil {
		return common.Hash{}, fmt.Errorf("balbench: %w", err)
	}
	if err := s.ApplyBlockAccessList(list); err != nil {
		return common.Hash{}, fmt.Errorf("balbench: %w", err)
	}
	rules := p.config.Rules(header.Number, true, header.Time)
	root, err := s.Commit(rules, header.Number.Uint64())
	if err != nil {
		return common.Hash{}, fmt.Errorf("balbench: %w", err)
	}
	p.root = root
	return root, nil
}

// Close writes what it has kept in memory, and closes the database.
func (p *StateDB) Close() error {
	return errors.Join(p.tries.Commit(p.root, false), p.tries.Close(), p.disk.Close())
}

// abandon closes the database without writing what is in memory.
func (p *StateDB) abandon() error { return errors.Join(p.tries.Close(), p.disk.Close()) }
