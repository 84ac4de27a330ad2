package balsa

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/telemetry"
	"github.com/balsa-sync/balsa/trie"
)

func empty() Genesis {
	return Genesis{ChainID: 5, Header: &types.Header{Number: new(big.Int), Root: trie.EmptyRoot}}
}

func memory() Options { return Options{Dir: "store", FS: state.MemFS(), Workers: 1} }

// start builds a store with an empty state and opens it.
func start(t *testing.T, o Options) *Engine {
	t.Helper()
	if _, err := Init(t.Context(), o, empty()); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestOpenRefusesAStoreWithoutState(t *testing.T) {
	if _, err := Open(t.Context(), memory()); !errors.Is(err, state.ErrNotFound) {
		t.Fatalf("error %v", err)
	}
	o := memory()
	s, err := state.Open(state.Options{Dir: o.Dir, FS: o.FS})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrNoState) {
		t.Fatalf("error %v", err)
	}
}

func TestInitWithAWrongRootLeavesNothingAndMayBeRunAgain(t *testing.T) {
	o, g := memory(), empty()
	g.Header.Root = common.Hash{1}
	_, err := Init(t.Context(), o, g)
	var wrong *WrongRootError
	if !errors.As(err, &wrong) || wrong.Want != (common.Hash{1}) || wrong.Got != trie.EmptyRoot {
		t.Fatalf("error %v", err)
	}
	if _, err := Open(t.Context(), o); !errors.Is(err, state.ErrUnfinished) {
		t.Fatalf("error %v", err)
	}
	e := start(t, o)
	if e.Cursor().Root != trie.EmptyRoot || e.ChainID() != 5 {
		t.Fatalf("cursor %v, chain %d", e.Cursor(), e.ChainID())
	}
}

func TestInitTellsItsOwnStateFromAnother(t *testing.T) {
	o := memory()
	if _, err := Init(t.Context(), o, empty()); err != nil {
		t.Fatal(err)
	}
	c, err := Init(t.Context(), o, empty())
	if !errors.Is(err, ErrInitialised) || c.Hash != empty().Header.Hash() {
		t.Fatalf("%v, %v", c, err)
	}
	other := empty()
	other.Header.GasLimit = 1
	if _, err := Init(t.Context(), o, other); !errors.Is(err, ErrOtherState) {
		t.Fatalf("error %v", err)
	}
}

func TestInitRefusesWhatIsNoAccount(t *testing.T) {
	for name, balance := range map[string]*big.Int{
		"negative": big.NewInt(-1), "257 bits": new(big.Int).Lsh(big.NewInt(1), 256),
	} {
		g := empty()
		g.Alloc = types.GenesisAlloc{{1}: {Balance: balance}}
		if _, err := Init(t.Context(), memory(), g); err == nil {
			t.Errorf("balance %s was taken", name)
		}
	}
}

func TestAClosedEngineSaysSo(t *testing.T) {
	e := start(t, memory())
	for range 2 {
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Apply(t.Context(), Block{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply: %v", err)
	}
	if _, err := e.Rewind(t.Context(), common.Hash{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Rewind: %v", err)
	}
	if _, err := e.View(); !errors.Is(err, ErrClosed) {
		t.Errorf("View: %v", err)
	}
	if _, err := e.Verify(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Verify: %v", err)
	}
}

func TestAReadOnlyEngineAnswersQuestionsAlone(t *testing.T) {
	o := memory()
	if _, err := Init(t.Context(), o, empty()); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if _, err := e.Apply(t.Context(), Block{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Apply: %v", err)
	}
	if r, err := e.Verify(t.Context(), nil); err != nil || r.Root != trie.EmptyRoot {
		t.Errorf("Verify: %+v, %v", r, err)
	}
}

func TestOptionsThatContradictThemselvesAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"no directory":        {},
		"too many workers":    {Dir: "d", Workers: 1000},
		"negative workers":    {Dir: "d", Workers: -1},
		"negative cache":      {Dir: "d", CacheBytes: -1},
		"tiny cache":          {Dir: "d", CacheBytes: 1},
		"negative time limit": {Dir: "d", ApplyTimeout: -1},
	} {
		if err := o.Validate(); !errors.Is(err, ErrBadOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAStateThatCannotBeReadIsNoMissingState: why a snapshot has nothing goes before the advice to
// run init.
func TestAStateThatCannotBeReadIsNoMissingState(t *testing.T) {
	o := memory()
	o.ReadOnly = true
	if _, err := Init(t.Context(), Options{Dir: o.Dir, FS: o.FS}, empty()); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), o)
	if err == nil {
		err = e.store.Close() // a store that gives no snapshot
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err = e.View(); !errors.Is(err, state.ErrClosed) || errors.Is(err, ErrNoState) {
		t.Errorf("view: %v", err)
	}
	if _, err = e.Verify(t.Context(), nil); !errors.Is(err, state.ErrClosed) {
		t.Errorf("verify: %v", err)
	}
}

func TestCloseMayBeCalledAgainWhereAViewIsOpen(t *testing.T) {
	o := memory()
	e := start(t, o)
	v, err := e.View()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); !errors.Is(err, state.ErrSnapshotsOpen) {
		t.Fatalf("error %v", err)
	}
	if err := errors.Join(v.Close(), e.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), o) // the store is free
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCloseWithoutTimeStopsTheActorsAndMayBeCalledAgain(t *testing.T) {
	o := memory()
	e := start(t, o)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(over); err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, state.ErrSnapshotsOpen) {
		t.Fatalf("error %v", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// stopAt gives tracers that stop the goroutine which starts a span of the given name.
type stopAt struct {
	noop.TracerProvider
	name        string
	there, goOn chan struct{}
}

func (s *stopAt) Tracer(string, ...oteltrace.TracerOption) oteltrace.Tracer {
	return &stoppingTracer{at: s}
}

type stoppingTracer struct {
	noop.Tracer
	at *stopAt
}

func (s *stoppingTracer) Start(ctx context.Context, name string, o ...oteltrace.SpanStartOption) (
	context.Context, oteltrace.Span) {
	if name == s.at.name {
		close(s.at.there)
		<-s.at.goOn
	}
	return s.Tracer.Start(ctx, name, o...)
}

func TestCloseHasTheBlockInHandGivenUp(t *testing.T) {
	at := &stopAt{name: telemetry.SpanBALDecode, there: make(chan struct{}),
		goOn: make(chan struct{})}
	o := memory()
	o.TracerProvider = at
	e := start(t, o)
	hash := bal.Hash(bal.Empty)
	b := Block{BAL: bal.Empty, Header: &types.Header{
		Number: big.NewInt(1), ParentHash: e.Cursor().Hash, Root: trie.EmptyRoot,
		GasLimit: 1, BlockAccessListHash: &hash,
	}}
	applied, closed := make(chan error), make(chan error)
	go func() { _, err := e.Apply(t.Context(), b); applied <- err }()
	<-at.there
	go func() { closed <- e.Close(t.Context()) }()
	<-e.open.Done()
	e.close(nil) // returns when all that hangs on it has ended
	close(at.goOn)
	if err := <-applied; !errors.Is(err, ErrGivenUp) || !errors.Is(err, ErrClosed) {
		t.Errorf("apply: %v", err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	o.TracerProvider = nil
	again, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	if m, err := again.Apply(t.Context(), b); err != nil || m.Known {
		t.Fatalf("%+v, %v", m, err)
	}
}
