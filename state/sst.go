package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableBytes is the size of rows at which a table is closed and the next one begun.
const tableBytes = 64 << 20

// tableWriter writes rows in order of key to tables that the database can take in as they are.
type tableWriter struct {
	fs   vfs.FS
	dir  string
	name string // of the files, without number
	opts sstable.WriterOptions
	cut  int // bytes of rows in a table

	w     *sstable.Writer // of the open table, or nil
	n     int             // bytes of rows in it
	last  []byte          // the last key
	any   bool
	paths []string
}

// set writes a row. A key that does not ascend is refused with ErrKeyOrder or ErrDuplicateKey, and
// the writer stays usable; any other error is for good.
func (t *tableWriter) set(key, value []byte) error {
	if t.any {
		switch bytes.Compare(t.last, key) {
		case 0:
			return ErrDuplicateKey
		case 1:
			return ErrKeyOrder
		}
	}
	if t.w == nil {
		if err := t.create(); err != nil {
			return err
		}
	}
	if err := t.w.Set(key, value); err != nil {
		return err
	}
	t.last, t.any = append(t.last[:0], key...), true
	if t.n += len(key) + len(value); t.n >= t.cut {
		return t.finish()
	}
	return nil
}

func (t *tableWriter) create() error {
	path := t.fs.PathJoin(t.dir, fmt.Sprintf("%s-%d.sst", t.name, len(t.paths)))
	f, err := t.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	t.w, t.n = sstable.NewWriter(objstorageprovider.NewFileWritable(f), t.opts), 0
	t.paths = append(t.paths, path)
	return nil
}

// finish closes the open table and syncs it.
func (t *tableWriter) finish() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	return w.Close()
}

// tableOptions are those of tables on the last level, where the database will put them.
func (s *Store) tableOptions() sstable.WriterOptions {
	o := pebbleOptions(&s.opts, s.fs, s.fail)
	o.EnsureDefaults()
	return o.MakeWriterOptions(len(o.Levels)-1, s.db.TableFormat())
}

// wipe removes every row but the `m` rows from the batch's database.
func wipe(b *pebble.Batch) error {
	return errors.Join(
		b.DeleteRange([]byte{0}, []byte{spaceMeta}, nil),
		b.DeleteRange([]byte{spaceMeta + 1}, []byte{0xff}, nil),
	)
}
