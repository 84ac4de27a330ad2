package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"

	"github.com/balsa-sync/balsa/internal/balbench"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// generatePeer builds all tries from flat rows with go-ethereum's triedb.GenerateTrie. Each run has
// a copy of the flat rows: what a run before has written does not slow down the next.
type generatePeer struct {
	flat    string // the database with flat rows alone, closed
	copies  string // folder for copies
	cacheMB int
	root    common.Hash
}

// newGeneratePeer writes the state's flat rows into dir, which must not exist, and computes its
// root with StackTries meanwhile. The rows have the right storage roots, so that GenerateTrie has
// none to correct.
func newGeneratePeer(dir string, s FlatSizes, state *mainnetshape.State) (*generatePeer, error) {
	p := &generatePeer{flat: filepath.Join(dir, "flat"), copies: filepath.Join(dir, "copies"),
		cacheMB: s.CacheMB}
	if err := os.MkdirAll(p.copies, 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	db, err := p.open(p.flat)
	if err != nil {
		return nil, err
	}
	if p.root, err = writeFlat(db, state); err == nil {
		err = db.Compact(nil, nil)
	}
	return p, errors.Join(err, db.Close())
}

func (p *generatePeer) open(dir string) (ethdb.Database, error) {
	return balbench.OpenGeth(dir, p.cacheMB)
}

// writeFlat writes the rows of a snapshot and returns the state root.
func writeFlat(db ethdb.Database, state *mainnetshape.State) (common.Hash, error) {
	batch := db.NewBatch()
	flush := func(least int) error {
		if batch.ValueSize() < least {
			return nil
		}
		defer batch.Reset()
		return batch.Write()
	}
	accounts, storage := trie.NewStackTrie(nil), trie.NewStackTrie(nil)
	for w := state.Walk(); w.Next(); {
		storage.Reset()
		for st := w.Storage(); st.Next(); {
			if err := storage.Update(st.Slot[:], st.Value); err != nil {
				return common.Hash{}, err
			}
			rawdb.WriteStorageSnapshot(batch, w.Hash, st.Slot, st.Value)
			if err := flush(8 << 20); err != nil {
				return common.Hash{}, err
			}
		}
		if w.Slots > 0 {
			w.Account.StorageRoot = storage.Hash()
		}
		rawdb.WriteAccountSnapshot(batch, w.Hash, w.Account.AppendSlim(nil))
		if err := accounts.Update(w.Hash[:], w.Account.AppendFull(nil)); err != nil {
			return common.Hash{}, err
		}
	}
	return accounts.Hash(), flush(0)
}

// side is what is measured: from opening the database with the flat rows alone to having closed it
// with all trie nodes on the disk.
func (p *generatePeer) side() measure.Side {
	return measure.Side{Name: "geth GenerateTrie", Run: p.run}
}

func (p *generatePeer) run(ctx context.Context) (s measure.Sample, err error) {
	dir := filepath.Join(p.copies, "run")
	if err := balbench.Clone(p.flat, dir); err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	measure.Settle()
	if s, err = measure.Run(func() error { return p.generate(ctx, dir) }); err != nil {
		return s, fmt.Errorf("bench: GenerateTrie: %w", err)
	}
	return s, p.check(dir)
}

func (p *generatePeer) generate(ctx context.Context, dir string) error {
	db, err := p.open(dir)
	if err != nil {
		return err
	}
	_, err = triedb.GenerateTrie(db, rawdb.PathScheme, p.root, ctx.Done())
	if err == nil {
		err = db.SyncKeyValue() // Balsa's rows are synced too
	}
	return errors.Join(err, db.Close())
}

// check reads the root from the database again.
func (p *generatePeer) check(dir string) error {
	db, err := p.open(dir)
	if err != nil {
		return err
	}
	top := rawdb.ReadAccountTrieNode(db, nil)
	if root := crypto.Keccak256Hash(top); root != p.root {
		err = fmt.Errorf("bench: go-ethereum's root node has hash %v, want %v", root, p.root)
	}
	return errors.Join(err, db.Close())
}
