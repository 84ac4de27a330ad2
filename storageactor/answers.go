package storageactor

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/internal/invariants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// answered takes a job out of its worker's hand; nil: it was counted as lost before.
func (c *core) answered(now time.Time, id uint64, t messages.JobTimes) (*job, int) {
	j := c.jobs[id]
	if j == nil {
		return nil, 0
	}
	delete(c.jobs, id)
	for w := range c.workers {
		wk := &c.workers[w]
		if i := slices.Index(wk.jobs, j); i >= 0 {
			wk.jobs = slices.Delete(wk.jobs, i, i+1)
			wk.weight -= j.weight
			c.phase().job(now, w, t, j, len(wk.jobs) == 0 && c.hasWork())
			return j, w
		}
	}
	panic(fmt.Sprintf("storageactor: job %d is in nobody's hand", id))
}

func (c *core) triesBuilt(now time.Time, m *messages.TriesBuilt) {
	j, w := c.answered(now, m.Job, m.Times)
	if j == nil {
		return
	}
	s := j.seg
	s.jobs--
	s.bytes = m.Buffered
	switch {
	case s.lost:
	case j.join != nil:
		c.joined(j.join, w, &m.Outcomes[0], m.Times)
	default:
		invariants.Check(len(m.Outcomes) == j.span.len(), "%d outcomes for %d units",
			len(m.Outcomes), j.span.len())
		c.built(j, w, m)
	}
	c.drained(now, s)
}

// built notes what became of a job's units. Those that are too large leave the segment.
func (c *core) built(j *job, w int, m *messages.TriesBuilt) {
	g, s := j.span.group, j.seg
	at := slices.Index(s.taken, j.span)
	kept := span{group: g, lo: j.span.lo, hi: j.span.lo}
	var keep []span
	for i := range m.Outcomes {
		n := j.span.lo + i
		p := &g.progress[n]
		if e := m.Outcomes[i].Estimate; e > 0 {
			keep = appendSpan(keep, kept)
			kept = span{group: g, lo: n + 1, hi: n + 1}
			c.phase().handedBack++
			c.queueLarge(span{group: g, lo: n, hi: n + 1, leaves: e}, e)
			continue
		}
		kept.hi++
		p.TrieOutcome, p.worker, p.kind = m.Outcomes[i], w, s.kind
		p.first, p.last = m.Times.Started, m.Times.Ended
		c.phase().built += p.Leaves
	}
	keep = appendSpan(keep, kept)
	s.taken = slices.Replace(s.taken, at, at+1, keep...)
}

func appendSpan(to []span, s span) []span {
	if s.len() == 0 {
		return to
	}
	return append(to, s)
}

// joined notes the root of a trie that was built in parts.
func (c *core) joined(s *split, w int, o *messages.TrieOutcome, t messages.JobTimes) {
	s.rows += o.Rows
	s.duration += o.Duration
	s.last = t.Ended
	if o.Err != nil {
		s.failed = o.Err
	}
	s.joinRoot, s.worker = o.Root, w
}

func (c *core) surveyed(now time.Time, m *messages.TrieSurveyed) {
	j, _ := c.answered(now, m.Job, m.Times)
	if j == nil {
		return
	}
	s := j.survey
	if s.first.IsZero() {
		s.first, s.last = m.Times.Started, m.Times.Ended
	}
	s.orphans = m.Orphans
	s.parts = newGroup(m.Parts)
	s.parts.split = s
	s.left = len(m.Parts)
	if m.Err != nil {
		s.fail(m.Err)
		s.left = 0
	}
	if s.left == 0 {
		c.splitDone(s)
		return
	}
	c.parts = append(c.parts, span{group: s.parts, lo: 0, hi: s.left})
}

// close ends a segment: it is written when its last job is answered.
func (c *core) close(s *segment) {
	if s.closed {
		return
	}
	s.closed = true
	c.drained(time.Time{}, s)
}

