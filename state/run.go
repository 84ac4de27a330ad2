package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
	"sync/atomic"
)

// sortedRun lists rows of a generation in one key space, ascending by key. It never changes.
type sortedRun struct {
	ranks  []uint64 // of the keys: see keyRank
	places []uint32 // of the records
	merged bool     // of several commits' runs
}

// mergeRuns is how many commits' runs become one: a search looks into each.
const mergeRuns = 8

// runList holds the runs of one key space. One goroutine adds; any number read.
type runList struct{ runs atomic.Pointer[[]*sortedRun] }

func (l *runList) load() []*sortedRun {
	if p := l.runs.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *runList) add(g *generation, r *sortedRun) {
	runs := append(l.load(), r) // readers look no further than the length that they loaded
	if n := len(runs) - mergeRuns; n >= 0 && !runs[n].merged {
		last := slices.Clone(runs[n:])
		for ; len(last) > 1; last = last[:len(last)/2] {
			for i := range len(last) / 2 {
				last[i] = mergeTwo(g, last[2*i], last[2*i+1])
			}
		}
		runs = append(slices.Clone(runs[:n]), last[0])
	}
	l.runs.Store(&runs)
}

// mergeTwo returns a run with the rows of two, each key once.
func mergeTwo(g *generation, a, b *sortedRun) *sortedRun {
	n := len(a.places) + len(b.places)
	m := &sortedRun{ranks: make([]uint64, 0, n), places: make([]uint32, 0, n), merged: true}
	take := func(r *sortedRun, i int) {
		m.ranks, m.places = append(m.ranks, r.ranks[i]), append(m.places, r.places[i])
	}
	i, j := 0, 0
	for i < len(a.places) && j < len(b.places) {
		c := cmp.Compare(a.ranks[i], b.ranks[j])
		if c == 0 {
			c = bytes.Compare(g.record(a.places[i]).key(), g.record(b.places[j]).key())
		}
		switch {
		case c < 0:
			take(a, i)
			i++
		case c > 0:
			take(b, j)
			j++
		default:
			take(b, j)
			i, j = i+1, j+1
		}
	}
	for ; i < len(a.places); i++ {
		take(a, i)
	}
	for ; j < len(b.places); j++ {
		take(b, j)
	}
	return m
}

// keyRank packs the start of a key behind its space into a number that sorts alike; keys of equal
// rank need a look at the whole.
func keyRank(key []byte) uint64 {
	k := key[1:]
	if key[0] == spaceAccountBranch {
		var r uint64
		n := min(len(k), 16)
		for _, x := range k[:n] {
			r = r<<4 | uint64(x&15)
		}
		return r << (4 * (16 - n))
	}
	if len(k) < 8 {
		var b [8]byte
		copy(b[:], k)
		return binary.BigEndian.Uint64(b[:])
	}
	return binary.BigEndian.Uint64(k)
}

// seek returns the index of the first row at key or behind it.
func (r *sortedRun) seek(g *generation, key []byte, rank uint64) int {
	lo, _ := slices.BinarySearch(r.ranks, rank)
	if lo == len(r.ranks) || r.ranks[lo] != rank {
		return lo
	}
	n := 1
	for lo+n < len(r.ranks) && r.ranks[lo+n] == rank {
		n *= 2
	}
	n = min(n, len(r.ranks)-lo)
	return lo + sort.Search(n, func(i int) bool {
		return r.ranks[lo+i] > rank || bytes.Compare(g.record(r.places[lo+i]).key(), key) >= 0
	})
}

// seekSpaceOf is the index of a key space among those that have runs; false for the others.
func seekSpaceOf(space byte) (int, bool) {
	switch space {
	case spaceAccount:
		return seekAccount, true
	case spaceSlot:
		return seekSlot, true
	case spaceAccountBranch:
		return seekAccountBranch, true
	case spaceStorageBranch:
		return seekStorageBranch, true
	}
	return 0, false
}

// next returns the least key at the given one or behind it, in its key space, that has been written
// lately, by whatever commit; nil if there is none. It is valid as long as the view.
func (v *view) nextWritten(space int, key []byte) (least []byte) {
	rank := keyRank(key)
	for _, g := range v.gens {
		for _, r := range g.runs[space].load() {
			i := r.seek(g, key, rank)
			if i == len(r.ranks) {
				continue
			}
			if k := g.record(r.places[i]).key(); least == nil || bytes.Compare(k, least) < 0 {
				least = k
			}
		}
	}
	return least
}

// writtenKeys returns the keys from lower on and below upper that have been written lately, each
// once and in order. A nil bound is none.
func (v *view) writtenKeys(lower, upper []byte) [][]byte {
	var keys [][]byte
	for _, g := range v.gens {
		for space, b := range seekSpaceByte {
			for _, r := range g.runs[space].load() {
				from, to := 0, len(r.places)
				if len(lower) > 0 {
					from = r.bound(g, b, lower)
				}
				if len(upper) > 0 {
					to = r.bound(g, b, upper)
				}
				for i := from; i < to; i++ {
					keys = append(keys, g.record(r.places[i]).key())
				}
			}
		}
		keys = g.blocks.appendKeys(keys, lower, upper)
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

// bound is the index of the run's first row at key or behind it, which may be of another space.
func (r *sortedRun) bound(g *generation, space byte, key []byte) int {
	switch {
	case key[0] < space:
		return 0
	case key[0] > space:
		return len(r.places)
	}
	return r.seek(g, key, keyRank(key))
}
