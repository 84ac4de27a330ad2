package storageactor

import (
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
)

// settle ends a unit: its rows are stored, or it has failed.
func (c *core) settle(now time.Time, g *group, i int) {
	p := &g.progress[i]
	if g.run != nil {
		c.settleAccount(now, g.run, i)
		return
	}
	root := g.split.root()
	if p.Err != nil {
		root.fail(p.Err)
	}
	root.leaves += p.Leaves
	root.rows += p.Rows
	root.duration += p.Duration
	if root.unit.AccountTrie && p.Err == nil {
		c.trie.part(p)
	}
	if root.first.IsZero() || !p.first.IsZero() && p.first.Before(root.first) {
		root.first = p.first
	}
	if g.split.left--; g.split.left == 0 {
		c.splitDone(g.split)
	}
}

// fail fails the whole trie, for the first reason.
func (s *split) fail(err error) {
	if r := s.root(); r.failed == nil {
		r.failed = err
	}
}

// splitDone goes on with a trie, or a part of one, whose parts are all stored.
func (c *core) splitDone(s *split) {
	switch root := s.root(); {
	case s != root:
		if s.parent.split.left--; s.parent.split.left == 0 {
			c.splitDone(s.parent.split)
		}
	case root.failed != nil:
		c.failed = append(c.failed, root)
	default:
		c.joins = append(c.joins, s)
	}
}

// settleSplit ends a trie that was built in parts.
func (c *core) settleSplit(now time.Time, s *split) {
	if s.parent == nil {
		c.accountsDone(now, s.joinRoot)
		return
	}
	p := &s.parent.progress[s.index]
	p.TrieOutcome = messages.TrieOutcome{
		Root: s.joinRoot, Leaves: s.leaves, Rows: s.rows, Duration: s.duration,
		Orphans: s.orphans, Err: s.failed,
	}
	p.worker, p.kind, p.first, p.last = s.worker, messages.KindRange, s.first, s.last
	c.settle(now, s.parent, s.index)
}

// settleAccount answers one account of a request; tell sends it.
func (c *core) settleAccount(now time.Time, r *run, i int) {
	u, p := &r.group.units[i], &r.group.progress[i]
	r.left--
	r.orphan = append(r.orphan, p.Orphans...)
	if !r.touched {
		r.touched = true
		c.touched = append(c.touched, r)
	}
	for _, o := range p.Orphans {
		c.storage.orphans++
		c.storage.orphanSlots += o.Slots
	}
	if u.Bare {
		if p.Err != nil && r.err == nil {
			r.err = p.Err
		}
		return
	}
	res := messages.StorageResult{
		Account: u.Account, Root: p.Root, Leaves: p.Leaves, Rows: p.Rows, Duration: p.Duration,
		Worker: p.worker, Kind: p.kind, Err: p.Err,
	}
	if res.Err != nil {
		res.Root = common.Hash{}
	}
	r.ready = append(r.ready, res)
	c.storage.account(now, &res, p.first, p.last)
}

// tell sends what has been settled.
func (c *core) tell(now time.Time) {
	for len(c.failed) > 0 {
		s := c.failed[0]
		c.failed = c.failed[1:]
		c.settleSplit(now, s)
	}
	for _, r := range c.touched {
		r.touched = false
		c.outstanding[r.msg.ReplyTo.GetId()] -= len(r.ready)
		m := &messages.StorageBuilt{
			Request: r.msg.Request, Results: r.ready, Orphans: r.orphan, Done: r.left == 0,
			Err: r.err,
		}
		r.ready, r.orphan = nil, nil
		if m.Done {
			delete(c.runs, runKey{r.msg.ReplyTo.GetId(), r.msg.Request})
		}
		c.send(r.msg.ReplyTo, m)
	}
	c.touched = c.touched[:0]
	if len(c.runs) == 0 {
		c.storage.end(now)
	}
}

// skip ends units that need not be built, because their trie has failed.
func (c *core) skip(s span) {
	for i := s.lo; i < s.hi; i++ {
		if s.group.split.left--; s.group.split.left == 0 {
			c.splitDone(s.group.split)
		}
	}
}

