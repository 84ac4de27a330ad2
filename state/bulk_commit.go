package state

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// Commit makes what was built the state at c, the build's target, which h is the header of. For a
// rebuild h may be nil. Rows that were not flushed are not in it.
//
// It is one atomic step: the database takes in the tables of branch rows in the place of all branch
// rows it has, together with tables that hold corrected accounts, the deletion of dropped slots,
// header, cursor and phase, and the deletion of the manifest. The build is ended, whatever Commit
// returns; after an error the next one goes on where this one was.
func (b *Bulk) Commit(h *types.Header, c Cursor) error {
	b.s.writing.Lock()
	defer b.s.writing.Unlock()
	err := b.enter()
	if err != nil {
		return err
	}
	err = b.commit(h, c)
	b.leave()
	if e := b.pause(); e != nil {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("commit bulk build at %v: %w", c, err)
	}
	if err := removeDir(b.fs, b.dir); err != nil { // the next Open tries again
		b.s.log.Warn("the build's folder is left", "err", err)
	}
	return nil
}

func (b *Bulk) commit(h *types.Header, c Cursor) error {
	header, err := b.checkCommit(h, c)
	if err != nil {
		return err
	}
	s := b.s
	if err := s.mayWrite(); err != nil {
		return err
	}
	s.mu.Lock()
	_, err = s.currentLocked()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := b.sync(); err != nil {
		return err
	}
	tables, err := b.finalTables(header, c)
	if err != nil {
		return err
	}
	if err := syncDir(b.fs, b.dir); err != nil {
		return fmt.Errorf("sync %s: %w", b.dir, err)
	}
	if err := s.fail.run(s.db.Flush); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	paths := b.paths(tables)
	branches := pebble.KeyRange{
		Start: []byte{spaceAccountBranch}, End: []byte{spaceStorageBranch + 1},
	}
	err = s.fail.run(func() error {
		_, err := s.db.IngestAndExcise(b.ctx(), paths, nil, nil, branches)
		return err
	})
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return b.publish(c)
}

// checkCommit returns the header's encoding, nil for a rebuild.
func (b *Bulk) checkCommit(h *types.Header, c Cursor) ([]byte, error) {
	if c != b.o.Target {
		return nil, fmt.Errorf("%w: the build is of %v", ErrNotChild, b.o.Target)
	}
	if b.rebuild && h == nil {
		return nil, nil
	}
	switch {
	case h == nil || h.Number == nil || !h.Number.IsUint64() || h.Number.Uint64() != c.Number:
		return nil, fmt.Errorf("%w: header number", ErrNotChild)
	case h.Root != c.Root:
		return nil, fmt.Errorf("%w: header root %x", ErrNotChild, h.Root)
	}
	if hash := h.Hash(); hash != c.Hash {
		return nil, fmt.Errorf("%w: header hash %x", ErrNotChild, hash)
	}
	if b.rebuild {
		return nil, nil
	}
	header, err := rlp.EncodeToBytes(h)
	if err != nil {
		return nil, fmt.Errorf("encode header: %w", err)
	}
	return header, nil
}

// finalTables makes the tables that the database will take in, none of which overlap.
func (b *Bulk) finalTables(header []byte, c Cursor) ([]tableMeta, error) {
	b.mu.Lock()
	tables := b.tables
	b.mu.Unlock()
	all, err := b.disjoint(tables)
	if err != nil {
		return nil, err
	}
	for _, make := range []func(t *tableWriter) error{
		b.correctAccounts,
		b.dropSlots,
		func(t *tableWriter) error { return b.stateRows(t, header, c) },
	} {
		t := &tableWriter{b: b, opts: &b.flatOptions, cut: tableBytes}
		if err := make(t); err != nil {
			t.discard()
			return nil, err
		}
		done, err := t.take()
		if err != nil {
			return nil, err
		}
		all = append(all, done...)
	}
	return all, nil
}

// correctAccounts writes the rows of accounts whose storage root is another one.
func (b *Bulk) correctAccounts(t *tableWriter) error {
	it, err := b.s.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{spaceAccount}, UpperBound: []byte{spaceAccount + 1},
	})
	if err != nil {
		return readError(err)
	}
	var buf keyBuf
	var row [maxAccountLen]byte
	err = b.s.manifestRows(metaRoot, func(key, root []byte) error {
		account := common.Hash(key[len(metaRoot):])
		if len(root) != common.HashLength {
			return fmt.Errorf("%w: root of account %x", errManifest, account)
		}
		key = appendHashKey(buf[:0], spaceAccount, &account)
		if !it.SeekGE(key) || string(it.Key()) != string(key) {
			return errors.Join(readError(it.Error()),
				fmt.Errorf("storage root of account %x: %w", account, ErrNoAccount))
		}
		a, err := decodeAccountRow(&account, it.Value())
		if err != nil || a.StorageRoot == common.Hash(root) {
			return err
		}
		a.StorageRoot = common.Hash(root)
		return t.set(key, a.AppendSlim(row[:0]))
	})
	return errors.Join(err, readError(it.Close()))
}

// dropSlots writes the deletion of dropped slots.
func (b *Bulk) dropSlots(t *tableWriter) error {
	var buf keyBuf
	return b.s.manifestRows(metaDrop, func(key, _ []byte) error {
		account := common.Hash(key[len(metaDrop):])
		start := appendHashKey(buf[:0], spaceSlot, &account)
		return t.deleteRange(start, successor(start))
	})
}

// stateRows writes what makes the rows a state: a table for each key space, in order.
func (b *Bulk) stateRows(t *tableWriter, header []byte, c Cursor) error {
	type row struct{ key, value []byte }
	rows := []row{}
	if !b.rebuild {
		number := appendUint64(nil, c.Number)
		rows = append(rows,
			row{appendNumberHashKey(nil, spaceHeader, c.Number, &c.Hash), header},
			row{[]byte(metaCursor), appendCursor(nil, &c)})
		b.mu.Lock()
		if b.noCodes {
			rows = append(rows, row{[]byte(metaNoCodes), []byte{1}})
		}
		b.mu.Unlock()
		rows = append(rows,
			row{[]byte(metaPhase), []byte{byte(phaseReady)}},
			row{appendHashKey(nil, spaceNumber, &c.Hash), number},
		)
	}
	for i, r := range rows {
		if i > 0 && rows[i-1].key[0] != r.key[0] {
			if err := t.finish(); err != nil {
				return err
			}
		}
		if err := t.set(r.key, r.value); err != nil {
			return err
		}
	}
	return errors.Join(t.finish(), t.deleteRange([]byte(metaBuildSpace), []byte(metaBuildEnd)))
}

// publish shows the state that was just written.
func (b *Bulk) publish(c Cursor) error {
	s := b.s
	at := maybeCursor{c, true}
	if err := s.flush(at); err != nil {
		s.fail.set(err) // the rows are there; what is in memory does not match them
		return s.fail.err()
	}
	s.mu.Lock()
	old := s.view
	s.view, s.cursor, s.built, s.chainID = nil, c, true, b.o.ChainID
	s.recent.start(s.keepBytes())
	s.mu.Unlock()
	s.drop(old)
	return nil
}
