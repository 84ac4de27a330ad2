package storageactor

import (
	"cmp"
	"encoding/hex"
	"slices"
	"time"

	"github.com/balsa-sync/balsa/messages"
)

// usage is what the operating system says of the process, since its begin.
type usage struct {
	user, system time.Duration
	rss          int64 // bytes in memory now
	rssMax       int64 // bytes in memory at the most
}

// stats are the measurements of a phase: the storage tries, or the account trie. Its times come
// from the workers' and the core's clock.
type stats struct {
	workers    int
	open       bool // something is asked for and not answered
	ending     bool // it was until now: the last sample is due
	began      time.Time
	ended      time.Time // of the last answer
	lastTick   time.Time
	waitSince  time.Time // up to here dispatcher is counted
	busy, cpu  time.Duration
	write      time.Duration // of busy
	idle       time.Duration
	dispatcher time.Duration
	input      time.Duration
	buffer     time.Duration
	turnover   histogram
	jobs, lost int
	stolen     int
	handedBack int
	lastEnds   []time.Time // by worker

	flushes   int
	flushTime time.Duration
	bytes     int64

	accounts, failed     int
	leaves, rows         int
	built                int // leaves in tries that are built, stored or not
	orphans, orphanSlots int
	tries                histogram
	largest              []messages.LargeAccount // descending by leaves

	samples   []point // a ring
	sampled   int
	first     usage
	latest    usage
	rssPeak   int64
	hasUsage  bool
	lastUsage usage // before the phase began
}

// point is the progress at a time.
type point struct {
	at               time.Time
	accounts, leaves int
	cpu              time.Duration
}

const (
	// maxSamples is how many points are kept: fifteen minutes of one a second.
	maxSamples = 15*60 + 1
	// maxLargest is how many of the largest accounts are named.
	maxLargest = 30
)

func newStats(workers int) *stats {
	return &stats{workers: workers, lastEnds: make([]time.Time, workers)}
}

// begin begins the phase, or goes on with it.
func (s *stats) begin(now time.Time) {
	if s.began.IsZero() {
		s.began, s.ended = now, now
		for w := range s.lastEnds {
			s.lastEnds[w] = now
		}
		s.first, s.latest = s.lastUsage, s.lastUsage
	}
	s.open, s.lastTick = true, now
}

// end notes that all that was asked for is answered.
func (s *stats) end(now time.Time) {
	if s.open {
		s.open, s.ending, s.ended = false, true, now
	}
}

// tick counts the time since the last step.
func (s *stats) tick(now time.Time, idle, work bool, buffers int) {
	if !s.open {
		return
	}
	dt := now.Sub(s.lastTick)
	s.buffer += dt * time.Duration(buffers)
	switch {
	case idle && work:
		s.wait(s.lastTick, now)
	case idle:
		s.input += dt
	}
	s.lastTick = now
}

// wait counts a time in which a worker had nothing in hand though there was work, each moment once.
func (s *stats) wait(from, to time.Time) {
	if from.Before(s.waitSince) {
		from = s.waitSince
	}
	if to.After(from) {
		s.dispatcher += to.Sub(from)
		s.waitSince = to
	}
}

// job counts a job that worker w did, from when it was taken up until it was answered. waited says
// that the worker had nothing in hand when the answer came though there was work.
func (s *stats) job(now time.Time, w int, t messages.JobTimes, j *job, waited bool) {
	s.jobs++
	s.busy += t.Ended.Sub(t.Started)
	if j.write {
		s.write += t.Ended.Sub(t.Started)
	}
	s.cpu += t.CPU
	if gap := t.Started.Sub(s.lastEnds[w]); t.Idle == 0 || t.Idle > gap {
		s.idle += max(gap, 0)
	} else {
		s.idle += t.Idle
		s.busy += gap - t.Idle // for answering
	}
	if j.follows {
		s.turnover.add(t.Idle)
	}
	s.lastEnds[w] = t.Ended
	if waited {
		s.wait(t.Ended, now)
	}
}

func (s *stats) flush(m *messages.RowsFlushed) {
	s.flushes++
	s.flushTime += m.Times.Ended.Sub(m.Times.Started)
	s.bytes += m.Bytes
}

// part counts a part of the account trie.
func (s *stats) part(p *progress) {
	s.accounts += p.Leaves
	s.leaves += p.Leaves
	s.rows += p.Rows
	s.tries.add(p.Duration)
}

// account counts an account that was answered.
func (s *stats) account(now time.Time, r *messages.StorageResult, first, last time.Time) {
	s.accounts++
	s.ended = now
	if r.Err != nil {
		s.failed++
		return
	}
	s.leaves += r.Leaves
	s.rows += r.Rows
	s.tries.add(r.Duration)
	if n := len(s.largest); r.Leaves == 0 || n == maxLargest && r.Leaves <= s.largest[n-1].Leaves {
		return
	}
	l := messages.LargeAccount{
		HashPrefix: hex.EncodeToString(r.Account[:4]), Leaves: r.Leaves,
		Seconds: r.Duration.Seconds(), Kind: r.Kind.String(),
		FirstS: first.Sub(s.began).Seconds(), LastS: last.Sub(s.began).Seconds(),
	}
	at, _ := slices.BinarySearchFunc(s.largest, l, func(a, b messages.LargeAccount) int {
		return cmp.Compare(b.Leaves, a.Leaves)
	})
	s.largest = slices.Insert(s.largest, at, l)
	s.largest = s.largest[:min(len(s.largest), maxLargest)]
}

// sample notes the process and the progress.
func (s *stats) sample(now time.Time, u usage) {
	s.lastUsage = u
	if !s.open && !s.ending {
		return
	}
	s.ending = false
	if !s.hasUsage {
		s.hasUsage = true
		if s.first == (usage{}) {
			s.first = u
		}
	}
	s.latest = u
	s.rssPeak = max(s.rssPeak, u.rss)
	p := point{now, s.accounts, s.built, u.user + u.system}
	if len(s.samples) < maxSamples {
		s.samples = append(s.samples, p)
	} else {
		s.samples[s.sampled%maxSamples] = p
	}
	s.sampled++
}

// rate is the throughput over a window that ends at now.
func (s *stats) rate(now time.Time, window time.Duration) messages.Rate {
	from := point{at: s.began, cpu: s.first.user + s.first.system}
	n := len(s.samples)
	for i := range n { // the oldest first
		p := s.samples[(s.sampled+i)%n]
		if now.Sub(p.at) <= window {
			break
		}
		from = p
	}
	d := now.Sub(from.at).Seconds()
	if d <= 0 {
		return messages.Rate{}
	}
	return messages.Rate{
		WindowS: d, AccountsPerS: float64(s.accounts-from.accounts) / d,
		LeavesPerS:      float64(s.built-from.leaves) / d,
		ProcessCPUCores: (s.latest.user + s.latest.system - from.cpu).Seconds() / d,
	}
}
