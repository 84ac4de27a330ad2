package storageactor

import (
	"container/heap"
	"slices"

	"github.com/balsa-sync/balsa/messages"
)

// nextJob is what worker w is to do next; nil: nothing, or there is no buffer for it.
func (c *core) nextJob(w int) *job {
	wk := &c.workers[w]
	if i := c.writeFor(wk); i >= 0 {
		s := c.writes[i]
		c.writes = slices.Delete(c.writes, i, i+1)
		return &job{seg: s, write: true}
	}
	if s := wk.seg; s != nil {
		c.extend(s)
		if !s.lost && s.bytes < c.opts.SegmentBytes {
			if sp, ok := c.takeFrom(s); ok {
				return &job{seg: s, span: sp}
			}
		}
		wk.seg = nil
		rest := s.rest
		s.rest = nil
		c.close(s)
		if len(rest) > 0 { // its buffer is full: what is left of it goes into another
			c.putBack(s.kind, rest)
		}
	}
	for len(c.surveys) > 0 {
		s := c.surveys[0]
		c.surveys = c.surveys[1:]
		if s.root().failed == nil {
			return &job{survey: s}
		}
		c.splitDone(s)
	}
	if !c.anything(w) {
		return nil
	}
	if len(c.buffers) == 0 {
		wk.wantBuffer = len(wk.jobs) == 0
		return nil
	}
	return c.open(w)
}

// writeFor is the index of a segment that the worker can write, -1: there is none.
func (c *core) writeFor(w *worker) int {
	return slices.IndexFunc(c.writes, func(s *segment) bool { return !s.alone || len(w.jobs) == 0 })
}

// takeFrom takes a segment's next job; units that need not be built any more are left out.
func (c *core) takeFrom(s *segment) (span, bool) {
	for len(s.rest) > 0 {
		sp := s.take(c.opts.BatchAccounts, c.opts.BatchLeaves)
		if sp.group.abandoned() {
			c.skip(sp)
			continue
		}
		s.taken = append(s.taken, sp)
		s.accounts += sp.len()
		s.leaves += weight(sp) - sp.len()*unitCost
		return sp, true
	}
	return span{}, false
}

// extend has a segment of small accounts go on with what came behind it since.
func (c *core) extend(s *segment) {
	if s.kind != messages.KindBatch || s.alone || s.lost || len(s.rest) > 0 || len(s.taken) == 0 ||
		len(c.small) == 0 || s.accounts >= c.opts.SegmentAccounts || s.leaves >= c.opts.SegmentLeaves ||
		!c.small[0].follows(s.taken[len(s.taken)-1]) {
		return
	}
	s.rest = c.takeSmall(min(c.opts.SegmentAccounts-s.accounts, c.share()),
		c.opts.SegmentLeaves-s.leaves)
}

// anything says that there is something for which worker w would need a buffer.
func (c *core) anything(w int) bool {
	return len(c.joins)+len(c.large)+len(c.parts)+len(c.small) > 0 ||
		len(c.alone) > 0 && len(c.workers[w].jobs) == 0 || c.victim() >= 0
}

// open begins a segment for worker w: what completes accounts first, then what is large, small
// accounts as the filler, and at last half of what another worker has before it.
func (c *core) open(w int) *job {
	s := &segment{id: c.number(), worker: w}
	j := &job{seg: s}
	switch {
	case len(c.joins) > 0:
		j.join, c.joins = c.joins[0], c.joins[1:]
		s.kind, s.closed, s.join = messages.KindRange, true, j.join
	case len(c.alone) > 0 && len(c.workers[w].jobs) == 0:
		s.rest, c.alone = []span{c.alone[0]}, c.alone[1:]
		s.kind, s.alone = kindOf(s.rest[0]), true
	case len(c.large) > 0:
		s.kind = messages.KindLarge
		s.rest = []span{heap.Pop(&c.large).(span)}
	case len(c.parts) > 0:
		s.kind = messages.KindRange
		s.rest = c.takeParts()
	case len(c.small) > 0:
		s.rest = c.takeSmall(c.share(), c.opts.SegmentLeaves)
	default:
		v := c.victim()
		if v < 0 {
			return nil
		}
		from := c.workers[v].seg
		s.kind = from.kind
		s.rest = from.stealHalf()
		c.phase().stolen++
	}
	if j.join == nil {
		sp, ok := c.takeFrom(s)
		if !ok {
			return c.nextJob(w) // all of it was abandoned
		}
		j.span = sp
	}
	s.buffer = c.buffers[len(c.buffers)-1]
	c.buffers = c.buffers[:len(c.buffers)-1]
	if !s.closed {
		c.workers[w].seg = s
	}
	return j
}

