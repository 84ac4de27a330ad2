package balactor

import (
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// bench drives a core by hand: it plays the shell and the workers.
type bench struct {
	t    *testing.T
	core *core
	now  time.Time
	sent []handOut // to workers, not answered yet
	said []any     // replies
	acts []any     // other effects, in order
}

func newBench(t *testing.T, workers int) *bench {
	o := Options{Workers: workers, MaxQueued: 2, BatchSlots: 1, JobAttempts: 2, ParallelAccounts: 2}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, core: newCore(o, 0)}
}

func (b *bench) step(m any) {
	b.now = b.now.Add(time.Millisecond)
	for _, e := range b.core.step(b.now, m) {
		switch e := e.(type) {
		case handOut:
			b.sent = append(b.sent, e)
		case answer:
			b.said = append(b.said, e.msg)
		default:
			b.acts = append(b.acts, e)
		}
	}
}

// act takes the oldest effect and checks its kind.
func act[T any](b *bench) T {
	b.t.Helper()
	if len(b.acts) == 0 {
		b.t.Fatalf("no effect, want %T", *new(T))
	}
	e, ok := b.acts[0].(T)
	if !ok {
		b.t.Fatalf("effect %T, want %T", b.acts[0], e)
	}
	b.acts = b.acts[1:]
	return e
}

// said takes the oldest reply and checks its kind.
func said[T any](b *bench) T {
	b.t.Helper()
	if len(b.said) == 0 {
		b.t.Fatalf("no reply, want %T", *new(T))
	}
	m, ok := b.said[0].(T)
	if !ok {
		b.t.Fatalf("reply %T %+v, want %T", b.said[0], b.said[0], m)
	}
	b.said = b.said[1:]
	return m
}

var genesis = state.Cursor{Number: 7, Hash: common.Hash{7}, Root: common.Hash{0x77}}

func header(root common.Hash) *types.Header {
	return &types.Header{ParentHash: genesis.Hash, Number: big.NewInt(8), Root: root}
}

func apply(id uint64, h *types.Header) request {
	return request{apply: &messages.ApplyBlock{Request: id, Header: h}}
}

// targets makes n targets with ascending hashes.
func targets(n int) []messages.AccountTarget {
	ts := make([]messages.AccountTarget, n)
	for i := range ts {
		ts[i].Hash = common.Hash{byte(i) << 4}
		ts[i].Address = common.Address{byte(i + 1)}
	}
	return ts
}

// open brings a block to where its storage jobs are handed out.
func (b *bench) open(r request, n int) {
	b.t.Helper()
	b.step(r)
	act[openParent](b)
	b.step(parentOpened{cursor: genesis, hasRoot: true})
	act[prepare](b)
	b.step(prepared{targets: targets(n)})
}

// storageDone answers a storage job: every target's account changed, and so did its storage.
func storageDone(e handOut) *messages.StorageUpdated {
	m := e.msg.(*messages.UpdateStorage)
	out := &messages.StorageUpdated{Job: m.Job}
	for i := range m.Targets {
		h := m.Targets[i].Hash
		out.Accounts = append(out.Accounts, state.AccountWrite{Hash: h, Post: []byte{1}})
		out.Changes = append(out.Changes, trie.Change{Key: h, Value: []byte{1}})
		out.Storage = append(out.Storage, h)
	}
	return out
}

func jobOf(e handOut) messages.Job { return e.msg.(*messages.UpdateStorage).Job }

func accountsDoneMsg(e handOut) *messages.AccountsUpdated {
	return &messages.AccountsUpdated{Job: e.msg.(*messages.UpdateAccounts).Job}
}

// next takes the oldest message to a worker.
func (b *bench) next() handOut {
	b.t.Helper()
	if len(b.sent) == 0 {
		b.t.Fatal("no job was handed out")
	}
	e := b.sent[0]
	b.sent = b.sent[1:]
	return e
}

func TestABlockGoesThroughItsPhasesAndIsCommitted(t *testing.T) {
	b := newBench(t, 2)
	want := common.Hash{1}
	b.open(apply(1, header(want)), 4)
	for range 4 {
		b.step(storageDone(b.next()))
	}
	if b.core.cur.layer.Accounts[3].Hash != (common.Hash{0x30}) {
		t.Fatal("the layer's accounts are not in order")
	}
	for range 2 {
		b.step(accountsDoneMsg(b.next()))
	}
	act[join](b)
	b.step(accountsReady{done: accountsDone{root: want}})
	act[handOver](b)
	act[store](b)
	if len(b.said) != 0 {
		t.Fatal("the block was acknowledged before it was stored")
	}
	b.step(stored{})
	act[release](b)
	if m := said[*messages.BlockApplied](b); m.Request != 1 || m.Root != want || m.Accounts != 4 {
		t.Fatalf("reply %+v", m)
	}
}

