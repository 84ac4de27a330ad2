package storageactor

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/trie"
)

// group is a list of units, in ascending order, with what became of them: the accounts of a
// request, or the parts of a trie that was split. The units never change, because messages to
// workers have slices of them.
type group struct {
	units    []messages.TrieUnit
	progress []progress
	run      *run   // of a request's accounts
	split    *split // of a trie's parts
}

// progress is what became of a unit.
type progress struct {
	messages.TrieOutcome
	worker   int
	kind     messages.StorageKind
	attempts uint8  // jobs lost with it
	split    *split // it is built in parts
	first    time.Time
	last     time.Time
}

func newGroup(units []messages.TrieUnit) *group {
	return &group{units: units, progress: make([]progress, len(units))}
}

// abandoned says that the group's units need not be built any more.
func (g *group) abandoned() bool { return g.split != nil && g.split.root().failed != nil }

// run is a BuildStorage in hand.
type run struct {
	msg    *messages.BuildStorage
	group  *group
	left   int // units not answered
	ready  []messages.StorageResult
	orphan []messages.OrphanStorage
	err    error // of what lies between the accounts

	touched bool // something is ready
}

// runKey names a request.
type runKey struct {
	requester string
	request   uint64
}

// split is a trie that is built in parts.
type split struct {
	unit     messages.TrieUnit
	parent   *group // has the unit at index; nil: the account trie as a whole
	index    int
	parts    *group
	left     int // parts not stored
	failed   error
	attempts uint8
	orphans  []messages.OrphanStorage

	leaves, rows int
	duration     time.Duration
	first, last  time.Time
	joinRoot     common.Hash
	worker       int // who joined them
}

// root is the split of the whole trie.
func (s *split) root() *split {
	for s.parent != nil && s.parent.split != nil {
		s = s.parent.split
	}
	return s
}

// collect appends the parts in ascending order.
func (s *split) collect(parts []trie.Part) []trie.Part {
	for i := range s.parts.progress {
		p := &s.parts.progress[i]
		if p.split != nil {
			parts = p.split.collect(parts)
		} else if p.Part != nil {
			parts = append(parts, *p.Part)
		}
	}
	return parts
}

// span is a contiguous run of a group's units.
type span struct {
	group  *group
	lo, hi int
	leaves int // of a single unit that turned out larger than was known
}

func (s span) len() int { return s.hi - s.lo }

// follows says that no account lies between s and the span before it.
func (s span) follows(before span) bool {
	if s.group == before.group {
		return s.lo == before.hi
	}
	if s.group.run == nil || before.group.run == nil {
		return false
	}
	return s.lo == 0 && before.hi == len(before.group.units) &&
		before.group.run.msg.To != common.MaxHash &&
		successor(before.group.run.msg.To) == s.group.run.msg.From
}

// unitCost is what a unit costs besides its leaves, in leaves.
const unitCost = 16

func weight(s span) int {
	n := s.len() * unitCost
	for i := s.lo; i < s.hi; i++ {
		n += s.group.units[i].Leaves
	}
	return n + s.leaves
}

// usualLeaves is what an account has whose leaves are not known: mainnet's mean.
const usualLeaves = 59

// expected is the weight of a job.
func expected(s span) int {
	n := weight(s)
	for i := s.lo; i < s.hi; i++ {
		if u := &s.group.units[i]; u.Leaves == 0 && s.leaves == 0 && !u.Bare {
			n += usualLeaves
		}
	}
	return n
}

// leafBytes is how many bytes of a buffer a worker writes in the time that it takes for a leaf.
const leafBytes = 256

// segment is a run of units that one worker builds into one buffer, job by job, and that is stored
// as a whole.
type segment struct {
	id       uint64
	worker   int
	buffer   int
	kind     messages.StorageKind
	alone    bool   // its only unit gets a worker to itself
	rest     []span // not handed out
	taken    []span // handed out, each a job
	jobs     int    // handed out and not answered
	accounts int
	leaves   int
	bytes    int                 // in the buffer
	flush    *messages.FlushRows // its last message, from when all is built
	flushNo  uint64
	join     *split // its only job joins this one's parts
	closed   bool   // nothing more is handed out
	lost     bool   // with a worker; it is run again when the last job is back
	requeued bool
}

func (s *segment) restWeight() (n int) {
	for _, sp := range s.rest {
		n += weight(sp)
	}
	return n
}

// take gives the next job's span: up to so many accounts and known leaves, but one at least.
func (s *segment) take(accounts, leaves int) span {
	sp := &s.rest[0]
	job := span{group: sp.group, lo: sp.lo, hi: sp.lo, leaves: sp.leaves}
	for job.hi < sp.hi && job.len() < accounts {
		if leaves -= sp.group.units[job.hi].Leaves; leaves < 0 && job.len() > 0 {
			break
		}
		job.hi++
	}
	if sp.lo = job.hi; sp.lo == sp.hi {
		s.rest = s.rest[1:]
	}
	return job
}

// stealHalf takes the upper half of what is not handed out, by weight.
func (s *segment) stealHalf() (stolen []span) {
	half := s.restWeight() / 2
	for len(s.rest) > 0 {
		sp := &s.rest[len(s.rest)-1]
		at := sp.hi
		for at > sp.lo && (half > 0 || len(stolen) == 0 && at == sp.hi) {
			at--
			half -= sp.group.units[at].Leaves + unitCost + sp.leaves
		}
		if at == sp.hi {
			break
		}
		stolen = append([]span{{group: sp.group, lo: at, hi: sp.hi, leaves: sp.leaves}}, stolen...)
		if sp.hi = at; sp.lo == sp.hi {
			s.rest = s.rest[:len(s.rest)-1]
		}
		if half <= 0 {
			break
		}
	}
	return stolen
}

// job is one message in a worker's hand.
type job struct {
	id      uint64
	seg     *segment
	span    span
	survey  *split
	join    *split
	write   bool // what is built of the segment is written
	weight  int  // in leaves
	follows bool // there was work when the worker's job before it ended
}

// worker is a TrieBuild child as the core sees it.
type worker struct {
	jobs       []*job // the first is being run, the others lie with the worker already
	weight     int    // of the jobs
	seg        *segment
	confirm    uint64 // awaited after a failure: nothing is handed out before; 0: none
	starved    bool   // nothing was left to hand out when it asked
	wantBuffer bool
}

// flusher is a RowFlush child as the core sees it.
type flusher struct {
	segs    []*segment
	confirm uint64
}
