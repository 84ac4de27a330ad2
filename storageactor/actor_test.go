package storageactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// rig is a StorageActor at the top of an actor system, and a client of it.
type rig struct {
	t      *testing.T
	sys    *actors.System
	pid    *actor.PID
	client *Client

	mu      sync.Mutex
	results map[common.Hash]messages.StorageResult
	orphans []messages.OrphanStorage
}

func newRig(t *testing.T, s Store, o Options, onMessage func(any)) *rig {
	t.Helper()
	r := &rig{t: t, results: map[common.Hash]messages.StorageResult{}}
	var err error
	r.sys, err = actors.NewSystem(actors.Options{
		Restarts: actors.Restarts{Max: 3, Backoff: time.Microsecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Restarts.Backoff = time.Microsecond
	spec, err := Spec(Config{
		System: r.sys, Store: s, Options: o, onMessage: onMessage,
		Tracer: noop.NewTracerProvider().Tracer(""), Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		r.pid, err = r.sys.Spawn(spec)
	}
	if err == nil {
		r.client, err = NewClient(r.sys, r.pid, r.take)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	if err := r.sys.Shutdown(context.Background()); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) take(results []messages.StorageResult, orphans []messages.OrphanStorage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range results {
		if _, ok := r.results[res.Account]; ok {
			r.t.Errorf("account %s is answered twice", res.Account)
		}
		r.results[res.Account] = res
	}
	r.orphans = append(r.orphans, orphans...)
}

// build asks for all accounts in runs of so many, and waits.
func (r *rig) build(accounts []messages.StorageAccount, run int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	from := common.Hash{}
	for i := 0; ; i += run {
		piece := accounts[i:min(i+run, len(accounts))]
		to := common.MaxHash
		if i+run < len(accounts) {
			to = piece[len(piece)-1].Account
		}
		if err := r.client.Build(ctx, from, to, piece); err != nil {
			r.t.Fatal(err)
		}
		if to == common.MaxHash {
			break
		}
		from = successor(to)
	}
	if err := r.client.Wait(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// world is a state in memory with go-ethereum's roots.
func world(t *testing.T, seed uint64, sizes ...int) (*memStore, []messages.StorageAccount) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	s := newMemStore()
	var accounts []messages.StorageAccount
	for i, h := range randomHashes(r, len(sizes)) {
		leaves := hashed(r, sizes[i])
		s.add(h, leaves)
		root := stackRoot(t, leaves)
		accounts = append(accounts, messages.StorageAccount{Account: h, Expected: root})
		s.accounts = append(s.accounts, messages.StorageLeaf{
			Slot: h, Value: slimAccount(uint64(i+1), root),
		})
	}
	return s, accounts
}

// mixed are sizes as mainnet has them: most tries are tiny, some are large, few are huge.
func mixed(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		switch {
		case i%97 == 50:
			sizes[i] = 700 // huge, by smallThresholds
		case i%31 == 7:
			sizes[i] = 120 // large
		case i%3 == 0:
			sizes[i] = i % 40
		default:
			sizes[i] = 1 + i%2
		}
	}
	return sizes
}

// smallThresholds make tries of hundreds of leaves what tries of a hundred thousand are.
func smallThresholds(workers int) Options {
	return Options{
		Workers: workers, LargeLeaves: 100, SplitLeaves: 300, PartLeaves: 50, BatchAccounts: 8,
		SegmentAccounts: 64, Credit: 500,
	}
}

func (r *rig) check(accounts []messages.StorageAccount) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.results) != len(accounts) {
		r.t.Fatalf("%d results for %d accounts", len(r.results), len(accounts))
	}
	for _, a := range accounts {
		if res := r.results[a.Account]; res.Err != nil || res.Root != a.Expected {
			r.t.Fatalf("%+v, want root %s", res, a.Expected)
		}
	}
}

// Whatever the batches, the workers and the splits: the same roots and rows, all of it covered.
func TestRowsAreTheSameHoweverTheyAreBuilt(t *testing.T) {
	sizes := mixed(1500)
	var want map[string]string
	var wantRoot common.Hash
	for _, tc := range []struct {
		name                        string
		workers, batch, split, part int
		known                       bool
	}{
		{"one worker, unbatched, nothing split", 1, 1, 1 << 20, 1 << 20, true},
		{"one worker", 1, 8, 300, 50, true},
		{"three workers, sizes unknown", 3, 8, 300, 50, false},
		{"four workers, tiny parts", 4, 64, 100, 3, true},
		{"batches of 63", 2, 63, 300, 50, false},
		{"batches of 65", 2, 65, 300, 50, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, accounts := world(t, 1, sizes...)
			if tc.known {
				for i := range accounts {
					accounts[i].Leaves = sizes[i]
				}
			}
			o := smallThresholds(tc.workers)
			o.BatchAccounts, o.SplitLeaves, o.PartLeaves = tc.batch, tc.split, tc.part
			r := newRig(t, s, o, nil)
			r.build(accounts, 211)
			r.check(accounts)
			all := []state.KeyRange{{To: common.MaxHash}}
			if got := s.ranges(t); !slices.Equal(got, all) {
				t.Fatalf("done: %v", got)
			}
			built, err := r.client.BuildAccounts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want, wantRoot = s.rows, accountRoot(t, s)
			}
			if built.Root != wantRoot || built.Accounts != len(accounts) {
				t.Fatalf("%+v, want root %s", built, wantRoot)
			}
			if !reflect.DeepEqual(want, s.rows) {
				t.Fatalf("%d rows, want %d: or not the same", len(s.rows), len(want))
			}
			r.report(len(accounts))
			r.stop()
			if n := s.inUse.Load(); n != 0 {
				t.Fatalf("%d readers are open", n)
			}
		})
	}
}

// accountRoot is go-ethereum's root of the accounts.
func accountRoot(t *testing.T, s *memStore) common.Hash {
	t.Helper()
	var leaves []messages.StorageLeaf
	for _, l := range s.accounts {
		a, err := state.DecodeSlim(l.Value)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, messages.StorageLeaf{Slot: l.Slot, Value: a.AppendFull(nil)})
	}
	return stackRoot(t, leaves)
}

