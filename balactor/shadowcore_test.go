package balactor

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// shadowBench is a shadow whose actor is played by hand.
type shadowBench struct {
	t      *testing.T
	store  *state.Store
	shadow *Shadow
	core   shadowCore
	sent   []*messages.CompareRoot // in the actor's mailbox
	said   []report
}

func newShadowBench(t *testing.T, o ShadowOptions) *shadowBench {
	t.Helper()
	b := &shadowBench{t: t}
	var err error
	if b.store, err = state.Open(state.Options{Dir: "store", FS: state.MemFS()}); err != nil {
		t.Fatal(err)
	}
	at := state.Cursor{Hash: shadowGenesis.Hash(), Root: trie.EmptyRoot}
	bulk, err := b.store.NewBulk(state.BulkOptions{ChainID: 1, Target: at})
	if err == nil {
		err = bulk.Commit(shadowGenesis, at)
	}
	if err == nil {
		b.shadow, err = NewShadow(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.Enabled {
		b.shadow.Attach(func(m *messages.CompareRoot) { b.sent = append(b.sent, m) })
	}
	t.Cleanup(func() {
		if err := b.shadow.Drain(); err != nil {
			t.Error(err)
		}
		if st := b.stats(); st.Waiting != 0 {
			t.Errorf("after Drain: %+v", st)
		}
		if err := b.store.Close(); err != nil { // which tells of snapshots that are open
			t.Error(err)
		}
	})
	return b
}

var shadowGenesis = &types.Header{Number: big.NewInt(0), Root: trie.EmptyRoot}

// block is the header of a block on the store's state.
func (b *shadowBench) block(number int64) *types.Header {
	return &types.Header{
		Number: big.NewInt(number), ParentHash: shadowGenesis.Hash(),
		BlockAccessListHash: &common.Hash{1}, Root: common.Hash{2},
	}
}

func (b *shadowBench) offer(h *types.Header) {
	b.shadow.offer(&messages.CompareRoot{Header: h, Hash: h.Hash(), Root: h.Root}, b.store)
	b.stats()
}

// stats checks that every request is accounted for.
func (b *shadowBench) stats() ShadowStats {
	b.t.Helper()
	st := b.shadow.Stats()
	if st.Requests != st.Comparisons+st.Failures+st.Skipped.Total()+st.Waiting {
		b.t.Fatalf("the outcomes do not add up: %+v", st)
	}
	return st
}

// deliver gives the oldest message to the core.
func (b *shadowBench) deliver() {
	b.t.Helper()
	m := b.sent[0]
	b.sent = b.sent[1:]
	if b.shadow.take(m.Request) {
		b.step(m)
	}
}

// step does what the core says, and returns what it hands out.
func (b *shadowBench) step(m any) (handed []*messages.CompareRoot) {
	b.t.Helper()
	for _, e := range b.core.step(time.Time{}, m) {
		switch e := e.(type) {
		case replay:
			handed = append(handed, e.m)
		case settle:
			if err := b.shadow.settle(e.m.Request, e.what, e.took); err != nil {
				b.t.Fatal(err)
			}
		case report:
			b.said = append(b.said, e)
		}
	}
	b.stats()
	return handed
}

// answer has the child answer for the block in hand.
func (b *shadowBench) answer(change func(*messages.BlockReplayed)) {
	m := &messages.BlockReplayed{Request: b.core.cur.Request, Root: b.core.cur.Root}
	change(m)
	b.step(m)
}

func TestEachWayNotToCompareIsCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		options ShadowOptions
		change  func(*shadowBench, *types.Header)
		count   func(ShadowSkips) uint64
	}{
		"off": {ShadowOptions{}, nil, func(s ShadowSkips) uint64 { return s.Off }},
		"thinned": {ShadowOptions{Enabled: true, Every: 2}, nil,
			func(s ShadowSkips) uint64 { return s.Thinned }},
		"before Amsterdam": {ShadowOptions{Enabled: true},
			func(_ *shadowBench, h *types.Header) { h.BlockAccessListHash = nil },
			func(s ShadowSkips) uint64 { return s.BeforeAmsterdam }},
		"no parent": {ShadowOptions{Enabled: true},
			func(_ *shadowBench, h *types.Header) { h.ParentHash[0] ^= 1 },
			func(s ShadowSkips) uint64 { return s.NoParent }},
		"closing": {ShadowOptions{Enabled: true},
			func(b *shadowBench, _ *types.Header) { b.shadow.Close() },
			func(s ShadowSkips) uint64 { return s.Closing }},
		"lost": {ShadowOptions{Enabled: true},
			func(b *shadowBench, _ *types.Header) { _ = b.shadow.Lost() },
			func(s ShadowSkips) uint64 { return s.Off }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newShadowBench(t, tc.options)
			h := b.block(1)
			if tc.change != nil {
				tc.change(b, h)
			}
			b.offer(h)
			st := b.stats()
			if st.Requests != 1 || tc.count(st.Skipped) != 1 || st.Waiting != 0 {
				t.Fatalf("%+v", st)
			}
			if len(b.sent) != 0 {
				t.Fatal("it was handed over all the same")
			}
		})
	}
}

