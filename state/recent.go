package state

import "slices"

// recent is the overlay: the rows written since what Pebble's tables hold, in generations. Its
// fields are guarded by Store.mu; the newest generation's rows are added by the writer without it.
type recent struct {
	// gens are the generations, newest first. The slice is replaced, never changed: views hold it.
	gens []*generation
	// seq is the number of the last commit since the store was opened.
	seq uint64
	// marks are the cursors of the commits that the tables may hold, oldest first: the first is
	// the newest known to be in the tables.
	marks []mark
	// size is the memory that the generations took after the last commit, in bytes.
	size int
}

type mark struct {
	seq    uint64
	cursor maybeCursor
}

// start begins with all rows in tables, at the given cursor.
func (r *recent) start(at maybeCursor) {
	r.seq++
	r.gens = []*generation{newGeneration()}
	r.marks = append(r.marks[:0], mark{r.seq, at})
	r.size = 0
}

// newest is the generation that rows are added to.
func (r *recent) newest() *generation { return r.gens[0] }

// view returns the generations that a view needs.
func (r *recent) view() []*generation {
	if len(r.gens) == 1 && r.gens[0].keys == 0 {
		return nil
	}
	return r.gens
}

// commit makes the rows of commit seq+1 visible, and begins a generation where the newest has
// reached the given size.
func (r *recent) commit(c Cursor, size int) {
	r.seq++
	r.marks = append(r.marks, mark{r.seq, maybeCursor{c, true}})
	r.size = r.bytes()
	if r.newest().bytes() >= size {
		r.gens = append([]*generation{newGeneration()}, r.gens...)
	}
}

// forget drops the generations that the tables hold: those of commits up to the one that left the
// given cursor. A cursor may come twice, where blocks were undone and applied again; the earlier
// commit counts then, which keeps too much rather than too little.
func (r *recent) forget(inFiles maybeCursor) {
	i := slices.IndexFunc(r.marks, func(m mark) bool { return m.cursor == inFiles })
	if i <= 0 {
		return
	}
	r.marks = slices.Delete(r.marks, 0, i)
	held := r.marks[0].seq
	keep := len(r.gens)
	for keep > 1 && r.gens[keep-1].last <= held {
		keep--
	}
	r.gens = slices.Clone(r.gens[:keep])
}

// bytes is the memory that all generations take.
func (r *recent) bytes() int {
	n := 0
	for _, g := range r.gens {
		n += g.bytes()
	}
	return n
}
