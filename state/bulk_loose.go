package state

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

const (
	maxLooseTable = 1 << 10 // rows of a table that is small
	maxLooseRows  = 1 << 15 // rows of small tables that are held in memory
)

// looseRows are rows of small tables, in order of key. A key may come twice.
type looseRows []looseRow

type looseRow struct{ key, row []byte }

// loosen reads the small ones of sorted tables, as far as memory allows, and returns the others.
func (b *Bulk) loosen(group []tableMeta) (large []tableMeta, loose looseRows, err error) {
	rows := uint64(0)
	for i := range group {
		t := &group[i]
		if t.rows > b.small || rows+t.rows > maxLooseRows {
			large = append(large, *t)
			continue
		}
		rows += t.rows
		if loose, err = b.appendLoose(loose, t); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(loose, func(x, y looseRow) int { return bytes.Compare(x.key, y.key) })
	return large, loose, nil
}

func (b *Bulk) appendLoose(rows looseRows, m *tableMeta) (looseRows, error) {
	r, err := b.openTable(m)
	if err != nil {
		return nil, err
	}
	for {
		var ok bool
		if ok, err = r.next(); !ok {
			break
		}
		rows = append(rows, looseRow{bytes.Clone(r.key), bytes.Clone(r.row)})
	}
	return rows, errors.Join(err, r.Close())
}

// upTo takes the rows below the key, or up to it, from the front.
func (l *looseRows) upTo(key []byte, inclusive bool) looseRows {
	n, _ := slices.BinarySearchFunc(*l, key, func(r looseRow, key []byte) int {
		if c := bytes.Compare(r.key, key); c != 0 || !inclusive {
			return c
		}
		return -1
	})
	taken := (*l)[:n]
	*l = (*l)[n:]
	return taken
}

// write writes the rows, each once.
func (l looseRows) write(t *tableWriter) error {
	for i := range l {
		if i > 0 && bytes.Equal(l[i-1].key, l[i].key) {
			if !bytes.Equal(l[i-1].row, l[i].row) {
				return fmt.Errorf("%w: row %x with two values", ErrDuplicateKey, l[i].key)
			}
			continue
		}
		if err := t.set(l[i].key, l[i].row); err != nil {
			return fmt.Errorf("row %x: %w", l[i].key, err)
		}
	}
	return nil
}
