package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableBytes is the size of rows at which a table is closed and the next one begun.
const tableBytes = 64 << 20

// tableMeta is a finished table of a build.
type tableMeta struct {
	id    uint64 // names the file
	size  uint64 // bytes of the file
	rows  uint64
	first []byte     // the least key
	last  []byte     // the greatest
	late  *tableFile // is to be synced yet; nil: it is durable
}

// tableWriter writes rows in order of key to one table after the other, in a form that the database
// can take in as they are. What it writes goes past the guarding file system: an error here is the
// caller's, and does not fail the store.
type tableWriter struct {
	b    *Bulk
	opts *sstable.WriterOptions
	cut  int  // bytes of rows in a table
	late bool // tables are not synced: that is left to syncTables

	w    *sstable.Writer // of the open table, or nil
	n    int             // bytes of rows in it
	open tableMeta
	done []tableMeta // finished since they were taken
	err  error       // of the first failed write
}

// set writes a row. A key that does not ascend is refused with ErrKeyOrder or ErrDuplicateKey, and
// the writer stays usable; any other error is for good.
func (t *tableWriter) set(key, value []byte) error {
	if t.err != nil {
		return t.err
	}
	if t.w == nil {
		if err := t.create(key); err != nil {
			return err
		}
	} else if c := bytes.Compare(t.open.last, key); c >= 0 {
		return orderError(c)
	}
	if err := t.w.Set(key, value); err != nil {
		return t.fail(err)
	}
	return t.added(key, len(key)+len(value))
}

func orderError(c int) error {
	if c == 0 {
		return ErrDuplicateKey
	}
	return ErrKeyOrder
}

// added counts a row of n bytes, and closes the table that it fills.
func (t *tableWriter) added(key []byte, n int) error {
	t.open.last = append(t.open.last[:0], key...)
	t.open.rows++
	if t.n += n; t.n >= t.cut {
		return t.finish()
	}
	return nil
}

// deleteRange writes the deletion of the rows from start on and below end.
func (t *tableWriter) deleteRange(start, end []byte) error {
	if t.err != nil {
		return t.err
	}
	if t.w == nil {
		if err := t.create(start); err != nil {
			return err
		}
	}
	if err := t.w.DeleteRange(start, end); err != nil {
		return t.fail(err)
	}
	return t.added(end, len(start)+len(end))
}

func (t *tableWriter) create(first []byte) error {
	if err := t.b.s.fail.err(); err != nil {
		return err
	}
	t.open = tableMeta{id: t.b.nextTable(), first: bytes.Clone(first)}
	f, err := t.b.fs.Create(t.b.path(t.open.id), vfs.WriteCategoryUnspecified)
	if err != nil {
		return t.fail(err)
	}
	file := newTableFile(f)
	if t.late {
		file.late, t.open.late = true, file
	}
	t.w, t.n = sstable.NewWriter(file, *t.opts), 0
	return nil
}

// finish closes the open table, which syncs it.
func (t *tableWriter) finish() error {
	if t.err != nil || t.w == nil {
		return t.err
	}
	w := t.w
	t.w = nil
	if err := w.Close(); err != nil {
		t.open.late = nil // it has closed its file
		return t.fail(err)
	}
	info, err := w.Metadata()
	if err != nil {
		return t.fail(err)
	}
	t.open.size = info.Size
	t.done, t.open = append(t.done, t.open), tableMeta{}
	return nil
}

// take finishes the open table and hands out the tables that are done.
func (t *tableWriter) take() ([]tableMeta, error) {
	err := t.finish()
	done := t.done
	t.done = nil
	return done, err
}

// fail notes the error, which names the table's file.
func (t *tableWriter) fail(err error) error {
	t.err = fmt.Errorf("write table %s: %w", t.b.path(t.open.id), err)
	return t.err
}

// discard gives up the open table and what was finished. Their files are removed.
func (t *tableWriter) discard() {
	if t.w != nil {
		if err := t.w.Close(); err != nil { // of a table that nobody wants
			t.open.late = nil // it has closed its file
		}
		t.w = nil
	}
	t.b.remove(append(t.done, t.open))
	t.done = nil
}