// report checks that a report's numbers hang together.
func (r *rig) report(accounts int) {
	r.t.Helper()
	storage, acc, err := r.client.Report(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if storage.Accounts != accounts || acc.Accounts != accounts || storage.Failed != 0 {
		r.t.Fatalf("%d and %d accounts, %d failed", storage.Accounts, acc.Accounts, storage.Failed)
	}
	for _, rep := range []Report{storage, acc} {
		threads := rep.WallS * float64(rep.Workers)
		off := threads/50 + 0.001
		if d := rep.BusyThreadS + rep.IdleThreadS - threads; d > off || -d > off {
			r.t.Errorf("busy %v and idle %v are not %v", rep.BusyThreadS, rep.IdleThreadS, threads)
		}
		if rep.SlotTurnover.Count == 0 || rep.Flushes == 0 || rep.BranchRows == 0 ||
			rep.Process.Samples == 0 {
			r.t.Errorf("%+v", rep)
		}
		if rep.Utilization > 1.001 || rep.DispatcherWaitS > rep.WallS {
			r.t.Errorf("%+v", rep)
		}
	}
	l := storage.Largest
	if len(l) != maxLargest || l[0].Leaves < l[29].Leaves || l[0].LastS < l[0].FirstS {
		r.t.Errorf("largest: %+v", l)
	}
}

// panicOn returns a hook that panics at the nth messages that match.
func panicOn(match func(any) bool, nth ...int32) func(any) {
	var seen atomic.Int32
	return func(m any) {
		if match(m) && slices.Contains(nth, seen.Add(1)) {
			panic("planted")
		}
	}
}

func is[T any](m any) bool { _, ok := m.(T); return ok }

// oncePerUnit matches each nth BuildTries or the first after it, but none with a unit that was in
// a match before: a child that fails often must not fail one unit as often as that gives it up.
func oncePerUnit(n int) func(any) bool {
	type unit struct {
		account common.Hash
		prefix  trie.Path
	}
	var mu sync.Mutex
	matched := map[unit]bool{}
	seen := 0
	return func(m any) bool {
		b, ok := m.(*messages.BuildTries)
		if !ok {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen < n {
			return false
		}
		for i := range b.Units {
			if matched[unit{b.Units[i].Account, b.Units[i].Prefix}] {
				return false
			}
		}
		for i := range b.Units {
			matched[unit{b.Units[i].Account, b.Units[i].Prefix}] = true
		}
		seen = 0
		return true
	}
}

func TestAChildThatDiesCostsNothingButWork(t *testing.T) {
	for name, hook := range map[string]func() func(any){
		"in a batch":  func() func(any) { return panicOn(is[*messages.BuildTries], 3, 4, 20) },
		"in a survey": func() func(any) { return panicOn(is[*messages.SurveyTrie], 1, 3) },
		"in a join":   func() func(any) { return panicOn(is[*messages.JoinTrie], 1, 2) },
		"in a write":  func() func(any) { return panicOn(is[*messages.WriteRows], 1, 5) },
		"in a flush":  func() func(any) { return panicOn(is[*messages.FlushRows], 1, 5) },
		"at the sign": func() func(any) { return panicOn(is[*messages.Confirm], 1, 2) },
		"more than it may": func() func(any) {
			return panicOn(oncePerUnit(5), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		},
		"both kinds": func() func(any) {
			a, b := panicOn(is[*messages.BuildTries], 2, 30), panicOn(is[*messages.FlushRows], 2, 3)
			confirm := panicOn(is[*messages.Confirm], 2)
			return func(m any) {
				if is[*messages.Confirm](m) {
					confirm(m)
				}
				a(m)
				b(m)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, accounts := world(t, 2, mixed(400)...)
			h := hook()
			if name == "at the sign" {
				first := panicOn(is[*messages.BuildTries], 2)
				sign := h
				h = func(m any) { first(m); sign(m) }
			}
			r := newRig(t, s, smallThresholds(3), h)
			r.build(accounts, 100)
			r.check(accounts)
			if _, err := r.client.BuildAccounts(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The StorageActor itself dies: its client is told and sends again what was not answered.
func TestARestartOfTheStorageActorLosesNothing(t *testing.T) {
	for name, match := range map[string]func(any) bool{
		"at a request":        is[*messages.BuildStorage],
		"at a job's answer":   is[*messages.TriesBuilt],
		"at a survey":         is[*messages.TrieSurveyed],
		"at a flush":          is[*messages.RowsFlushed],
		"at the credit":       is[*messages.FindCredit],
		"at the account trie": is[*messages.BuildAccounts],
	} {
		t.Run(name, func(t *testing.T) {
			s, accounts := world(t, 3, mixed(400)...)
			r := newRig(t, s, smallThresholds(2), panicOn(match, 1, 3))
			if name == "at the credit" {
				// The asker is not known yet; whoever asks again gets it.
				r.sys.Send(t.Context(), r.pid, &messages.FindCredit{ReplyTo: r.client.pid})
			}
			r.build(accounts, 50)
			r.check(accounts)
			built, err := r.client.BuildAccounts(t.Context())
			if err != nil || built.Root != accountRoot(t, s) {
				t.Fatalf("%+v, %v", built, err)
			}
		})
	}
}

func TestAnAccountThatAlwaysKillsFailsAloneWithTheKit(t *testing.T) {
	s, accounts := world(t, 4, mixed(120)...)
	bad := accounts[33].Account
	r := newRig(t, s, smallThresholds(2), func(m any) {
		if b, ok := m.(*messages.BuildTries); ok {
			for i := range b.Units {
				if b.Units[i].Account == bad {
					panic("planted")
				}
			}
		}
	})
	r.build(accounts, 1000)
	for _, a := range accounts {
		if res := r.results[a.Account]; errors.Is(res.Err, ErrWorkerFailed) != (a.Account == bad) {
			t.Fatalf("%+v", res)
		}
	}
}

// A full disk fails the accounts whose rows it did not take, says so, and the rest goes on.
func TestAFailingFlushIsToldToTheRightAccounts(t *testing.T) {
	for n := int64(1); n < 12; n++ {
		s, accounts := world(t, 5, mixed(200)...)
		if s.flushes.at = n; n%2 == 0 {
			s.flushes.at, s.writes.at = 0, n/2
		}
		r := newRig(t, s, smallThresholds(2), nil)
		r.build(accounts, 40)
		for _, a := range accounts {
			res := r.results[a.Account]
			switch {
			case res.Err == nil && res.Root != a.Expected:
				t.Fatalf("%+v", res)
			case res.Err != nil && !(errors.Is(res.Err, ErrStore) && errors.Is(res.Err, errPlanted)):
				t.Fatal(res.Err)
			case res.Err != nil && inRanges(s.done, a.Account):
				t.Fatalf("account %s failed and counts as done", a.Account)
			case res.Err == nil && !inRanges(s.done, a.Account):
				t.Fatalf("account %s is answered and not done", a.Account)
			}
		}
		r.stop()
	}
}

func inRanges(done []state.KeyRange, a common.Hash) bool {
	return slices.ContainsFunc(done, func(r state.KeyRange) bool {
		return r.From.Cmp(a) <= 0 && r.To.Cmp(a) >= 0
	})
}

func TestBatchesOfEmptyAccountsAndOrphansBetweenThem(t *testing.T) {
	s, accounts := world(t, 6, append(make([]int, 300), 5, 0, 0, 7)...)
	orphans := map[common.Hash]int{}
	r := rand.New(rand.NewPCG(9, 9))
	for _, h := range randomHashes(r, 40) {
		leaves := hashed(r, 1+int(h[0])%9)
		s.add(h, leaves)
		orphans[h] = len(leaves)
	}
	rg := newRig(t, s, smallThresholds(2), nil)
	rg.build(accounts, 64)
	rg.check(accounts)
	if len(rg.orphans) != len(orphans) {
		t.Fatalf("%d orphans, want %d", len(rg.orphans), len(orphans))
	}
	for _, o := range rg.orphans {
		if orphans[o.Account] != o.Slots || !s.dropped[o.Account] {
			t.Fatalf("%+v, dropped %v", o, s.dropped[o.Account])
		}
	}
	storage, _, err := rg.client.Report(t.Context())
	if err != nil || storage.Orphans != len(orphans) {
		t.Fatalf("%d orphans in the report, %v", storage.Orphans, err)
	}
}

func TestStorageRootsThatTheRowsLackAreCorrected(t *testing.T) {
	s, accounts := world(t, 7, mixed(100)...)
	want := accountRoot(t, s)
	for i := range accounts { // as a genesis has them
		accounts[i].Stored, accounts[i].Expected = trie.EmptyRoot, common.Hash{}
		s.accounts[i].Value = slimAccount(uint64(i+1), trie.EmptyRoot)
	}
	r := newRig(t, s, smallThresholds(2), nil)
	r.build(accounts, 33)
	built, err := r.client.BuildAccounts(t.Context())
	if err != nil || built.Root != want {
		t.Fatalf("%+v, %v, want %s", built, err, want)
	}
}

func TestHugeAccountsAnywhereAndTwoAtOnce(t *testing.T) {
	for name, at := range map[string][]int{
		"first": {0}, "last": {199}, "in the middle": {100}, "two at once": {50, 51},
		"all": {0, 1, 2, 3, 4, 5, 6, 7},
	} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " known ", known), func(t *testing.T) {
				sizes := make([]int, 200)
				for i := range sizes {
					sizes[i] = 1 + i%3
				}
				for _, i := range at {
					sizes[i] = 2000
				}
				s, accounts := world(t, 8, sizes...)
				for i := range accounts {
					if known {
						accounts[i].Leaves = sizes[i]
					}
				}
				r := newRig(t, s, smallThresholds(3), nil)
				r.build(accounts, 64)
				r.check(accounts)
				for _, i := range at {
					if k := r.results[accounts[i].Account].Kind; k != messages.KindRange {
						t.Fatalf("account %d was built as %v", i, k)
					}
				}
			})
		}
	}
}

// At the thresholds themselves, as they are by default.
func TestAccountsAroundTheThreshold(t *testing.T) {
	s, accounts := world(t, 9, 49_999, 1, 50_000, 0, 50_001, 2)
	for i := range accounts {
		accounts[i].Leaves = len(s.slots[accounts[i].Account])
	}
	r := newRig(t, s, Options{Workers: 2}, nil)
	r.build(accounts, 10)
	r.check(accounts)
	for i, want := range []messages.StorageKind{
		messages.KindBatch, messages.KindBatch, messages.KindLarge, messages.KindBatch,
		messages.KindLarge,
	} {
		if got := r.results[accounts[i].Account].Kind; got != want {
			t.Errorf("%d leaves: built as %v, want %v", accounts[i].Leaves, got, want)
		}
	}
}

func TestRequestsThatBreakTheProtocolAreRejected(t *testing.T) {
	a := func(b byte) messages.StorageAccount {
		return messages.StorageAccount{Account: common.Hash{b}}
	}
	for name, tc := range map[string]struct {
		m    messages.BuildStorage
		want error
	}{
		"from behind to": {messages.BuildStorage{From: common.Hash{2}, To: common.Hash{1}},
			ErrBadRequest},
		"descending": {messages.BuildStorage{To: common.MaxHash,
			Accounts: []messages.StorageAccount{a(2), a(1)}}, ErrBadRequest},
		"twice": {messages.BuildStorage{To: common.MaxHash,
			Accounts: []messages.StorageAccount{a(2), a(2)}}, ErrBadRequest},
		"before from": {messages.BuildStorage{From: common.Hash{3}, To: common.MaxHash,
			Accounts: []messages.StorageAccount{a(2)}}, ErrBadRequest},
		"behind to": {messages.BuildStorage{To: common.Hash{3},
			Accounts: []messages.StorageAccount{a(4)}}, ErrBadRequest},
		"without credit": {messages.BuildStorage{To: common.MaxHash,
			Accounts: []messages.StorageAccount{a(1), a(2), a(3)}}, ErrNoCredit},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Workers: 1, Credit: 2}
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			m := tc.m
			m.ReplyTo = requester
			c := newCore(o, 1)
			out := c.step(time.Unix(1, 0), &m)
			rejected, ok := out[0].(answer).msg.(*messages.BuildRejected)
			if len(out) != 1 || !ok || !errors.Is(rejected.Err, tc.want) {
				t.Fatalf("%+v", out)
			}
		})
	}
}

// Late answers wait in the mailbox when the StorageActor is restarted: no number of a job may mean
// another one by then.
func TestAnAnswerToTheIncarnationBeforeMeansNothing(t *testing.T) {
	o := Options{Workers: 1}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1, 0)
	job := func(c *core, account common.Hash) *messages.BuildTries {
		for _, e := range c.step(now, &messages.BuildStorage{
			Request: 1, To: common.MaxHash, ReplyTo: requester,
			Accounts: []messages.StorageAccount{{Account: account}},
		}) {
			if h, ok := e.(handOut); ok {
				return h.msg.(*messages.BuildTries)
			}
		}
		t.Fatal("no job was handed out")
		return nil
	}
	before, after := newCore(o, 1), newCore(o, 2)
	late, own := job(before, common.Hash{1}), job(after, common.Hash{2})
	built := func(m *messages.BuildTries) *messages.TriesBuilt {
		return &messages.TriesBuilt{
			Job: m.Job, Outcomes: make([]messages.TrieOutcome, len(m.Units)),
			Times: messages.JobTimes{Started: now, Ended: now},
		}
	}
	if out := after.step(now, built(late)); len(out) != 0 {
		t.Fatalf("an answer to another incarnation had effects: %v", out)
	}
	if out := after.step(now, built(own)); len(out) == 0 {
		t.Fatal("the own answer had no effect")
	}
}