func TestNoMoreJobsAreOutThanThereAreWorkers(t *testing.T) {
	b := newBench(t, 2)
	b.open(apply(1, header(common.Hash{1})), 9)
	for done := 0; done < 9; done++ {
		if len(b.sent) > 2 {
			t.Fatalf("%d jobs are out for 2 workers", len(b.sent))
		}
		b.step(storageDone(b.next()))
	}
}

func TestAWrongRootIsNotStored(t *testing.T) {
	b := newBench(t, 1)
	b.open(apply(1, header(common.Hash{1})), 1)
	b.step(storageDone(b.next()))
	act[updateWhole](b)
	b.step(accountsReady{done: accountsDone{root: common.Hash{2}}})
	act[release](b)
	m := said[*messages.BlockRejected](b)
	var wrong *WrongRootError
	if !errors.As(m.Err, &wrong) || !errors.Is(m.Err, ErrWrongRoot) {
		t.Fatalf("error %v", m.Err)
	}
	if wrong.Want != (common.Hash{1}) || wrong.Got != (common.Hash{2}) || wrong.Number != 8 {
		t.Fatalf("error %+v", wrong)
	}
	if len(wrong.Accounts) != 1 || wrong.Accounts[0] != (common.Address{1}) {
		t.Fatalf("accounts in question: %v", wrong.Accounts)
	}
}

func TestALostJobIsHandedOutAgainAndItsLateAnswerMeansNothing(t *testing.T) {
	b := newBench(t, 1)
	b.open(apply(1, header(common.Hash{1})), 2)
	first := b.next()
	b.step(workerLost{worker: first.worker, reason: "boom"})
	second := b.next()
	if jobOf(second).Index != jobOf(first).Index || jobOf(second).Attempt != 2 {
		t.Fatalf("job %+v was handed out after %+v was lost", jobOf(second), jobOf(first))
	}
	b.step(storageDone(first)) // of the lost attempt
	if b.core.cur.left != 2 {
		t.Fatal("the answer of a lost attempt was counted")
	}
	b.step(storageDone(second))
	b.step(storageDone(b.next()))
	act[updateWhole](b)
}

// A worker that was restarted has its job still in its queue, and may answer it when the account
// jobs are out, whose indices and attempts are the same.
func TestALateAnswerOfTheRoundBeforeMeansNothing(t *testing.T) {
	b := newBench(t, 2)
	b.open(apply(1, header(common.Hash{1})), 2)
	late, other := b.next(), b.next()
	b.step(workerLost{worker: late.worker, reason: "boom"})
	b.step(storageDone(other))
	b.step(storageDone(b.next()))
	first, second := b.next(), b.next()
	b.step(storageDone(late))
	if b.core.cur.left != 2 {
		t.Fatal("the late answer was taken for that of an account job")
	}
	b.step(accountsDoneMsg(first))
	b.step(accountsDoneMsg(second))
	for i, m := range act[join](b).block.accounts {
		if m == nil {
			t.Fatalf("part %d is missing", i)
		}
	}
}

func TestAJobThatIsLostOnEveryAttemptRejectsItsBlock(t *testing.T) {
	b := newBench(t, 2)
	b.open(apply(1, header(common.Hash{1})), 2)
	bad, other := b.next(), b.next()
	b.step(workerLost{worker: bad.worker, reason: "boom"})
	b.step(workerLost{worker: b.next().worker, reason: "boom"})
	if len(b.said) != 0 {
		t.Fatal("the block was given up while a worker still reads its snapshot")
	}
	b.step(storageDone(other))
	act[release](b)
	if m := said[*messages.BlockRejected](b); !errors.Is(m.Err, ErrWorkerFailed) {
		t.Fatalf("error %v", m.Err)
	}
	b.open(apply(2, header(common.Hash{1})), 1) // the next block has both workers again
	b.step(storageDone(b.next()))
	act[updateWhole](b)
}

func TestAFailedJobRejectsItsBlockOnceAllWorkersHaveAnswered(t *testing.T) {
	b := newBench(t, 2)
	b.open(apply(1, header(common.Hash{1})), 3)
	bad, other := b.next(), b.next()
	boom := errors.New("boom")
	b.step(&messages.JobFailed{Job: bad.msg.(*messages.UpdateStorage).Job, Err: boom})
	if len(b.said) != 0 || len(b.sent) != 0 {
		t.Fatal("the block went on after a job failed")
	}
	b.step(storageDone(other))
	act[release](b)
	if m := said[*messages.BlockRejected](b); !errors.Is(m.Err, boom) {
		t.Fatalf("error %v", m.Err)
	}
}

func TestRequestsWaitInOrderAndTooManyAreRefused(t *testing.T) {
	b := newBench(t, 1)
	b.open(apply(1, header(common.Hash{1})), 1)
	for id := uint64(2); id <= 4; id++ {
		b.step(apply(id, header(common.Hash{1})))
	}
	if m := said[*messages.BlockRejected](b); m.Request != 4 || !errors.Is(m.Err, ErrBusy) {
		t.Fatalf("reply %+v", m)
	}
	b.step(&messages.JobFailed{Job: b.next().msg.(*messages.UpdateStorage).Job, Err: errors.New("x")})
	for id := uint64(1); id <= 2; id++ {
		if m := said[*messages.BlockRejected](b); m.Request != id {
			t.Fatalf("reply to %d, want %d", m.Request, id)
		}
		act[release](b)
		act[openParent](b)
		b.step(parentOpened{err: errors.New("x")})
	}
}