// remove removes tables that the manifest does not name, as far as that is possible: what is left
// goes with the folder.
func (b *Bulk) remove(tables []tableMeta) {
	closeTables(tables)
	for i := range tables {
		if tables[i].id != 0 {
			_ = b.fs.Remove(b.path(tables[i].id))
		}
	}
}

// closeTables closes what was written late and is not wanted any more.
func closeTables(tables []tableMeta) {
	for i := range tables {
		if f := tables[i].late; f != nil {
			tables[i].late = nil
			_ = f.f.Close() // whatever it says, nobody will read the file
		}
	}
}

// syncTables makes tables durable that were written late. One whose sync failed is not tried again:
// the system may have dropped what it could not write.
func (b *Bulk) syncTables(tables []tableMeta) error {
	for i := range tables {
		if f := tables[i].late; f != nil {
			tables[i].late = nil
			if err := f.sync(); err != nil {
				return fmt.Errorf("sync table %s: %w", b.path(tables[i].id), err)
			}
		}
	}
	return nil
}

// tableOptions are those of tables on the last level, where the database will put them.
func (s *Store) tableOptions() sstable.WriterOptions {
	o := pebbleOptions(&s.opts, s.fs, s.fail)
	o.EnsureDefaults()
	return o.MakeWriterOptions(len(o.Levels)-1, s.db.TableFormat())
}

func (s *Store) readerOptions() sstable.ReaderOptions {
	o := pebbleOptions(&s.opts, s.fs, s.fail)
	o.EnsureDefaults()
	return o.MakeReaderOptions()
}

// branchOptions are those of tables of branch rows: hashes, which no compression makes smaller.
func (s *Store) branchOptions() sstable.WriterOptions {
	o := s.tableOptions()
	o.Compression = sstable.NoCompression
	return o
}

// tableReader reads one table of a build in order, or loose rows.
type tableReader struct {
	r     *sstable.Reader // nil for loose rows
	it    sstable.Iterator
	loose looseRows // that are left
	key   []byte
	row   []byte
	meta  *tableMeta
}

// openTable opens a table and checks what can be checked without reading all of it.
func (b *Bulk) openTable(m *tableMeta) (*tableReader, error) {
	path := b.path(m.id)
	f, err := b.fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read table %s: %w", path, err), f.Close())
	}
	if readable.Size() != int64(m.size) {
		err = fmt.Errorf("%w: table %s has %d bytes, not %d", ErrCorrupt, path, readable.Size(), m.size)
		return nil, errors.Join(err, readable.Close())
	}
	r, err := sstable.NewReader(b.ctx(), readable, b.readOptions)
	if err != nil {
		err = fmt.Errorf("read table %s: %w", path, readError(err))
		return nil, errors.Join(err, readable.Close())
	}
	it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		err = fmt.Errorf("read table %s: %w", path, readError(err))
		return nil, errors.Join(err, r.Close())
	}
	return &tableReader{r: r, it: it, meta: m}, nil
}

// next moves to the next row, the first one at the start; false behind the last one and on errors.
func (t *tableReader) next() (bool, error) {
	if t.r == nil {
		if len(t.loose) == 0 {
			return false, nil
		}
		t.key, t.row = t.loose[0].key, t.loose[0].row
		t.loose = t.loose[1:]
		return true, nil
	}
	kv := t.it.Next
	if t.key == nil {
		kv = t.it.First
	}
	row := kv()
	if row == nil {
		return false, readError(t.it.Error())
	}
	value, _, err := row.V.Value(nil)
	if err != nil {
		return false, readError(err)
	}
	t.key, t.row = row.K.UserKey, value
	return true, nil
}

func (t *tableReader) Close() error {
	if t.r == nil {
		return nil
	}
	return readError(errors.Join(t.it.Close(), t.r.Close()))
}

// emptyRange makes the database forget the rows from start on and below end.
func (s *Store) emptyRange(b *Bulk, start, end []byte) error {
	return s.fail.run(func() error {
		return s.db.Excise(b.ctx(), pebble.KeyRange{Start: start, End: end})
	})
}
