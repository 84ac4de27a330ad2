package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/balsa-sync/balsa"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// closeTimeout bounds the engine's close: nothing is in hand then.
const closeTimeout = time.Minute

// BalsaSide applies blocks with an Engine, and adds up where their time went.
type BalsaSide struct {
	engine *balsa.Engine
	blocks int
	sum    map[string]time.Duration
}

// NewBalsaSide makes Balsa's store of the state in dir and opens an Engine on it.
func NewBalsaSide(ctx context.Context, dir string, s Sizes, g *Genesis) (*BalsaSide, error) {
	o := balsa.Options{Dir: dir, NoSync: s.NoSync, CacheBytes: int64(s.CacheMB) << 20 / 2}
	made, err := balsa.Import(ctx, o, g.Source(), balsa.ImportOptions{})
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", dir, err)
	}
	e, err := balsa.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", dir, err)
	}
	if c := made.Cursor; c.Root != g.Root || e.Cursor().Hash != g.Header.Hash() {
		return nil, errors.Join(fmt.Errorf("bench: %s: cursor %+v", dir, c), e.Close(ctx))
	}
	return &BalsaSide{engine: e, sum: map[string]time.Duration{}}, nil
}

// Name implements Side.
func (b *BalsaSide) Name() string { return "balsa" }

// Apply implements Side.
func (b *BalsaSide) Apply(header *types.Header, list []byte) (common.Hash, error) {
	a, err := b.engine.Apply(context.Background(), balsa.Block{Header: header, BAL: list,
		Transactions: Transactions})
	if err != nil {
		return common.Hash{}, err
	}
	if a.Known {
		return common.Hash{}, fmt.Errorf("bench: block %d was known", a.Number)
	}
	b.blocks++
	b.sum["decode"] += a.Phases.Decode
	b.sum["warm-up"] += a.Phases.Warmup
	b.sum["storage roots"] += a.Phases.StorageRoots
	b.sum["account root"] += a.Phases.AccountRoot
	b.sum["commit"] += a.Phases.Commit
	return a.Root, nil
}

// Phases says where the average block's time went, as the engine reports it.
func (b *BalsaSide) Phases() string {
	var s strings.Builder
	s.WriteString("balsa, ms a block:")
	for _, p := range []string{"decode", "warm-up", "storage roots", "account root", "commit"} {
		fmt.Fprintf(&s, " %s %.2f", p, Millis(b.sum[p])/float64(max(b.blocks, 1)))
	}
	return s.String()
}

// Close implements Side.
func (b *BalsaSide) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return b.engine.Close(ctx)
}