// confirmed says that what a restarted child had in hand before the token and has not answered is
// lost.
func (c *core) confirmed(now time.Time, token uint64) {
	for w := range c.workers {
		if c.workers[w].confirm == token {
			c.workerLost(now, w)
			return
		}
	}
	for f := range c.flushers {
		if c.flushers[f].confirm == token {
			c.flusherLost(now, f, token)
			return
		}
	}
}

// workerLost has all that a worker had in hand done again.
func (c *core) workerLost(now time.Time, w int) {
	wk := &c.workers[w]
	wk.confirm = 0
	jobs := wk.jobs
	wk.jobs, wk.weight = nil, 0
	for _, j := range jobs {
		delete(c.jobs, j.id)
		c.phase().lost++
		if j.survey != nil {
			c.surveyAgain(j.survey)
			continue
		}
		j.seg.jobs--
		j.seg.lost = true
		switch {
		case j.write:
			j.seg.attempted()
		case j.join != nil:
			j.join.attempts++
		default:
			j.span.attempted()
		}
	}
	for _, j := range jobs {
		s := j.seg
		if s == nil || s.requeued {
			continue
		}
		if wk.seg == s {
			wk.seg = nil
		}
		c.putBack(s.kind, s.rest)
		s.rest = nil
		c.drained(now, s)
	}
}

func (c *core) surveyAgain(s *split) {
	if s.attempts++; int(s.attempts) < c.opts.JobAttempts {
		c.surveys = append(c.surveys, s)
		return
	}
	s.fail(fmt.Errorf("%w: survey, attempt %d", ErrWorkerFailed, s.attempts))
	s.parts = newGroup(nil)
	s.attempts = 0
	c.splitDone(s)
}

// flusherLost has all segments done again whose flush was handed out before the token.
func (c *core) flusherLost(now time.Time, f int, token uint64) {
	fl := &c.flushers[f]
	fl.confirm = 0
	segs := fl.segs
	fl.segs = nil
	for _, s := range segs {
		if s.flushNo > token {
			fl.segs = append(fl.segs, s)
			continue
		}
		c.phase().lost++
		s.lost = true
		s.attempted()
		c.drained(now, s)
	}
}

// attempted counts an attempt of all that was built into the segment's buffer.
func (s *segment) attempted() {
	if s.join != nil {
		s.join.attempts++
	}
	for _, sp := range s.taken {
		sp.attempted()
	}
}

func (s span) attempted() {
	for i := s.lo; i < s.hi; i++ {
		s.group.progress[i].attempts++
	}
}

// again has the units of a segment built again whose buffer cannot be trusted any more. A unit that
// was lost too often gets a worker to itself; if that fails as well, the unit fails.
func (c *core) again(now time.Time, s *segment) {
	s.requeued = true
	c.buffers = append(c.buffers, s.buffer)
	if s.join != nil {
		if int(s.join.attempts) < c.opts.JobAttempts {
			c.joins = append(c.joins, s.join)
			return
		}
		s.join.fail(fmt.Errorf("%w: join, attempt %d", ErrWorkerFailed, s.join.attempts))
		c.failed = append(c.failed, s.join)
		return
	}
	for k := len(s.taken) - 1; k >= 0; k-- { // the first of them is to be the first in its queue
		c.unitsAgain(now, s, s.taken[k])
	}
}

func (c *core) unitsAgain(now time.Time, s *segment, sp span) {
	hi := sp.hi
	for i := sp.hi - 1; i >= sp.lo; i-- {
		p := &sp.group.progress[i]
		if int(p.attempts) < c.opts.JobAttempts {
			continue
		}
		c.spanAgain(s, span{group: sp.group, lo: i + 1, hi: hi, leaves: sp.leaves})
		hi = i
		if !s.alone {
			c.alone = append(c.alone, span{group: sp.group, lo: i, hi: i + 1, leaves: sp.leaves})
			continue
		}
		p.TrieOutcome = messages.TrieOutcome{
			Err: fmt.Errorf("%w: attempt %d", ErrWorkerFailed, p.attempts),
		}
		c.settle(now, sp.group, i)
	}
	c.spanAgain(s, span{group: sp.group, lo: sp.lo, hi: hi, leaves: sp.leaves})
}

func (c *core) spanAgain(s *segment, sp span) {
	if sp.len() > 0 {
		c.putBack(s.kind, []span{sp})
	}
}