// kindOf is how a unit that is taken alone is built.
func kindOf(sp span) messages.StorageKind {
	switch {
	case sp.group.split != nil:
		return messages.KindRange
	case sp.leaves > 0:
		return messages.KindLarge
	}
	return messages.KindBatch
}

// share is how many small accounts a worker takes at once: few enough that every worker has some.
func (c *core) share() int {
	n := c.waiting / (2 * len(c.workers))
	return min(max(n, c.opts.BatchAccounts), c.opts.SegmentAccounts)
}

// takeSmall takes contiguous small accounts, one at least.
func (c *core) takeSmall(accounts, leaves int) (taken []span) {
	for len(c.small) > 0 && accounts > 0 && leaves > 0 {
		sp := &c.small[0]
		if len(taken) > 0 && !sp.follows(taken[len(taken)-1]) {
			break
		}
		part := span{group: sp.group, lo: sp.lo, hi: sp.lo, leaves: sp.leaves}
		for part.hi < sp.hi && part.len() < accounts && (leaves > 0 || part.len() == 0) {
			leaves -= sp.group.units[part.hi].Leaves
			part.hi++
		}
		accounts -= part.len()
		c.waiting -= part.len()
		taken = append(taken, part)
		if sp.lo = part.hi; sp.lo < sp.hi {
			break
		}
		c.small = c.small[1:]
	}
	return taken
}

// takeParts takes contiguous parts of one trie: a share of what is left of it.
func (c *core) takeParts() []span {
	sp := &c.parts[0]
	n := max(sp.len()/(2*len(c.workers)), 1)
	part := span{group: sp.group, lo: sp.lo, hi: sp.lo, leaves: sp.leaves}
	for leaves := 0; part.len() < n && (part.len() == 0 || leaves < c.opts.SegmentLeaves); part.hi++ {
		leaves += sp.group.units[part.hi].Leaves
	}
	if sp.lo = part.hi; sp.lo == sp.hi {
		c.parts = c.parts[1:]
	}
	return []span{part}
}

// victim is the worker with the most before it that is not handed out; -1: nobody has anything.
func (c *core) victim() int {
	best, most := -1, 0
	for w := range c.workers {
		if s := c.workers[w].seg; s != nil && !s.lost && !s.alone && len(s.rest) > 0 {
			if n := s.restWeight(); n > most {
				best, most = w, n
			}
		}
	}
	return best
}

// putBack queues spans again, before what waits.
func (c *core) putBack(kind messages.StorageKind, spans []span) {
	for i := len(spans) - 1; i >= 0; i-- {
		sp := spans[i]
		switch {
		case kind == messages.KindLarge:
			heap.Push(&c.large, sp)
		case sp.group.split != nil:
			c.parts = append([]span{sp}, c.parts...)
		default:
			c.small = append([]span{sp}, c.small...)
			c.waiting += sp.len()
		}
	}
}

// spanHeap gives the largest unit first.
type spanHeap []span

// Len implements heap.Interface.
func (h spanHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h spanHeap) Less(i, j int) bool { return weight(h[i]) > weight(h[j]) }

// Swap implements heap.Interface.
func (h spanHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *spanHeap) Push(x any) { *h = append(*h, x.(span)) }

// Pop implements heap.Interface.
func (h *spanHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