func TestABlockThatDoesNotFollowTheCursorIsRefused(t *testing.T) {
	number := header(common.Hash{1})
	number.Number = big.NewInt(9)
	parent := header(common.Hash{1})
	parent.ParentHash = common.Hash{9}
	for _, h := range []*types.Header{number, parent} {
		b := newBench(t, 1)
		b.step(apply(1, h))
		act[openParent](b)
		b.step(parentOpened{cursor: genesis})
		act[release](b)
		if m := said[*messages.BlockRejected](b); !errors.Is(m.Err, ErrUnknownParent) {
			t.Fatalf("error %v", m.Err)
		}
	}
}

func TestAKnownBlockIsAnsweredWithoutWork(t *testing.T) {
	b := newBench(t, 1)
	b.step(apply(1, header(common.Hash{1})))
	act[openParent](b)
	b.step(parentOpened{cursor: genesis, known: true})
	act[release](b)
	if m := said[*messages.BlockApplied](b); !m.Known {
		t.Fatalf("reply %+v", m)
	}
}

func TestHeadersThatLackWhatIsNeededAreRefused(t *testing.T) {
	for _, h := range []*types.Header{
		nil, {}, {Number: big.NewInt(-1), Root: common.Hash{1}}, {Number: big.NewInt(1)},
		{Number: new(big.Int).Lsh(big.NewInt(1), 64), Root: common.Hash{1}},
	} {
		b := newBench(t, 1)
		b.step(apply(1, h))
		act[release](b)
		if m := said[*messages.BlockRejected](b); !errors.Is(m.Err, ErrBadHeader) {
			t.Fatalf("header %+v: error %v", h, m.Err)
		}
	}
}

func TestARewindUndoesBlockByBlock(t *testing.T) {
	b := newBench(t, 1)
	b.step(request{rewind: &messages.Rewind{Request: 5, To: common.Hash{5}}})
	cursors := []state.Cursor{genesis, {Number: 6, Hash: common.Hash{6}, Root: common.Hash{0x66}},
		{Number: 5, Hash: common.Hash{5}, Root: common.Hash{0x55}}}
	for i := range 2 {
		if e := act[openParent](b); e.first != (i == 0) {
			t.Fatalf("pass %d: first is %v", i, e.first)
		}
		h := &types.Header{Number: big.NewInt(int64(cursors[i].Number)), Root: cursors[i].Root}
		b.step(parentOpened{cursor: cursors[i], undo: &undoStep{header: h, to: cursors[i+1]}})
		act[prepare](b)
		b.step(prepared{targets: targets(1)})
		b.step(storageDone(b.next()))
		act[updateWhole](b)
		b.step(accountsReady{done: accountsDone{root: cursors[i+1].Root}})
		act[store](b)
		b.step(stored{})
		act[release](b)
	}
	act[openParent](b)
	b.step(parentOpened{cursor: cursors[2]})
	act[release](b)
	if m := said[*messages.Rewound](b); m.Blocks != 2 || m.Cursor != cursors[2] {
		t.Fatalf("reply %+v", m)
	}
}

func TestAnUndoneBlockThatDoesNotGiveItsParentsRootIsNotStored(t *testing.T) {
	b := newBench(t, 1)
	b.step(request{rewind: &messages.Rewind{Request: 5, To: common.Hash{5}}})
	act[openParent](b)
	h := header(genesis.Root)
	to := state.Cursor{Root: common.Hash{1}}
	b.step(parentOpened{cursor: genesis, undo: &undoStep{header: h, to: to}})
	act[prepare](b)
	b.step(prepared{})
	act[release](b)
	if m := said[*messages.RewindRejected](b); !errors.Is(m.Err, ErrDiffMismatch) ||
		m.Cursor != genesis {
		t.Fatalf("reply %+v", m)
	}
}

func TestAnAnswerToTheIncarnationBeforeMeansNothing(t *testing.T) {
	b := newBench(t, 1)
	b.open(apply(1, header(common.Hash{1})), 1)
	late := storageDone(b.next())

	b = newBench(t, 1)
	b.core = newCore(b.core.opts, 1)
	b.open(apply(1, header(common.Hash{1})), 1)
	own := b.next()
	b.step(late)
	if len(b.sent)+len(b.acts)+len(b.said) != 0 {
		t.Fatalf("an answer to another incarnation had effects: %v %v %v", b.sent, b.acts, b.said)
	}
	b.step(storageDone(own))
	if len(b.sent)+len(b.acts)+len(b.said) == 0 {
		t.Fatal("the own answer had no effect")
	}
}
