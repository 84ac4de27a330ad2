package supervisor

import (
	"context"
	"log/slog"
	"math/big"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/storageactor"
	"github.com/balsa-sync/balsa/trie"
)

// A tree for builds, for blocks, or for both has the actors that it is for, and stops.
func TestATreeHasWhatItIsStartedFor(t *testing.T) {
	for name, tc := range map[string]struct{ build, blocks bool }{
		"builds": {build: true}, "blocks": {blocks: true}, "both": {true, true}, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := state.Open(state.Options{Dir: "store", FS: state.MemFS()})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			header := &types.Header{Number: new(big.Int), Root: trie.EmptyRoot}
			bulk, err := store.NewBulk(state.BulkOptions{
				Target: state.Cursor{Hash: header.Hash(), Root: header.Root},
			})
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{
				Tracer: noop.NewTracerProvider().Tracer(""), Logger: slog.New(slog.DiscardHandler),
			}
			if tc.build {
				cfg.Build = storageactor.StoreOf(bulk)
			}
			if tc.blocks {
				cfg.Store = store
			}
			tree, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if (tree.Storage != nil) != tc.build || (tree.BalApply != nil) != tc.blocks {
				t.Fatalf("%+v", tree)
			}
			if tc.build {
				buildNothing(t, tree)
			}
			if err := tree.Stop(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// buildNothing asks for what there is: an empty state.
func buildNothing(t *testing.T, tree *Tree) {
	t.Helper()
	m, err := tree.System.Ask(t.Context(), tree.Storage, func(to *actor.PID) any {
		return &messages.BuildStorage{Request: 1, To: common.MaxHash, ReplyTo: to}
	})
	if built, ok := m.(*messages.StorageBuilt); err != nil || !ok || !built.Done {
		t.Fatalf("%+v, %v", m, err)
	}
	m, err = tree.System.Ask(t.Context(), tree.Storage, func(to *actor.PID) any {
		return &messages.BuildAccounts{Request: 2, ReplyTo: to}
	})
	if built, ok := m.(*messages.AccountsBuilt); err != nil || !ok || built.Root != trie.EmptyRoot {
		t.Fatalf("%+v, %v", m, err)
	}
}
