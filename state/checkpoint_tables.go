package state

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/balsa-sync/balsa/internal/mutants"
)

// checkpointTableBytes is the size of rows at which a table of a checkpoint is closed: small enough
// that a compaction can take a part of them.
const checkpointTableBytes = 16 << 20

// checkpointFolder holds the tables of a checkpoint until the database has taken them in.
const checkpointFolder = "checkpoint"

// background is for calls that want a context and do not end with a request.
var background = context.Background()

func (s *Store) checkpointDir() string { return s.fs.PathJoin(s.opts.Dir, checkpointFolder) }

// clearCheckpoint removes what a checkpoint left that a crash cut off.
func (s *Store) clearCheckpoint() error { return removeDir(s.fs, s.checkpointDir()) }

// checkpointTables writes the newest version of each of the generation's rows to tables, and
// returns their paths. Each key space has tables of its own: those whose keys ascend with the
// blocks' numbers go to the last level then, and the log's rows lie between none of them.
func (s *Store) checkpointTables(c *checkpoint) ([]string, error) {
	dir := s.checkpointDir()
	if err := errors.Join(removeDir(s.fs, dir), s.fs.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	t := &rowTables{
		fs: s.fs, dir: dir, pace: func() { s.pace(c) },
		opts: s.checkpointOptions(false), raw: s.checkpointOptions(true),
	}
	rows := c.gen.newestPlaces(t.pace)
	for _, space := range []byte(spaces) {
		err := t.space(c, space, rows)
		if err = errors.Join(err, t.finish()); err != nil {
			return nil, errors.Join(err, t.abort())
		}
	}
	return t.paths, nil
}

func (s *Store) checkpointOptions(raw bool) sstable.WriterOptions {
	o := pebbleOptions(&s.opts, s.fs, s.fail)
	o.EnsureDefaults()
	w := o.MakeWriterOptions(0, s.db.TableFormat())
	if raw {
		w.Compression = sstable.NoCompression // hashes
	}
	return w
}

// placed is a row of a generation and the rank of its key.
type placed struct {
	rank  uint64
	place uint32
}

// newestPlaces returns the newest version of each row in the table, in order of key, by key space.
func (g *generation) newestPlaces(pace func()) (rows [numSeekSpaces][]placed) {
	t := g.table.Load()
	for i := range rows {
		rows[i] = make([]placed, 0, g.keys/numSeekSpaces)
	}
	for j := range t.slots {
		s := t.slots[j].Load()
		if s == 0 {
			continue
		}
		key := g.record(uint32(s)).key()
		if space, ok := seekSpaceOf(key[0]); ok {
			rows[space] = append(rows[space], placed{keyRank(key), uint32(s)})
			pace()
		}
	}
	for _, r := range rows {
		slices.SortFunc(r, func(a, b placed) int {
			if a.rank != b.rank {
				return cmp.Compare(a.rank, b.rank)
			}
			return slices.Compare(g.record(a.place).key(), g.record(b.place).key())
		})
	}
	return rows
}

// rowTables writes rows in order of key to tables.
type rowTables struct {
	fs        vfs.FS
	dir       string
	pace      func() // called with each row
	opts, raw sstable.WriterOptions

	w     *sstable.Writer // of the open table, or nil
	n     int             // bytes of rows in it
	paths []string
}

// space writes the rows of a key space.
func (t *rowTables) space(c *checkpoint, space byte, rows [numSeekSpaces][]placed) error {
	if i, ok := seekSpaceOf(space); ok {
		for _, p := range rows[i] {
			r := c.gen.record(p.place)
			if r.deleted() {
				if err := t.set(r.key(), nil); err != nil {
					return err
				}
			} else if err := t.set(r.key(), r.value()); err != nil {
				return err
			}
		}
		return nil
	}
	if space == spaceMeta {
		return errors.Join(
			t.set([]byte(metaCursor), appendCursor(nil, &c.cursor)),
			t.set([]byte(metaLog), binary.BigEndian.AppendUint64(nil, c.logged)))
	}
	few := c.gen.blocks.newest(space)
	slices.SortFunc(few, compareBlockRows)
	for _, r := range few {
		if err := t.set([]byte(r.key), r.value); err != nil {
			return err
		}
	}
	return nil
}

// set writes a row; nil deletes it.
func (t *rowTables) set(key, value []byte) error {
	t.pace()
	if t.w == nil {
		path := t.fs.PathJoin(t.dir, fmt.Sprintf("%06d.sst", len(t.paths)+1))
		f, err := t.fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		o := t.opts
		if key[0] == spaceAccountBranch || key[0] == spaceStorageBranch {
			o = t.raw
		}
		t.w, t.n = sstable.NewWriter(newTableFile(f), o), 0
		t.paths = append(t.paths, path)
	}
	var err error
	if value == nil && mutants.Active == mutants.KeepDeletedRows {
		return nil
	} else if value == nil {
		err = t.w.Delete(key)
	} else {
		err = t.w.Set(key, value)
	}
	if err != nil {
		return err
	}
	if t.n += len(key) + len(value); t.n >= checkpointTableBytes {
		return t.finish()
	}
	return nil
}

// finish closes the open table, which syncs it.
func (t *rowTables) finish() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	if err := w.Close(); err != nil {
		return fmt.Errorf("write table %s: %w", t.paths[len(t.paths)-1], err)
	}
	return nil
}

// abort gives up the open table.
func (t *rowTables) abort() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	return w.Close()
}
