package state

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"slices"
)

// maxMergeFiles is how many tables a merge reads at once.
const maxMergeFiles = 64

// disjoint returns tables with the rows of the given ones that do not overlap: the database takes
// no others. Tables that overlap nothing stay as they are, the others are merged, where there is
// no way around it. Nothing is removed.
func (b *Bulk) disjoint(tables []tableMeta) ([]tableMeta, error) {
	tables = slices.Clone(tables)
	sortTables(tables)
	var out []tableMeta
	for len(tables) > 0 {
		n := groupLen(tables)
		group := tables[:n]
		tables = tables[n:]
		if n > 1 {
			var err error
			if group, err = b.separate(group); err != nil {
				return nil, err
			}
		}
		out = append(out, group...)
	}
	return out, nil
}

// separate makes a group of sorted tables disjoint. The rows of small tables come between the large
// ones where they can: the top of a trie whose ranges were built side by side is a small table over
// all of theirs, and they need not be written again for it.
func (b *Bulk) separate(group []tableMeta) ([]tableMeta, error) {
	large, loose, err := b.loosen(group)
	if err != nil {
		return nil, err
	}
	var out []tableMeta
	t := &tableWriter{b: b, opts: &b.rowOptions, cut: tableBytes}
	for len(large) > 0 && err == nil {
		n := groupLen(large)
		some, last := large[:n], lastKey(large[:n])
		large = large[n:]
		before := loose.upTo(some[0].first, false)
		within := loose.upTo(last, true)
		if err = before.write(t); err != nil {
			break
		}
		if err = t.finish(); err != nil {
			break
		}
		if n > 1 || len(within) > 0 {
			some, err = b.mergeGroup(some, within)
		}
		out = append(out, some...)
	}
	if err == nil {
		err = loose.write(t)
	}
	if err != nil {
		t.discard()
		return nil, err
	}
	between, err := t.take()
	return append(out, between...), err
}

func lastKey(tables []tableMeta) []byte {
	last := tables[0].last
	for i := range tables {
		if bytes.Compare(tables[i].last, last) > 0 {
			last = tables[i].last
		}
	}
	return last
}

func sortTables(tables []tableMeta) {
	slices.SortFunc(tables, func(x, y tableMeta) int { return bytes.Compare(x.first, y.first) })
}

// groupLen is how many of the sorted tables overlap with each other, directly or by others.
func groupLen(tables []tableMeta) int {
	last := tables[0].last
	for i := 1; i < len(tables); i++ {
		if bytes.Compare(tables[i].first, last) > 0 {
			return i
		}
		if bytes.Compare(tables[i].last, last) > 0 {
			last = tables[i].last
		}
	}
	return len(tables)
}

// mergeGroup merges sorted tables and loose rows, some tables at a time where too many of them
// overlap in one place.
func (b *Bulk) mergeGroup(group []tableMeta, loose looseRows) ([]tableMeta, error) {
	var made []tableMeta // by a merge of some
	for depth(group) > b.fanIn {
		some, rest := group[:b.fanIn], group[b.fanIn:]
		merged, err := b.merge(some, nil)
		if err != nil {
			return nil, err
		}
		made = append(made, merged...)
		group = append(slices.Clone(rest), merged...)
		sortTables(group)
	}
	out, err := b.merge(group, loose)
	if err != nil {
		return nil, err
	}
	b.remove(made)
	return out, nil
}

// depth is the greatest number of sorted tables that a merge has open at once.
func depth(tables []tableMeta) int {
	var open [][]byte // the last keys
	most := 0
	for i := range tables {
		open = slices.DeleteFunc(open, func(last []byte) bool {
			return bytes.Compare(last, tables[i].first) < 0
		})
		open = append(open, tables[i].last)
		most = max(most, len(open))
	}
	return most
}

// merge merges sorted tables and loose rows into tables that do not overlap. A row that comes twice
// has to be the same both times: a trie that was built twice gives the same rows.
func (b *Bulk) merge(tables []tableMeta, loose looseRows) ([]tableMeta, error) {
	m := &merger{b: b, rest: tables}
	if len(loose) > 0 {
		r := &tableReader{loose: loose, meta: &tableMeta{}}
		if _, err := r.next(); err != nil {
			return nil, err
		}
		m.open = tableHeap{r}
	}
	t := &tableWriter{b: b, opts: &b.rowOptions, cut: tableBytes}
	err := m.run(t)
	for _, r := range m.open {
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		t.discard()
		return nil, fmt.Errorf("merge tables: %w", err)
	}
	return t.take()
}

// merger merges tables. It opens a table when it comes to its first key.
type merger struct {
	b    *Bulk
	rest []tableMeta // not opened yet
	open tableHeap
	row  []byte // the row written last
}

func (m *merger) run(t *tableWriter) error {
	var key []byte
	for {
		if err := m.openNext(); err != nil {
			return err
		}
		if len(m.open) == 0 {
			return nil
		}
		r := m.open[0]
		switch {
		case key == nil || !bytes.Equal(key, r.key):
			if err := t.set(r.key, r.row); err != nil {
				return fmt.Errorf("row %x: %w", r.key, err)
			}
			key, m.row = append(key[:0], r.key...), append(m.row[:0], r.row...)
		case !bytes.Equal(m.row, r.row):
			return fmt.Errorf("%w: row %x with two values", ErrDuplicateKey, key)
		}
		if err := m.advance(r); err != nil {
			return err
		}
	}
}

// openNext opens the tables that begin before the row that is next.
func (m *merger) openNext() error {
	for len(m.rest) > 0 &&
		(len(m.open) == 0 || bytes.Compare(m.rest[0].first, m.open[0].key) <= 0) {
		r, err := m.b.openTable(&m.rest[0])
		if err != nil {
			return err
		}
		m.rest = m.rest[1:]
		ok, err := r.next()
		if err == nil && !ok {
			err = fmt.Errorf("%w: table %s has no rows", ErrCorrupt, m.b.path(r.meta.id))
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
		heap.Push(&m.open, r)
	}
	return nil
}

// advance moves the first table to its next row.
func (m *merger) advance(r *tableReader) error {
	ok, err := r.next()
	if err != nil {
		return fmt.Errorf("table %s: %w", m.b.path(r.meta.id), err)
	}
	if ok {
		heap.Fix(&m.open, 0)
		return nil
	}
	heap.Pop(&m.open)
	return r.Close()
}

// tableHeap has the table with the least key first.
type tableHeap []*tableReader

func (h tableHeap) Len() int           { return len(h) }
func (h tableHeap) Less(i, j int) bool { return bytes.Compare(h[i].key, h[j].key) < 0 }
func (h tableHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *tableHeap) Push(x any)        { *h = append(*h, x.(*tableReader)) }
func (h *tableHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
