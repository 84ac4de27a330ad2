package storageactor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// sim plays everybody but the core: requesters, workers, flushers and the shell. Queues are in
// order, as mailboxes are; who is next is drawn.
type sim struct {
	t    *testing.T
	r    *rand.Rand
	core *core
	now  time.Time

	inbox    []any
	workers  [][]any
	flushers [][]any
	dead     map[any]bool // workers and flushers whose successor the core does not know yet

	leaves   map[common.Hash]int  // of each account, as it is
	poison   map[common.Hash]bool // a worker that has it in hand dies
	holding  []map[unitKey]bool   // rows in each buffer, and whose they are
	stored   map[unitKey]bool
	crashes  int // that may still happen
	flushErr int // percent of flushes that fail

	answered map[common.Hash]messages.StorageResult
	owed     int
	done     []state.KeyRange
	finished map[uint64]bool
	accounts *messages.AccountsBuilt
	most     int // leaves of a job that was neither large nor a range
}

// unitKey is an account, or a part of its trie.
type unitKey struct {
	account common.Hash
	prefix  trie.Path
	join    bool
}

func keyOf(u *messages.TrieUnit) unitKey { return unitKey{account: u.Account, prefix: u.Prefix} }

func newSim(t *testing.T, seed uint64, o Options) *sim {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return &sim{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), core: newCore(o, 1), now: time.Unix(1, 0),
		workers: make([][]any, o.Workers), flushers: make([][]any, o.Flushers),
		leaves: map[common.Hash]int{}, poison: map[common.Hash]bool{},
		holding: make([]map[unitKey]bool, o.Buffers), stored: map[unitKey]bool{},
		answered: map[common.Hash]messages.StorageResult{},
		finished: map[uint64]bool{}, dead: map[any]bool{},
	}
}

var requester = actor.NewPID("local", "requester")

// ask makes a request for accounts with so many leaves each; known tells whether it says so.
func (s *sim) ask(request uint64, from, to common.Hash, accounts []common.Hash, leaves []int,
	known bool) {
	m := &messages.BuildStorage{Request: request, From: from, To: to, ReplyTo: requester}
	for i, a := range accounts {
		s.leaves[a] = leaves[i]
		acc := messages.StorageAccount{Account: a}
		if known {
			acc.Leaves = leaves[i]
		}
		m.Accounts = append(m.Accounts, acc)
	}
	s.owed += len(accounts)
	s.inbox = append(s.inbox, m)
}

// step has somebody do something; false: nobody can.
func (s *sim) step() bool {
	s.now = s.now.Add(time.Duration(1+s.r.IntN(1000)) * time.Microsecond)
	var can []func()
	if len(s.inbox) > 0 {
		can = append(can, s.deliver, s.deliver)
	}
	for w := range s.workers {
		if len(s.workers[w]) > 0 {
			can = append(can, func() { s.work(w) })
		}
	}
	for f := range s.flushers {
		if len(s.flushers[f]) > 0 {
			can = append(can, func() { s.flush(f) })
		}
	}
	if len(can) == 0 {
		return false
	}
	can[s.r.IntN(len(can))]()
	return true
}

func (s *sim) deliver() {
	m := s.inbox[0]
	s.inbox = s.inbox[1:]
	switch m.(type) {
	case workerReplaced, flusherReplaced:
		delete(s.dead, m)
	}
	for _, e := range s.core.step(s.now, m) {
		switch e := e.(type) {
		case handOut:
			s.toWorker(e.worker, e.msg)
			if n := len(s.core.workers[e.worker].jobs); n > aheadMost {
				s.t.Fatalf("worker %d has %d jobs", e.worker, n)
			}
		case flush:
			s.toFlusher(e.flusher, e.msg)
		case confirm:
			if m := (&messages.Confirm{Token: e.token}); e.flusher {
				s.toFlusher(e.child, m)
			} else {
				s.toWorker(e.child, m)
			}
		case answer:
			s.reply(e.msg)
		}
	}
}

func (s *sim) toWorker(w int, m any) {
	if !s.dead[workerReplaced{w}] {
		s.workers[w] = append(s.workers[w], m)
	}
}

func (s *sim) toFlusher(f int, m any) {
	if !s.dead[flusherReplaced{f}] {
		s.flushers[f] = append(s.flushers[f], m)
	}
}

