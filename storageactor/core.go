package storageactor

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/balsa-sync/balsa/internal/invariants"
	"github.com/balsa-sync/balsa/messages"
)

// core is the StorageActor without actors (D9): step takes a message and says what is to be done.
// It never reads, waits or measures; now comes from outside.
//
// What is asked for goes through
//
//	request -> units -> [survey -> parts] -> jobs of a segment -> flush -> [join -> flush] -> answer
//
// A unit is in one place at a time: in a queue, in a segment, or built and waiting for the flush.
type core struct {
	opts        Options
	incarnation uint64

	runs        map[runKey]*run
	outstanding map[string]int // accounts, by requester
	accounts    *accountsRun   // the account trie in hand
	generation  uint64         // of the flat rows' view: counts requests

	// What is in nobody's hand, by the order in which it is handed out.
	writes  []*segment // built, and not written
	joins   []*split
	alone   []span // one unit each: its jobs were lost over and over
	surveys []*split
	large   spanHeap // one unit each
	parts   []span
	small   []span
	waiting int // units in small

	workers  []worker
	flushers []flusher
	buffers  []int // free ones
	jobs     map[uint64]*job
	numbers  uint64 // of jobs, segments and tokens

	touched []*run   // have something to tell
	failed  []*split // have failed and are not told yet

	storage, trie *stats // of the storage tries, of the account trie
	out           []any  // effects of the step in hand
}

// accountsRun is a BuildAccounts in hand.
type accountsRun struct {
	msg   *messages.BuildAccounts
	split *split
}

// Effects: what the shell is asked to do.
type (
	// handOut sends a job to a worker.
	handOut struct {
		worker int
		msg    any
	}
	// flush sends a segment's buffer to a flusher.
	flush struct {
		flusher int
		msg     *messages.FlushRows
	}
	// confirm asks a restarted child for a sign.
	confirm struct {
		flusher bool
		child   int
		token   uint64
	}
	// answer sends a reply.
	answer struct {
		to  *actor.PID
		msg any
	}
)

// What the shell tells besides messages.
type (
	// workerRestarted says that the worker failed and goes on; what it still has in its queue it
	// will do.
	workerRestarted struct{ worker int }
	// workerReplaced says that the worker failed for good and has a successor with an empty queue.
	workerReplaced   struct{ worker int }
	flusherRestarted struct{ flusher int }
	flusherReplaced  struct{ flusher int }
	// sampled is a look at the process.
	sampled struct{ usage usage }
)

// incarnationShift leaves an incarnation 2^40 numbers.
const incarnationShift = 40

func newCore(o Options, incarnation uint64) *core {
	c := &core{
		opts: o, incarnation: incarnation,
		runs: map[runKey]*run{}, outstanding: map[string]int{}, jobs: map[uint64]*job{},
		workers: make([]worker, o.Workers), flushers: make([]flusher, o.Flushers),
		storage: newStats(o.Workers), trie: newStats(o.Workers),
		// Answers to the incarnation before may still be in the mailbox: no number comes twice.
		numbers: incarnation << incarnationShift,
	}
	for w := range c.workers {
		c.workers[w].starved = true
	}
	for i := range o.Buffers {
		c.buffers = append(c.buffers, o.Buffers-1-i)
	}
	return c
}

