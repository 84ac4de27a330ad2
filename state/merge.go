package state

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// mergedIter walks the rows of a view in order of key: those of Pebble, and over them those written
// lately. The log's own rows are in no state; it passes over them.
type mergedIter struct {
	v    *view
	base *pebble.Iterator
	keys [][]byte // written lately, from the next one on

	inBase     bool // base stands at a row
	key, value []byte
	fromBase   bool // the current row is base's
	err        error
}

// merged returns an iterator over [lower, upper); nil is no bound.
func (v *view) merged(lower, upper []byte) (*mergedIter, error) {
	base, err := v.iter(lower, upper)
	if err != nil {
		return nil, err
	}
	m := &mergedIter{v: v, base: base}
	if v.built {
		m.keys = v.writtenKeys(lower, upper)
	}
	return m, nil
}

// First goes to the first row; false where there is none.
func (m *mergedIter) First() bool {
	m.inBase = m.base.First()
	return m.settle()
}

// Next goes to the next row; false behind the last one.
func (m *mergedIter) Next() bool {
	if m.fromBase {
		m.inBase = m.base.Next()
	}
	return m.settle()
}

// settle goes to the first row that neither base nor keys have passed.
func (m *mergedIter) settle() bool {
	for {
		c := -1 // which comes first: base's row, both, or a key of the overlay's
		switch {
		case !m.inBase && (len(m.keys) == 0 || m.base.Error() != nil):
			m.key, m.value, m.fromBase = nil, nil, false
			return false
		case !m.inBase:
			c = 1
		case len(m.keys) > 0:
			c = bytes.Compare(m.base.Key(), m.keys[0])
		}
		if c < 0 {
			if k := m.base.Key(); k[0] == spaceLog || string(k) == metaLog {
				m.inBase = m.base.Next()
				continue
			}
			return m.atBase()
		}
		key := m.keys[0]
		m.keys = m.keys[1:]
		value, st := m.v.overlayRow(key)
		if st == rowUnknown { // a later commit's
			if c == 0 {
				return m.atBase()
			}
			continue
		}
		if c == 0 {
			m.inBase = m.base.Next()
		}
		if st == rowPresent {
			m.key, m.value, m.fromBase = key, value, false
			return true
		}
	}
}

func (m *mergedIter) atBase() bool {
	value, err := m.base.ValueAndErr()
	if err != nil {
		m.err, m.key, m.value = err, nil, nil
		return false
	}
	m.key, m.value, m.fromBase = m.base.Key(), value, true
	return true
}

func (m *mergedIter) Key() []byte   { return m.key }
func (m *mergedIter) Value() []byte { return m.value }

func (m *mergedIter) Error() error {
	if m.err != nil {
		return m.err
	}
	return m.base.Error()
}

func (m *mergedIter) Close() error { return m.base.Close() }

// firstRow returns the first row of a view at key or behind it that has the given prefix; nil if
// there is none. it sees the view's tables, or more. What is returned is valid until it is moved.
func (v *view) firstRow(
	it *pebble.Iterator, space int, key []byte, prefix int,
) (found, value []byte, err error) {
	var buf [maxRowKeyLen + 1]byte
	want := append(buf[:0], key[:prefix]...)
	from := append([]byte(nil), key...)
	inFiles := it.SeekGE(key)
	for {
		var inBase, written []byte
		if err := it.Error(); err != nil {
			return nil, nil, readError(err)
		}
		if inFiles {
			if inBase = it.Key(); !bytes.HasPrefix(inBase, want) {
				inBase = nil
			}
		}
		if written = v.nextWritten(space, from); !bytes.HasPrefix(written, want) {
			written = nil
		}
		if written == nil || inBase != nil && bytes.Compare(inBase, written) < 0 {
			return rowAt(it, inBase != nil)
		}
		value, st := v.recentRow(written)
		if st == rowPresent {
			return written, value, nil
		}
		if bytes.Equal(inBase, written) {
			if st == rowUnknown {
				return rowAt(it, true)
			}
			inFiles = it.Next()
		}
		from = append(append(from[:0], written...), 0)
	}
}
