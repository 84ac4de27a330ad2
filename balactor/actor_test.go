package balactor

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/actors/actorstest"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// rig is a BalApplyActor at the top of an actor system, over a store whose state is empty.
type rig struct {
	t       *testing.T
	sys     *actors.System
	store   *state.Store
	pid     *actor.PID
	probe   *actorstest.Probe
	genesis *types.Header
	fatal   atomic.Int32
	gaveUp  chan struct{} // closed by the first OnFatal
}

func newRig(t *testing.T, o Options, onMessage func(any)) *rig {
	t.Helper()
	r := &rig{
		t: t, genesis: &types.Header{Number: big.NewInt(0), Root: trie.EmptyRoot},
		gaveUp: make(chan struct{}),
	}
	var err error
	r.store, err = state.Open(state.Options{Dir: "store", FS: state.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	at := state.Cursor{Hash: r.genesis.Hash(), Root: trie.EmptyRoot}
	bulk, err := r.store.NewBulk(state.BulkOptions{ChainID: 1, Target: at})
	if err == nil {
		err = bulk.Commit(r.genesis, at)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.sys, err = actors.NewSystem(actors.Options{
		Restarts: actors.Restarts{Max: 2, Backoff: time.Microsecond},
		OnFatal: func(error) {
			if r.fatal.Add(1) == 1 {
				close(r.gaveUp)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Restarts.Backoff = time.Microsecond
	spec, err := Spec(Config{
		System: r.sys, Store: r.store, Options: o, onMessage: onMessage,
		Tracer: noop.NewTracerProvider().Tracer(""), Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		r.pid, err = r.sys.Spawn(spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.probe = actorstest.NewProbe(t, r.sys)
	t.Cleanup(func() {
		if err := errors.Join(r.sys.Shutdown(context.Background()), r.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// block makes the block that gives n new accounts their balances, with go-ethereum's root.
func (r *rig) block(n int) *messages.ApplyBlock {
	r.t.Helper()
	list := &bal.AccessList{Accounts: make([]bal.AccountChanges, n)}
	leaves := map[common.Hash][]byte{}
	for i := range n {
		balance := uint256.NewInt(uint64(i + 1))
		addr := common.BigToAddress(big.NewInt(int64(i + 1)))
		list.Accounts[i] = bal.AccountChanges{
			Address: addr, BalanceChanges: []bal.BalanceChange{{Index: 1, Balance: *balance}},
		}
		a := types.NewEmptyStateAccount()
		a.Balance = balance
		leaf, err := rlp.EncodeToBytes(a)
		if err != nil {
			r.t.Fatal(err)
		}
		leaves[crypto.Keccak256Hash(addr[:])] = leaf
	}
	root := stackRoot(r.t, leaves)
	raw := bal.Encode(list)
	hash := bal.Hash(raw)
	return &messages.ApplyBlock{
		Request: 1, BAL: raw, Transactions: 1, ReplyTo: r.probe.PID,
		Header: &types.Header{
			Number: big.NewInt(1), ParentHash: r.genesis.Hash(), Root: root,
			GasLimit: 30_000_000, BlockAccessListHash: &hash,
		},
	}
}

// stackRoot is the root of a trie of leaves by key, as go-ethereum builds it.
func stackRoot(t *testing.T, leaves map[common.Hash][]byte) common.Hash {
	t.Helper()
	st := gethtrie.NewStackTrie(nil)
	for _, k := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := st.Update(k[:], leaves[k]); err != nil {
			t.Fatal(err)
		}
	}
	return st.Hash()
}

func (r *rig) send(m any) { r.sys.Send(r.t.Context(), r.pid, m) }

// panicOn returns a hook that panics at the first n messages of type T.
func panicOn[T any](n int32) func(any) {
	var seen atomic.Int32
	return func(m any) {
		if _, ok := m.(T); ok && seen.Add(1) <= n {
			panic("planted")
		}
	}
}

func TestAWorkerThatPanicsCostsOnlyTheAttempt(t *testing.T) {
	for name, hook := range map[string]func(any){
		"in a storage job":  panicOn[*messages.UpdateStorage](1),
		"in an account job": panicOn[*messages.UpdateAccounts](1),
		"in both, twice": func() func(any) {
			s, a := panicOn[*messages.UpdateStorage](2), panicOn[*messages.UpdateAccounts](2)
			return func(m any) { s(m); a(m) }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{Workers: 2}, hook)
			first := r.block(20) // the next block needs a root branch to be done in parts
			r.send(first)
			if m := actorstest.Expect[*messages.BlockApplied](t, r.probe); m.Root != first.Header.Root {
				t.Fatalf("%+v", m)
			}
			second := r.block(400)
			second.Header.Number, second.Header.ParentHash = big.NewInt(2), first.Header.Hash()
			r.send(second)
			if m := actorstest.Expect[*messages.BlockApplied](t, r.probe); m.Root != second.Header.Root {
				t.Fatalf("%+v", m)
			}
		})
	}
}

func TestAWorkerThatAlwaysPanicsRejectsTheBlockAndTheNextOneIsApplied(t *testing.T) {
	r := newRig(t, Options{Workers: 2, JobAttempts: 3}, panicOn[*messages.UpdateStorage](3))
	b := r.block(1)
	r.send(b)
	m := actorstest.Expect[*messages.BlockRejected](t, r.probe)
	if !errors.Is(m.Err, ErrWorkerFailed) || m.Number != 1 {
		t.Fatalf("%+v", m)
	}
	if c, _ := r.store.Cursor(); c.Number != 0 {
		t.Fatalf("the cursor moved to %v", c)
	}
	r.send(b)
	actorstest.Expect[*messages.BlockApplied](t, r.probe)
}

// More panics than a worker's restarts allow: it is replaced, and the engine goes on.
func TestAWorkerThatUsedUpItsRestartsIsReplaced(t *testing.T) {
	o := Options{Workers: 1, JobAttempts: 9, Restarts: actors.Restarts{Max: 2}}
	r := newRig(t, o, panicOn[*messages.UpdateStorage](7))
	r.send(r.block(3))
	actorstest.Expect[*messages.BlockApplied](t, r.probe)
}

// The message in hand is lost with the incarnation; sent again, it is applied, and what the old
// incarnation had open is closed (the store's Close would refuse otherwise).
func TestABlockLostWithTheActorIsAppliedWhenSentAgain(t *testing.T) {
	for name, hook := range map[string]func(any){
		"before it is begun":         panicOn[*messages.ApplyBlock](1),
		"when the workers have done": panicOn[*messages.StorageUpdated](1),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{Workers: 2}, hook)
			b := r.block(5)
			ask := func(to *actor.PID) any { m := *b; m.ReplyTo = to; return &m }
			if _, err := r.sys.Ask(t.Context(), r.pid, ask); !errors.Is(err, actors.ErrRestarted) {
				t.Fatalf("error %v", err)
			}
			m, err := r.sys.Ask(t.Context(), r.pid, ask)
			if got, ok := m.(*messages.BlockApplied); !ok || err != nil || got.Known {
				t.Fatalf("%+v, %v", m, err)
			}
		})
	}
}

// When the actor fails more often than it may, the guardian gives up in order.
func TestAnActorThatAlwaysPanicsIsGivenUp(t *testing.T) {
	r := newRig(t, Options{Workers: 1}, panicOn[*messages.ApplyBlock](100))
	b := r.block(1)
	ask := func(to *actor.PID) any { m := *b; m.ReplyTo = to; return &m }
	for range 50 {
		_, err := r.sys.Ask(t.Context(), r.pid, ask)
		if errors.Is(err, actors.ErrStopped) {
			break
		}
		if !errors.Is(err, actors.ErrRestarted) {
			t.Fatalf("error %v", err)
		}
	}
	select { // it comes when the actor has ended, which Shutdown may see first
	case <-r.gaveUp:
	case <-time.After(30 * time.Second):
		t.Fatal("OnFatal was not called")
	}
	if err := r.sys.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := r.fatal.Load(); n != 1 {
		t.Fatalf("OnFatal was called %d times", n)
	}
}

func TestABlockThatIsKnownIsNotAppliedTwice(t *testing.T) {
	r := newRig(t, Options{Workers: 2}, nil)
	b := r.block(3)
	for _, known := range []bool{false, true} {
		r.send(b)
		if m := actorstest.Expect[*messages.BlockApplied](t, r.probe); m.Known != known {
			t.Fatalf("%+v", m)
		}
	}
}

// EIP-7928 has no rule for it, but no execution leaves storage to an account that is not there.
// TestAStoreThatCannotBeReadIsNotTakenForOneWithoutState: the advice to run init would be wrong.
func TestAStoreThatCannotBeReadIsNotTakenForOneWithoutState(t *testing.T) {
	store, err := state.Open(state.Options{Dir: "store", FS: state.MemFS()})
	if err == nil {
		err = store.Close() // such a store gives snapshots without a state
	}
	if err != nil {
		t.Fatal(err)
	}
	a := &applyActor{cfg: &Config{Store: store}, hold: &hold{}}
	for _, r := range []request{{apply: &messages.ApplyBlock{}}, {rewind: &messages.Rewind{}}} {
		_, err = a.lookUp(openParent{request: r})
		if !errors.Is(err, state.ErrClosed) || errors.Is(err, ErrNoState) {
			t.Errorf("%v", err)
		}
	}
}

func TestASlotOfAnAccountThatIsAbsentAfterwardsIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		value common.Hash
		want  error
	}{
		"set":     {common.Hash{31: 1}, ErrOrphanSlot},
		"cleared": {common.Hash{}, nil}, // changes nothing
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{Workers: 1}, nil)
			b := r.block(1)
			list := &bal.AccessList{Accounts: []bal.AccountChanges{{
				Address: common.Address{9},
				StorageChanges: []bal.SlotChanges{{
					Slot: common.Hash{31: 7}, Changes: []bal.StorageChange{{Index: 1, Value: tc.value}},
				}},
			}}}
			b.BAL = bal.Encode(list)
			hash := bal.Hash(b.BAL)
			b.Header.BlockAccessListHash, b.Header.Root = &hash, trie.EmptyRoot
			r.send(b)
			if tc.want == nil {
				actorstest.Expect[*messages.BlockApplied](t, r.probe)
				return
			}
			m := actorstest.Expect[*messages.BlockRejected](t, r.probe)
			if !errors.Is(m.Err, tc.want) {
				t.Fatal(m.Err)
			}
		})
	}
}