func (s *sim) reply(m any) {
	switch m := m.(type) {
	case *messages.StorageBuilt:
		for _, r := range m.Results {
			if _, ok := s.answered[r.Account]; ok {
				s.t.Fatalf("account %s is answered twice", r.Account)
			}
			s.answered[r.Account] = r
			s.owed--
			if r.Err == nil && !s.isStored(&r) {
				s.t.Fatalf("account %s is answered before its rows are stored", r.Account)
			}
		}
		if m.Done {
			s.finished[m.Request] = true
		}
	case *messages.AccountsBuilt:
		s.accounts = m
	case *messages.BuildRejected:
		s.t.Fatal(m.Err)
	}
}

func (s *sim) isStored(r *messages.StorageResult) bool {
	if r.Kind != messages.KindRange {
		return s.stored[unitKey{account: r.Account}]
	}
	return s.stored[unitKey{account: r.Account, join: true}]
}

// dies draws whether who has these units in hand dies; poison always kills.
func (s *sim) dies(units []messages.TrieUnit) bool {
	for i := range units {
		if s.poison[units[i].Account] && !units[i].Bare {
			return true
		}
	}
	if s.crashes > 0 && s.r.IntN(20) == 0 {
		s.crashes--
		return true
	}
	return false
}

func (s *sim) work(w int) {
	m := s.workers[w][0]
	s.workers[w] = s.workers[w][1:]
	var units []messages.TrieUnit
	buffer := -1
	switch m := m.(type) {
	case *messages.BuildTries:
		units, buffer = m.Units, m.Buffer
	case *messages.SurveyTrie:
		units = []messages.TrieUnit{m.Unit}
	case *messages.JoinTrie:
		units, buffer = []messages.TrieUnit{m.Unit}, m.Buffer
	case *messages.WriteRows:
		buffer = m.Buffer
	case *messages.Confirm:
		s.inbox = append(s.inbox, &messages.Confirmed{Token: m.Token})
		return
	}
	if s.dies(units) {
		if buffer >= 0 && s.holding[buffer] != nil {
			s.holding[buffer][unitKey{prefix: pathOf("dead")}] = true // nobody may flush it
		} else if buffer >= 0 {
			s.holding[buffer] = map[unitKey]bool{{prefix: pathOf("dead")}: true}
		}
		if s.r.IntN(4) == 0 {
			s.workers[w] = nil
			s.dead[workerReplaced{w}] = true
			s.inbox = append(s.inbox, workerReplaced{w})
		} else {
			s.inbox = append(s.inbox, workerRestarted{w})
		}
		return
	}
	times := messages.JobTimes{Started: s.now, Ended: s.now.Add(time.Microsecond)}
	switch m := m.(type) {
	case *messages.BuildTries:
		s.inbox = append(s.inbox, s.build(m, times))
	case *messages.SurveyTrie:
		s.inbox = append(s.inbox, s.survey(m, times))
	case *messages.JoinTrie:
		s.join(m, times)
	case *messages.WriteRows:
		s.write(m, times)
	}
}

// fill empties a buffer where it has to be fresh, and puts a unit's rows into it.
func (s *sim) fill(buffer int, fresh bool, keys ...unitKey) {
	if fresh || s.holding[buffer] == nil {
		s.holding[buffer] = map[unitKey]bool{}
	}
	for _, k := range keys {
		s.holding[buffer][k] = true
	}
}