// step is the whole protocol.
func (c *core) step(now time.Time, m any) []any {
	c.tick(now)
	c.out = nil
	switch m := m.(type) {
	case *messages.FindCredit:
		c.send(m.ReplyTo, &messages.StorageCredit{Incarnation: c.incarnation, Accounts: c.opts.Credit})
	case *messages.BuildStorage:
		c.buildStorage(now, m)
	case *messages.BuildAccounts:
		c.buildAccounts(now, m)
	case *messages.FindReport:
		c.send(m.ReplyTo, &messages.ReportFound{
			Storage: c.storage.report(now), Accounts: c.trie.report(now),
		})
	case *messages.TriesBuilt:
		c.triesBuilt(now, m)
	case *messages.TrieSurveyed:
		c.surveyed(now, m)
	case *messages.RowsWritten:
		c.rowsWritten(now, m)
	case *messages.RowsFlushed:
		c.rowsFlushed(now, m)
	case *messages.Confirmed:
		c.confirmed(now, m.Token)
	case workerRestarted:
		c.workers[m.worker].confirm = c.number()
		c.out = append(c.out, confirm{child: m.worker, token: c.workers[m.worker].confirm})
	case workerReplaced:
		c.workerLost(now, m.worker)
	case flusherRestarted:
		c.flushers[m.flusher].confirm = c.number()
		c.out = append(c.out, confirm{
			flusher: true, child: m.flusher, token: c.flushers[m.flusher].confirm,
		})
	case flusherReplaced:
		c.flusherLost(now, m.flusher, c.number())
	case sampled:
		c.storage.sample(now, m.usage)
		c.trie.sample(now, m.usage)
	default:
		panic(fmt.Sprintf("storageactor: the core does not know %T", m))
	}
	c.feed()
	c.tell(now)
	if invariants.Enabled {
		c.check()
	}
	return c.out
}

func (c *core) number() uint64 {
	c.numbers++
	return c.numbers
}

func (c *core) send(to *actor.PID, m any) { c.out = append(c.out, answer{to, m}) }

// tick counts the time since the last step for what it was spent on.
func (c *core) tick(now time.Time) {
	idle, buffers := 0, 0
	for w := range c.workers {
		if len(c.workers[w].jobs) == 0 {
			idle++
		}
		if c.workers[w].wantBuffer {
			buffers++
		}
	}
	c.phase().tick(now, idle > 0, c.hasWork(), buffers)
}

// phase is the stats of what is being built.
func (c *core) phase() *stats {
	if c.accounts != nil {
		return c.trie
	}
	return c.storage
}

// ending says that a phase has just ended and wants its last sample.
func (c *core) ending() bool { return c.storage.ending || c.trie.ending }

// hasWork says that something is in nobody's hand.
func (c *core) hasWork() bool {
	if len(c.writes)+len(c.joins)+len(c.alone)+len(c.surveys) > 0 ||
		len(c.large)+len(c.parts)+len(c.small) > 0 {
		return true
	}
	for w := range c.workers {
		if s := c.workers[w].seg; s != nil && len(s.rest) > 0 && !s.lost {
			return true
		}
	}
	return false
}

// feed gives every worker its next jobs: first those that have none, then one ahead, so that it
// lies there already when the one in hand ends, then more where jobs are small.
func (c *core) feed() {
	for depth, more := 1, true; more; depth++ {
		more = depth < jobsAhead
		for w := range c.workers {
			if len(c.workers[w].jobs) >= depth || !c.takes(&c.workers[w]) {
				continue
			}
			if c.feedOne(w) {
				more = true
			}
		}
	}
}

const (
	// jobsAhead is how many jobs a worker has whatever their size: one that it is at, and one that
	// lies with it.
	jobsAhead = 2
	// aheadLeaves is the weight of what lies with a worker, without the job that it is at, up to which
	// it has more than that, and aheadMost how many. The
	// StorageActor gets a core for sure only when a worker has used up its time slice of 10 ms,
	// where all cores build, and that may come late: by then no worker may be without a job.
	aheadLeaves = 1 << 17
	aheadMost   = 128
)

// takes says whether a worker may have one more job. Small ones beyond jobsAhead may be of its next
// segment: else it would run dry at each end of one.
func (c *core) takes(w *worker) bool {
	switch {
	case w.confirm != 0 || len(w.jobs) > 0 && w.jobs[0].isAlone():
		return false
	case len(w.jobs) < jobsAhead:
		return true
	case len(w.jobs) >= aheadMost || w.weight-w.jobs[0].weight >= aheadLeaves:
		return false
	}
	return c.writeFor(w) >= 0 || w.seg != nil && len(w.seg.rest) > 0 ||
		len(c.small) > 0 && len(c.buffers) > 0 && w.atOneSegment()
}

