package state

import "slices"

// recent is the overlay: the rows written since the last checkpoint, in generations, and behind
// them a cache of rows written before. Its fields are guarded by Store.mu; the writer adds rows to
// the newest generation, and a checkpoint to the cache, without it.
type recent struct {
	// gens are the generations, newest first: the one that takes rows, and while a checkpoint runs,
	// the one that it writes. The slice is replaced, never changed: views hold it.
	gens []*generation
	// written holds branch rows that tables hold, as they were written last, and leaves out what the
	// generations may have newer. It is replaced when it reaches twice keep bytes.
	written *generation
	keep    int
	// seq is the number of the last commit since the store was opened.
	seq uint64
	// The memory that the generations took after the last commit, and the cache after the last
	// checkpoint, in bytes.
	size, writtenSize int
}

// start begins with all rows in tables, and keeps about as many bytes of rows as given beyond what
// it must.
func (r *recent) start(keep int) {
	r.seq++
	r.keep, r.size, r.writtenSize = keep, 0, 0
	r.gens, r.written = []*generation{newGeneration()}, newGeneration()
}

// newest is the generation that rows are added to.
func (r *recent) newest() *generation { return r.gens[0] }

// view returns what a view looks through, in this order.
func (r *recent) view() []*generation {
	gens := make([]*generation, 0, len(r.gens)+1)
	for _, g := range append(slices.Clone(r.gens), r.written) {
		if g == r.written || g.commits > 0 {
			gens = append(gens, g)
		}
	}
	return gens
}

// commit makes the rows of commit seq+1 visible.
func (r *recent) commit() {
	r.seq++
	r.newest().commits++
	r.size = r.bytes()
}

// freeze begins a generation, and returns the one that takes no more rows.
func (r *recent) freeze() *generation {
	full := r.newest()
	next := newGenerationOf(len(full.table.Load().slots)) // which will be as large
	r.gens = append([]*generation{next}, r.gens...)
	return full
}

// retire lets go of a generation whose rows are in tables; written is the cache with them.
func (r *recent) retire(g, written *generation) {
	r.gens = slices.DeleteFunc(slices.Clone(r.gens), func(x *generation) bool { return x == g })
	r.written, r.writtenSize = written, written.bytes()
}

// bytes is the memory that the generations take. The caller is the writer.
func (r *recent) bytes() int {
	n := 0
	for _, g := range r.gens {
		n += g.bytes()
	}
	return n
}

// absorbed returns the cache of written rows with those of a generation whose rows are in tables:
// the same, or another in its place. The caller is the one that adds rows to it; pace is called
// with each row.
func absorbed(written, g *generation, keep int, pace func()) *generation {
	if !written.absorb(g, pace) {
		return newGeneration() // what it lacks of the generation would show older rows
	}
	if written.pos >= 2*keep {
		return written.newestRows(keep)
	}
	return written
}