// drained goes on with a segment that has nothing in a worker's hand.
func (c *core) drained(now time.Time, s *segment) {
	switch {
	case s.jobs > 0:
	case s.lost:
		c.again(now, s)
	case s.closed:
		s.flush = c.flushOf(s)
		if s.bytes == 0 {
			c.flush(s)
		} else {
			c.writes = append(c.writes, s)
		}
	}
}

// rowsWritten goes on with a segment whose rows are in tables.
func (c *core) rowsWritten(now time.Time, m *messages.RowsWritten) {
	j, _ := c.answered(now, m.Job, m.Times)
	if j == nil {
		return
	}
	j.seg.jobs--
	switch {
	case j.seg.lost:
		c.drained(now, j.seg)
	case m.Err != nil:
		c.stored(now, j.seg, m.Err)
	default:
		c.flush(j.seg)
	}
}

// flush hands a segment's buffer to the flusher with the fewest.
func (c *core) flush(s *segment) {
	best := 0
	for f := range c.flushers {
		if len(c.flushers[f].segs) < len(c.flushers[best].segs) {
			best = f
		}
	}
	s.flushNo = c.number()
	c.flushers[best].segs = append(c.flushers[best].segs, s)
	c.out = append(c.out, flush{best, s.flush})
}

// flushOf says what is built with the segment's rows.
func (c *core) flushOf(s *segment) *messages.FlushRows {
	m := &messages.FlushRows{Segment: s.id, Buffer: s.buffer}
	if s.join != nil {
		j := s.join
		if j.failed == nil && !j.unit.AccountTrie {
			m.Orphans = j.orphans
			noteDone(m, &j.unit, j.joinRoot)
		}
		return m
	}
	for _, sp := range s.taken {
		if sp.group.split != nil {
			continue
		}
		for i := sp.lo; i < sp.hi; i++ {
			if p := &sp.group.progress[i]; p.Err == nil {
				m.Orphans = append(m.Orphans, p.Orphans...)
				noteDone(m, &sp.group.units[i], p.Root)
			}
		}
	}
	return m
}

// noteDone adds a unit that is built to what a flush notes.
func noteDone(m *messages.FlushRows, u *messages.TrieUnit, root common.Hash) {
	if n := len(m.Done); n > 0 && successor(m.Done[n-1].To) == u.SweepFrom {
		m.Done[n-1].To = u.Account
	} else {
		m.Done = append(m.Done, state.KeyRange{From: u.SweepFrom, To: u.Account})
	}
	if !u.Bare && u.Stored != (common.Hash{}) && u.Stored != root {
		m.Roots = append(m.Roots, messages.StorageRoot{Account: u.Account, Root: root})
	}
}

func (c *core) rowsFlushed(now time.Time, m *messages.RowsFlushed) {
	s := c.flushed(m.Segment)
	if s == nil {
		return
	}
	c.phase().flush(m)
	c.stored(now, s, m.Err)
}

// stored ends a segment's units: its rows are stored, or err says why they are not.
func (c *core) stored(now time.Time, s *segment, err error) {
	c.buffers = append(c.buffers, s.buffer)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrStore, err)
	}
	if s.join != nil {
		if err != nil {
			s.join.fail(err)
		}
		c.settleSplit(now, s.join)
	}
	for _, sp := range s.taken {
		for i := sp.lo; i < sp.hi; i++ {
			if p := &sp.group.progress[i]; p.Err == nil {
				p.Err = err
			}
			c.settle(now, sp.group, i)
		}
	}
}

// flushed takes a segment out of its flusher's hand; nil: it was counted as lost before.
func (c *core) flushed(id uint64) *segment {
	for f := range c.flushers {
		fl := &c.flushers[f]
		for i, s := range fl.segs {
			if s.id == id {
				fl.segs = slices.Delete(fl.segs, i, i+1)
				return s
			}
		}
	}
	return nil
}