func TestABusyShadowIsPassedOver(t *testing.T) {
	b := newShadowBench(t, ShadowOptions{Enabled: true, MaxQueued: 2})
	for i := range 5 {
		b.offer(b.block(int64(i + 1)))
	}
	if st := b.stats(); st.Waiting != 3 || st.Skipped.Busy != 2 { // one in hand, two behind it
		t.Fatalf("%+v", st)
	}
	for range 3 {
		b.deliver()
	}
	for range 3 {
		b.answer(func(*messages.BlockReplayed) {})
	}
	b.offer(b.block(6))
	if st := b.stats(); st.Comparisons != 3 || st.Waiting != 1 || len(b.said) != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestMismatchesAndFailuresAreCountedAndSampled(t *testing.T) {
	b := newShadowBench(t, ShadowOptions{Enabled: true})
	const blocks = 300
	for i := range blocks {
		b.offer(b.block(int64(i)))
		b.deliver()
		b.answer(func(m *messages.BlockReplayed) {
			switch i % 2 {
			case 0:
				m.Root[0] ^= 1
			case 1:
				m.Refused = errors.New("refused")
			}
		})
	}
	if st := b.stats(); st.Comparisons != blocks || st.Mismatches != blocks {
		t.Fatalf("%+v", st)
	}
	var logged []uint64
	for _, r := range b.said {
		logged = append(logged, r.nth)
	}
	want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 138, 266}
	if fmt.Sprint(logged) != fmt.Sprint(want) {
		t.Fatalf("logged %v, want %v", logged, want)
	}
	b.offer(b.block(1))
	b.deliver()
	b.answer(func(m *messages.BlockReplayed) { m.Err = errors.New("the disk is gone") })
	if st := b.stats(); st.Failures != 1 || b.said[len(b.said)-1].what != outcomeFailure {
		t.Fatalf("%+v", st)
	}
}

func TestALostReplayIsAFailureAndTheNextBlockIsTaken(t *testing.T) {
	b := newShadowBench(t, ShadowOptions{Enabled: true})
	b.offer(b.block(1))
	b.offer(b.block(2))
	b.deliver()
	b.deliver()
	late := &messages.BlockReplayed{Request: b.core.cur.Request}
	handed := b.step(replayLost{"planted"})
	if len(handed) != 1 || handed[0].Header.Number.Int64() != 2 {
		t.Fatalf("handed out %v", handed)
	}
	b.step(late) // means nothing any more
	b.answer(func(*messages.BlockReplayed) {})
	if st := b.stats(); st.Failures != 1 || st.Comparisons != 1 || st.Mismatches != 0 {
		t.Fatalf("%+v", st)
	}
	b.step(replayLost{"with nothing in hand"})
}

func TestARestartLosesWhatWasTakenAndNotTheMailbox(t *testing.T) {
	b := newShadowBench(t, ShadowOptions{Enabled: true})
	for i := range 3 {
		b.offer(b.block(int64(i + 1)))
	}
	b.deliver()
	b.deliver()
	b.core = shadowCore{}
	if err := b.shadow.begin(); err != nil {
		t.Fatal(err)
	}
	if st := b.stats(); st.Failures != 2 || st.Waiting != 1 {
		t.Fatalf("%+v", st)
	}
	b.deliver()
	b.answer(func(*messages.BlockReplayed) {})
	if st := b.stats(); st.Comparisons != 1 || st.Waiting != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestClosingAbandonsWhatWaits(t *testing.T) {
	b := newShadowBench(t, ShadowOptions{Enabled: true})
	for i := range 3 {
		b.offer(b.block(int64(i + 1)))
	}
	b.deliver()
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.shadow.Await(waiting, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.shadow.Close()
	if b.shadow.open.Err() == nil {
		t.Fatal("the replay in hand is not told")
	}
	b.answer(func(m *messages.BlockReplayed) { m.Err = b.shadow.open.Err() })
	if err := b.shadow.Drain(); err != nil {
		t.Fatal(err)
	}
	b.deliver() // is settled already
	if st := b.stats(); st.Skipped.Closing != 3 || st.Failures != 0 {
		t.Fatalf("%+v", st)
	}
	if err := b.shadow.Await(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}