// atOneSegment says that all jobs of the worker are of one segment.
func (w *worker) atOneSegment() bool {
	for _, j := range w.jobs {
		if j.seg != w.jobs[0].seg {
			return false
		}
	}
	return true
}

// feedOne gives worker w one more job, if there is one for it.
func (c *core) feedOne(w int) bool {
	wk := &c.workers[w]
	wk.wantBuffer = false
	j := c.nextJob(w)
	if j == nil {
		wk.starved = wk.starved || len(wk.jobs) == 0 && !wk.wantBuffer
		return false
	}
	c.hand(w, j)
	return true
}

func (j *job) isAlone() bool { return j.seg != nil && j.seg.alone }

// expected is the weight of a job.
func (j *job) expected() int {
	if j.write {
		return 1 + j.seg.bytes/leafBytes
	}
	return expected(j.span)
}

// hand gives worker w a job.
func (c *core) hand(w int, j *job) {
	wk := &c.workers[w]
	j.id = c.number()
	j.follows = !wk.starved
	wk.starved = false
	wk.jobs = append(wk.jobs, j)
	j.weight = j.expected()
	wk.weight += j.weight
	c.jobs[j.id] = j
	if j.seg != nil {
		j.seg.jobs++
	}
	c.out = append(c.out, handOut{w, c.message(j)})
}

// message makes the job's message; a job handed out again is a new message.
func (c *core) message(j *job) any {
	switch {
	case j.survey != nil:
		return &messages.SurveyTrie{
			Job: j.id, Unit: j.survey.unit, PartLeaves: c.opts.PartLeaves, MaxParts: maxParts,
			Generation: c.generation, Follows: j.follows,
		}
	case j.write:
		return &messages.WriteRows{
			Job: j.id, Buffer: j.seg.buffer, Done: j.seg.flush.Done, Follows: j.follows,
		}
	case j.join != nil:
		return &messages.JoinTrie{
			Job: j.id, Unit: j.join.unit, Parts: j.join.collect(nil), Buffer: j.seg.buffer,
			Fresh: true, Follows: j.follows,
		}
	}
	m := &messages.BuildTries{
		Job: j.id, Units: j.span.group.units[j.span.lo:j.span.hi], Kind: j.seg.kind,
		Buffer: j.seg.buffer, Fresh: len(j.seg.taken) == 1, Generation: c.generation,
		Follows: j.follows,
	}
	switch j.seg.kind {
	case messages.KindBatch:
		m.Limit = c.opts.LargeLeaves
	case messages.KindLarge:
		m.Limit = 2 * c.opts.SplitLeaves
	case messages.KindRange:
		m.Limit = 4 * c.opts.PartLeaves
	}
	return m
}

// check proves that no buffer is lost and none is used twice, and that the bounds hold.
func (c *core) check() {
	owners := make([]int, c.opts.Buffers)
	for _, b := range c.buffers {
		owners[b]++
	}
	segs := map[*segment]bool{}
	for w := range c.workers {
		wk := &c.workers[w]
		invariants.Check(len(wk.jobs) <= aheadMost, "worker %d has %d jobs", w, len(wk.jobs))
		if wk.seg != nil {
			segs[wk.seg] = true
		}
		for _, j := range wk.jobs {
			if j.seg != nil {
				segs[j.seg] = true
			}
		}
	}
	for f := range c.flushers {
		for _, s := range c.flushers[f].segs {
			segs[s] = true
		}
	}
	for _, s := range c.writes {
		segs[s] = true
	}
	for s := range segs {
		owners[s.buffer]++
	}
	for b, n := range owners {
		invariants.Check(n == 1, "buffer %d has %d owners", b, n)
	}
	for r, n := range c.outstanding {
		invariants.Check(n >= 0 && n <= c.opts.Credit, "%s has %d outstanding", r, n)
	}
}
