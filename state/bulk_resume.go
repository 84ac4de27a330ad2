package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// resume goes on with the build that the manifest tells of.
func (b *Bulk) resume() error {
	if err := b.makeDir(); err != nil {
		return err
	}
	var ranges []KeyRange
	err := errors.Join(
		b.s.manifestRows(metaTable, func(key, row []byte) error {
			t, err := decodeTableRow(key, row)
			b.tables = append(b.tables, t)
			return err
		}),
		b.s.manifestRows(metaRange, func(key, _ []byte) error {
			r, err := decodeRangeKey(key)
			ranges = append(ranges, r)
			return err
		}),
	)
	if err != nil {
		return err
	}
	void, err := b.checkTables()
	if err != nil {
		return err
	}
	kept, gone := consistent(b.tables, ranges, void)
	if err := b.forget(void, gone); err != nil {
		return err
	}
	tables := b.tables[:0]
	for i := range b.tables {
		if !void[b.tables[i].id] {
			tables = append(tables, b.tables[i])
		}
	}
	b.tables, b.built = tables, mergeRanges(kept)
	if err := b.sweep(); err != nil {
		return err
	}
	return b.load.resume()
}

// checkTables returns the numbers of the tables that do not count: missing or damaged ones, and
// those of the account trie, which is always built as a whole.
func (b *Bulk) checkTables() (void map[uint64]bool, err error) {
	void = make(map[uint64]bool)
	for i := range b.tables {
		t := &b.tables[i]
		b.table = max(b.table, t.id)
		if t.first[0] == spaceAccountBranch {
			void[t.id] = true
			continue
		}
		err := b.checkTable(t)
		switch {
		case err == nil:
		case errors.Is(err, ErrCorrupt), errors.Is(err, fs.ErrNotExist):
			b.s.log.Warn("a table of the build is lost; its accounts are built again", "err", err)
			void[t.id] = true
		default:
			return nil, err
		}
	}
	return void, nil
}

// checkTable reads the whole table.
func (b *Bulk) checkTable(t *tableMeta) error {
	r, err := b.openTable(t)
	if err != nil {
		return err
	}
	err = readError(r.r.ValidateBlockChecksums())
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("check table %s: %w", b.path(t.id), err)
	}
	return nil
}

// consistent drops ranges until each is whole, and marks tables void until each has rows of
// finished accounts alone. A table may have rows of several ranges; where it is void, all of them
// are to be built again.
func consistent(tables []tableMeta, ranges []KeyRange, void map[uint64]bool) (
	kept, gone []KeyRange) {
	handled := make(map[uint64]bool) // void tables whose ranges are dropped
	kept = ranges
	for changed := true; changed; {
		changed = false
		whole := mergeRanges(append([]KeyRange(nil), kept...))
		for i := range tables {
			t := &tables[i]
			if t.first[0] != spaceStorageBranch {
				continue
			}
			first, last := t.first[1:accountKeyLen], t.last[1:accountKeyLen]
			if n := findRange(whole, first); n < 0 || n != findRange(whole, last) {
				void[t.id] = true
			}
			if !void[t.id] || handled[t.id] {
				continue
			}
			handled[t.id], changed = true, true
			var rest []KeyRange
			for _, r := range kept {
				if bytes.Compare(r.From[:], last) <= 0 && bytes.Compare(r.To[:], first) >= 0 {
					gone = append(gone, r)
				} else {
					rest = append(rest, r)
				}
			}
			kept = rest
		}
	}
	return kept, gone
}

// forget removes tables and ranges from the manifest.
func (b *Bulk) forget(void map[uint64]bool, gone []KeyRange) error {
	if len(void) == 0 && len(gone) == 0 {
		return nil
	}
	return b.s.write(func(batch *pebble.Batch) error {
		var errs error
		for id := range void {
			errs = errors.Join(errs, batch.Delete(tableKey(id), nil))
		}
		for i := range gone {
			errs = errors.Join(errs, batch.Delete(rangeKey(&gone[i]), nil))
		}
		return errs
	})
}

// sweep removes files that the manifest does not name.
func (b *Bulk) sweep() error {
	names, err := b.fs.List(b.dir)
	if err != nil {
		return err
	}
	keep := make(map[string]bool)
	for i := range b.tables {
		keep[tableName(b.tables[i].id)] = true
	}
	for _, name := range names {
		if keep[name] {
			continue
		}
		if err := b.fs.RemoveAll(b.fs.PathJoin(b.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// keepBuild removes what is left of a build that nobody can go on with. It runs when a store is
// opened for writing.
func (s *Store) keepBuild() error {
	row, ok, err := getRow(s.db, []byte(metaBuild))
	if err != nil {
		return err
	}
	if ok {
		o, rebuild, known := decodeRecord(row)
		if known && rebuild == s.built && (!rebuild || o.Target == s.cursor) {
			return nil
		}
		if err := s.write(forgetBuild); err != nil {
			return err
		}
	}
	return removeDir(s.fs, s.bulkDir())
}

// BuildProgress is how far a build has come.
type BuildProgress struct {
	BulkOptions
	Rebuild bool   // of a store that has a state
	Ranges  int    // of accounts whose storage tries are finished
	Tables  int    // of branch rows
	Rows    uint64 // branch rows in them
	Bytes   uint64 // of their files
}

// Build says how far the build has come that is open, or was cut off; false if there is none.
func (s *Store) Build() (p BuildProgress, ok bool, err error) {
	row, ok, err := getRow(s.db, []byte(metaBuild))
	if err != nil || !ok {
		return p, false, err
	}
	if p.BulkOptions, p.Rebuild, ok = decodeRecord(row); !ok {
		return p, false, nil
	}
	var ranges []KeyRange
	err = errors.Join(
		s.manifestRows(metaTable, func(key, row []byte) error {
			t, err := decodeTableRow(key, row)
			p.Tables++
			p.Rows += t.rows
			p.Bytes += t.size
			return err
		}),
		s.manifestRows(metaRange, func(key, _ []byte) error {
			r, err := decodeRangeKey(key)
			ranges = append(ranges, r)
			return err
		}),
	)
	p.Ranges = len(mergeRanges(ranges))
	return p, err == nil, err
}
