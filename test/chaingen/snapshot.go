package chaingen

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state/snapshot"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
)

// WriteSnapshot writes what "geth db export snapshot" writes of the state that the block with a
// number leaves (0 for the genesis). go-ethereum's own snapshot code makes the rows, out of its
// tries.
func (c *Chain) WriteSnapshot(w io.Writer, number uint64) error {
	b, err := c.Block(number)
	if err != nil {
		return err
	}
	db := rawdb.NewMemoryDatabase()
	tdb := triedb.NewDatabase(c.db, triedb.HashDefaults)
	tree, err := snapshot.New(snapshot.Config{CacheSize: 1}, db, tdb, b.Root())
	if err == nil {
		err = tree.Verify(b.Root())
		tree.Release()
	}
	if err = errors.Join(err, tdb.Close()); err != nil {
		return fmt.Errorf("%w at block %d: snapshot: %w", ErrReference, number, err)
	}
	d := dump{w: w}
	d.head("snapshot")
	d.entry(1, rawdb.SnapshotRootKey, nil) // OpBatchDel
	d.rows(db, rawdb.SnapshotAccountPrefix, common.HashLength)
	d.rows(db, rawdb.SnapshotStoragePrefix, 2*common.HashLength)
	return d.err
}

// WriteCodes writes what "geth db export code" writes of the codes of all blocks.
func (c *Chain) WriteCodes(w io.Writer) error {
	d := dump{w: w}
	d.head("code")
	d.rows(c.db, rawdb.CodePrefix, common.HashLength)
	return d.err
}

// dump writes items the way of go-ethereum's ExportChaindata (cmd/utils), which cannot be imported
// without all that the client depends on.
type dump struct {
	w   io.Writer
	err error
}

func (d *dump) items(items ...any) {
	for _, v := range items {
		if d.err == nil {
			d.err = rlp.Encode(d.w, v)
		}
	}
}

func (d *dump) head(kind string) {
	d.items(&struct {
		Magic    string
		Version  uint64
		Kind     string
		UnixTime uint64
	}{Magic: "gethdbdump", Kind: kind})
}

func (d *dump) entry(op byte, key, value []byte) { d.items(op, key, value) }

// rows writes the rows below a prefix whose keys have n bytes behind it, as snapshotIterator and
// codeIterator give them (cmd/geth/dbcmd.go).
func (d *dump) rows(db ethdb.Iteratee, prefix []byte, n int) {
	it := db.NewIterator(prefix, nil)
	defer it.Release()
	for d.err == nil && it.Next() {
		if key := it.Key(); bytes.HasPrefix(key, prefix) && len(key) == len(prefix)+n {
			d.entry(0, key, it.Value()) // OpBatchAdd
		}
	}
	if d.err == nil {
		d.err = it.Error()
	}
}