func (s *sim) build(m *messages.BuildTries, t messages.JobTimes) *messages.TriesBuilt {
	out := &messages.TriesBuilt{Job: m.Job, Times: t, Buffered: s.r.IntN(100)}
	s.fill(m.Buffer, m.Fresh)
	for i := range m.Units {
		u := &m.Units[i]
		var o messages.TrieOutcome
		n := s.leaves[u.Account]
		if u.Part {
			n = u.Leaves
			o.Part = &trie.Part{}
		}
		switch {
		case u.Bare:
		case n > m.Limit:
			o.Estimate, o.Part = n, nil
		default:
			o.Leaves, o.Root = n, u.Account
			s.fill(m.Buffer, false, keyOf(u))
			if m.Kind == messages.KindBatch {
				s.most = max(s.most, n)
			}
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out
}

// survey splits into two to five parts of uneven size, the first of which may be far too large.
func (s *sim) survey(m *messages.SurveyTrie, t messages.JobTimes) *messages.TrieSurveyed {
	out := &messages.TrieSurveyed{Job: m.Job, Times: t}
	n := s.leaves[m.Unit.Account]
	if m.Unit.Part {
		n = m.Unit.Leaves
	}
	for x := range byte(2 + s.r.IntN(4)) {
		part := m.Unit
		part.Part, part.Prefix = true, m.Unit.Prefix.Child(x)
		part.Leaves = max(n/4, 1)
		if x == 0 && s.r.IntN(3) == 0 && part.Prefix.Len < 3 {
			part.Leaves = 5 * m.PartLeaves
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

func (s *sim) join(m *messages.JoinTrie, t messages.JobTimes) {
	s.fill(m.Buffer, m.Fresh, unitKey{account: m.Unit.Account, join: true})
	out := &messages.TriesBuilt{
		Job: m.Job, Times: t, Outcomes: []messages.TrieOutcome{{Root: m.Unit.Account}},
	}
	stored := 0
	for k := range s.stored {
		if k.account == m.Unit.Account && k.prefix.Len > 0 {
			stored++
		}
	}
	if len(m.Parts) == 0 || len(m.Parts) > stored {
		s.t.Fatalf("%d parts are joined, %d are stored", len(m.Parts), stored)
	}
	s.inbox = append(s.inbox, out)
}

// write fails now and then, as flushes do.
func (s *sim) write(m *messages.WriteRows, t messages.JobTimes) {
	out := &messages.RowsWritten{Job: m.Job, Times: t}
	if s.r.IntN(200) < s.flushErr {
		s.holding[m.Buffer] = nil
		out.Err = errPlanted
	}
	s.inbox = append(s.inbox, out)
}

func (s *sim) flush(f int) {
	m := s.flushers[f][0]
	s.flushers[f] = s.flushers[f][1:]
	if c, ok := m.(*messages.Confirm); ok {
		s.inbox = append(s.inbox, &messages.Confirmed{Token: c.Token})
		return
	}
	msg := m.(*messages.FlushRows)
	if s.crashes > 0 && s.r.IntN(20) == 0 {
		s.crashes--
		if s.r.IntN(4) == 0 {
			s.flushers[f] = nil
			s.dead[flusherReplaced{f}] = true
			s.inbox = append(s.inbox, flusherReplaced{f})
		} else {
			s.inbox = append(s.inbox, flusherRestarted{f})
		}
		return
	}
	out := &messages.RowsFlushed{Segment: msg.Segment}
	if s.r.IntN(100) < s.flushErr {
		out.Err = errPlanted
	} else {
		for k := range s.holding[msg.Buffer] {
			if k.prefix == pathOf("dead") {
				s.t.Fatal("a buffer is flushed whose worker died")
			}
			s.stored[k] = true
		}
		s.done = append(s.done, msg.Done...)
	}
	s.holding[msg.Buffer] = nil
	s.inbox = append(s.inbox, out)
}

// settle runs until nobody can do anything, and checks that nothing is owed.
func (s *sim) settle() {
	for n := 0; s.step(); n++ {
		if n > 200_000 {
			s.t.Fatal("no end")
		}
	}
	if s.owed != 0 {
		s.t.Fatalf("%d accounts are not answered", s.owed)
	}
	if n := len(s.core.buffers); n != s.core.opts.Buffers {
		s.t.Fatalf("%d of %d buffers are free", n, s.core.opts.Buffers)
	}
	for r, n := range s.core.outstanding {
		if n != 0 {
			s.t.Fatalf("%s has %d outstanding", r, n)
		}
	}
	if len(s.core.runs) != 0 || len(s.core.jobs) != 0 || s.core.hasWork() {
		s.t.Fatal("something is left")
	}
}

func smallOptions(r *rand.Rand) Options {
	return Options{
		Workers: 1 + r.IntN(4), LargeLeaves: 50, SplitLeaves: 200, PartLeaves: 50,
		BatchAccounts: 1 + r.IntN(8), BatchLeaves: 1 + r.IntN(200), SegmentAccounts: 1 + r.IntN(40),
		SegmentLeaves: 1 + r.IntN(2000), SegmentBytes: 1 + r.IntN(150), Credit: 10_000,
	}
}

// draw makes accounts, some of them large and huge.
func draw(r *rand.Rand, n int) (accounts []common.Hash, leaves []int) {
	accounts = randomHashes(r, n)
	for range accounts {
		size := r.IntN(10)
		switch r.IntN(12) {
		case 0:
			size = 45 + r.IntN(100)
		case 1:
			size = 150 + r.IntN(5000)
		}
		leaves = append(leaves, size)
	}
	return accounts, leaves
}

// drive plays a random history: requests, crashes, poison and failing flushes as they are drawn.
func drive(t *testing.T, seed uint64, crashes, flushErr int, poison bool) *sim {
	r := rand.New(rand.NewPCG(seed, 1))
	s := newSim(t, seed, smallOptions(r))
	s.crashes, s.flushErr = crashes, flushErr
	accounts, leaves := draw(r, 1+r.IntN(300))
	if poison {
		for range 1 + r.IntN(3) {
			s.poison[accounts[r.IntN(len(accounts))]] = true
		}
	}
	from, request := common.Hash{}, uint64(0)
	for len(accounts) > 0 {
		n := 1 + r.IntN(len(accounts))
		request++
		to := accounts[n-1]
		if n == len(accounts) {
			to = common.MaxHash
		}
		s.ask(request, from, to, accounts[:n], leaves[:n], r.IntN(2) == 0)
		accounts, leaves, from = accounts[n:], leaves[n:], successor(to)
		for range r.IntN(50) {
			s.step()
		}
	}
	s.settle()
	if len(s.finished) != int(request) {
		t.Fatalf("%d of %d requests are done", len(s.finished), request)
	}
	if s.most > s.core.opts.LargeLeaves {
		t.Fatalf("%d leaves in a batch's account", s.most)
	}
	return s
}

func TestEveryAccountIsAnsweredOnceAndCovered(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := drive(t, seed, 0, 0, false)
			for a, r := range s.answered {
				if r.Err != nil || r.Root != a {
					t.Fatalf("%+v", r)
				}
			}
			s.covers(t)
		})
	}
}

// covers checks that the flushes said of every account hash, once, that it is done.
func (s *sim) covers(t *testing.T) {
	t.Helper()
	slices.SortFunc(s.done, func(a, b state.KeyRange) int { return a.From.Cmp(b.From) })
	next := common.Hash{}
	for i, r := range s.done {
		if r.From != next || i > 0 && next == (common.Hash{}) {
			t.Fatalf("range %d begins at %s, want %s", i, r.From, next)
		}
		next = successor(r.To)
	}
	if next != (common.Hash{}) {
		t.Fatalf("nothing covers %s", next)
	}
}

func TestAnyDeathOfAnyChildCostsNothingButWork(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := drive(t, seed, 1+int(seed%40), 0, false)
			failed := 0
			for _, r := range s.answered {
				if r.Err != nil {
					if !errors.Is(r.Err, ErrWorkerFailed) {
						t.Fatal(r.Err)
					}
					failed++
				}
			}
			// Four deaths in a row over one account can be drawn, but hardly.
			if failed > 2 {
				t.Fatalf("%d accounts failed", failed)
			}
			if failed == 0 {
				s.covers(t)
			}
		})
	}
}

func TestAnAccountThatKillsWorkersFailsAlone(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := drive(t, seed, 0, 0, true)
			for a, r := range s.answered {
				if s.poison[a] != errors.Is(r.Err, ErrWorkerFailed) || !s.poison[a] && r.Err != nil {
					t.Fatalf("poison %v: %+v", s.poison[a], r)
				}
			}
		})
	}
}

func TestAFailedFlushFailsItsAccountsAndNoOthers(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := drive(t, seed, int(seed%5), 10, false)
			for _, r := range s.answered {
				if r.Err != nil && !errors.Is(r.Err, ErrStore) && !errors.Is(r.Err, ErrWorkerFailed) {
					t.Fatal(r.Err)
				}
			}
		})
	}
}

func TestTheAccountTrieIsBuiltThroughDeaths(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := drive(t, seed, 0, 0, false)
			s.crashes = int(seed % 6)
			s.leaves[common.Hash{}] = 1000
			s.inbox = append(s.inbox, &messages.BuildAccounts{Request: 1000, ReplyTo: requester})
			s.settle()
			a := s.accounts
			if a == nil || a.Err != nil && !errors.Is(a.Err, ErrWorkerFailed) {
				t.Fatalf("%+v", a)
			}
		})
	}
}
