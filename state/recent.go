package state

import "slices"

// recent is the overlay: the rows written since what Pebble's tables hold, in generations, and
// behind them a cache of rows written before. Its fields are guarded by Store.mu; the writer adds
// rows to the newest generation and to the cache without it.
type recent struct {
	// gens are the generations, newest first. The slice is replaced, never changed: views hold it.
	gens []*generation
	// written holds rows that tables hold, as they were written last, and leaves out what the
	// generations may have newer. It is replaced when it reaches twice keep bytes.
	written *generation
	keep    int
	// seq is the number of the last commit since the store was opened.
	seq uint64
	// held is the newest commit known to be in the tables.
	held uint64
	// marks are the cursors of the commits that the tables may hold, oldest first, from held on.
	marks []mark
	// size is the memory that the generations took after the last commit, in bytes.
	size int
}

type mark struct {
	seq    uint64
	cursor maybeCursor
}

// start begins with all rows in tables, at the given cursor, and keeps about as many bytes of rows
// as given beyond what it must.
func (r *recent) start(at maybeCursor, keep int) {
	r.seq++
	r.held, r.keep, r.size = r.seq, keep, 0
	r.gens, r.written = []*generation{newGeneration()}, newGeneration()
	r.marks = append(r.marks[:0], mark{r.seq, at})
}

// newest is the generation that rows are added to.
func (r *recent) newest() *generation { return r.gens[0] }

// view returns what a view looks through, in this order.
func (r *recent) view() []*generation {
	gens := make([]*generation, 0, len(r.gens)+1)
	for _, g := range append(slices.Clone(r.gens), r.written) {
		if g.keys > 0 {
			gens = append(gens, g)
		}
	}
	return gens
}

// commit makes the rows of commit seq+1 visible, and begins a generation where the newest has
// reached the given size.
func (r *recent) commit(c Cursor, size int) {
	r.seq++
	r.marks = append(r.marks, mark{r.seq, maybeCursor{c, true}})
	r.size = r.bytes() + r.written.bytes()
	if r.newest().bytes() >= size {
		r.gens = append([]*generation{newGeneration()}, r.gens...)
	}
}

// tablesAt notes which cursor the tables hold. A cursor may come twice, where blocks were undone
// and applied again; the earlier commit counts then, which keeps too much rather than too little.
func (r *recent) tablesAt(inFiles maybeCursor) {
	i := slices.IndexFunc(r.marks, func(m mark) bool { return m.cursor == inFiles })
	if i <= 0 {
		return
	}
	r.marks = slices.Delete(r.marks, 0, i)
	r.held = r.marks[0].seq
}

// retire moves the rows of generations that the tables hold to the cache, oldest first, and returns
// the generations and the cache that are left. The caller is the writer.
func (r *recent) retire() (gens []*generation, written *generation) {
	gens, written = r.gens, r.written
	for n := len(gens) - 1; n > 0 && gens[n].last <= r.held; n-- {
		if !written.absorb(gens[n]) {
			written = newGeneration() // what it lacks of a generation would show older rows
		} else if written.pos >= 2*r.keep {
			written = written.newestRows(r.keep)
		}
		gens = gens[:n]
	}
	return slices.Clone(gens), written
}

// bytes is the memory that the generations take.
func (r *recent) bytes() int {
	n := 0
	for _, g := range r.gens {
		n += g.bytes()
	}
	return n
}
