package balsa

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/state"
)

// ChangeSet is exactly what a block changed, or an undone block changed back.
type ChangeSet = state.ChangeSet

// Subscription gives the change sets of blocks, in their order.
type Subscription = balactor.Subscription

// SubscribeOptions say how change sets are delivered.
type SubscribeOptions = balactor.SubscribeOptions

// MissedError says how many change sets a subscription with MayMiss has missed.
type MissedError = balactor.MissedError

// Subscribe starts to deliver the change set of every block that is applied or undone from now on:
// the first leads away from a block that was the cursor during the call. The subscription ends
// with ctx, with its Close, and, once what waits has been read, with the engine (ErrClosed).
//
// Change sets wait in a bounded buffer. A block whose change set fills it is committed, but not
// answered before there is room again: see SubscribeOptions.MayMiss for the other way.
func (e *Engine) Subscribe(ctx context.Context, o SubscribeOptions) (*Subscription, error) {
	if e.tree == nil {
		return nil, ErrReadOnly
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.inFlight.Done()
	s, err := e.subscriptions.Subscribe(o, func() common.Hash { return e.Cursor().Hash })
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	s.CloseAfter(ctx)
	return s, nil
}
