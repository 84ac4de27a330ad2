package endtoend

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
)

// subscribed is a node with a subscription.
func subscribed(t *testing.T, how balsa.Apply, o balsa.SubscribeOptions, blocks int) (
	*node, *balsa.Subscription, []balsa.Block) {
	t.Helper()
	c := generate(t, "mix", 21, blocks, 20)
	n := newNodeAt(t, genesisOf(c), memory(how, 2))
	s, err := n.engine.Subscribe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var list []balsa.Block
	for _, b := range c.Blocks {
		list = append(list, blockOf(t, b))
	}
	return n, s, list
}

func next(t *testing.T, s *balsa.Subscription) *state.ChangeSet {
	t.Helper()
	c, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a block changes is what undoing it changes back, either way, and each begins where the one
// before ended.
func TestChangeSetsComeInOrderAndAreTheSameEitherWay(t *testing.T) {
	var all [2][]*state.ChangeSet
	for i, how := range []balsa.Apply{balsa.ApplyBulk, balsa.ApplyJournaled} {
		n, s, blocks := subscribed(t, how, balsa.SubscribeOptions{Buffer: 32}, 10)
		for _, b := range blocks {
			done, err := n.engine.Apply(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			c := next(t, s)
			if c.Hash != b.Header.Hash() || c.Parent != b.Header.ParentHash || c.Undone ||
				c.Number != b.Header.Number.Uint64() ||
				len(c.Accounts) != done.Accounts || len(c.Slots) != done.Slots {
				t.Fatalf("block %d: %+v, applied %+v", b.Header.Number, c, done)
			}
			all[i] = append(all[i], c)
		}
		if _, err := n.engine.Rewind(t.Context(), blocks[0].Header.ParentHash); err != nil {
			t.Fatal(err)
		}
		for k := len(blocks) - 1; k >= 0; k-- {
			c := next(t, s)
			if !c.Undone || c.Hash != blocks[k].Header.Hash() {
				t.Fatalf("undoing block %d: %+v", k+1, c)
			}
			reversed(t, c, all[i][k])
		}
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Fatal("the two ways do not change the same")
	}
}

// reversed checks that one change set takes the other back.
func reversed(t *testing.T, back, forth *state.ChangeSet) {
	t.Helper()
	if len(back.Accounts) != len(forth.Accounts) || len(back.Slots) != len(forth.Slots) {
		t.Fatalf("block %d: %d accounts and %d slots, back %d and %d", forth.Number,
			len(forth.Accounts), len(forth.Slots), len(back.Accounts), len(back.Slots))
	}
	for i, a := range forth.Accounts {
		b := back.Accounts[i]
		if a.Hash != b.Hash || string(a.Pre) != string(b.Post) || string(a.Post) != string(b.Pre) {
			t.Fatalf("account %s: %x -> %x, back %x -> %x", a.Hash, a.Pre, a.Post, b.Pre, b.Post)
		}
	}
	for i, a := range forth.Slots {
		b := back.Slots[i]
		if a.Slot != b.Slot || string(a.Pre) != string(b.Post) || string(a.Post) != string(b.Pre) {
			t.Fatalf("slot %s: %x -> %x, back %x -> %x", a.Slot, a.Pre, a.Post, b.Pre, b.Post)
		}
	}
}

// apply applies a block in the background.
func applying(n *node, b balsa.Block) chan error {
	done := make(chan error, 1)
	go func() {
		_, err := n.engine.Apply(context.Background(), b)
		done <- err
	}()
	return done
}

// A subscriber that does not read holds blocks back, until it reads, leaves, or the engine closes.
func TestASlowSubscriberHoldsBlocksBack(t *testing.T) {
	for name, release := range map[string]func(*node, *balsa.Subscription) error{
		"it reads": func(_ *node, s *balsa.Subscription) error {
			_, err := s.Next(context.Background())
			return err
		},
		"it leaves": func(_ *node, s *balsa.Subscription) error { s.Close(); return nil },
		"the engine closes": func(n *node, _ *balsa.Subscription) error {
			return n.engine.Close(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, s, blocks := subscribed(t, balsa.ApplyBulk, balsa.SubscribeOptions{Buffer: 2}, 3)
			if err := <-applying(n, blocks[0]); err != nil {
				t.Fatal(err)
			}
			held := applying(n, blocks[1])
			for n.engine.Cursor().Number < 2 { // committed, not answered
				if err := t.Context().Err(); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-held:
				t.Fatalf("a block went past a full buffer: %v", err)
			default:
			}
			if err := release(n, s); err != nil {
				t.Fatal(err)
			}
			if err := <-held; err != nil && !errors.Is(err, balsa.ErrClosed) {
				t.Fatal(err)
			}
		})
	}
}

func TestASubscriberThatMayMissIsToldWhatItMissed(t *testing.T) {
	n, s, blocks := subscribed(t, balsa.ApplyBulk,
		balsa.SubscribeOptions{Buffer: 2, MayMiss: true}, 6)
	for _, b := range blocks[:5] {
		if err := <-applying(n, b); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 2 {
		if c := next(t, s); c.Number != uint64(k+1) {
			t.Fatalf("block %d", c.Number)
		}
	}
	var missed *balsa.MissedError
	if _, err := s.Next(t.Context()); !errors.As(err, &missed) || missed.Blocks != 3 {
		t.Fatalf("error %v", err)
	}
	if err := <-applying(n, blocks[5]); err != nil {
		t.Fatal(err)
	}
	if c := next(t, s); c.Number != 6 {
		t.Fatalf("block %d", c.Number)
	}
}

func TestASubscriptionEndsWithItsContextAndWithTheEngine(t *testing.T) {
	n, s, blocks := subscribed(t, balsa.ApplyBulk, balsa.SubscribeOptions{}, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	other, err := n.engine.Subscribe(ctx, balsa.SubscribeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	cancel(over)
	if _, err := other.Next(t.Context()); !errors.Is(err, over) {
		t.Fatalf("error %v", err)
	}
	if err := <-applying(n, blocks[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := n.engine.Subscribe(t.Context(), balsa.SubscribeOptions{Buffer: -1}); err == nil {
		t.Fatal("a buffer below zero was taken")
	}
	n.close()
	if c := next(t, s); c.Number != 1 {
		t.Fatalf("block %d", c.Number)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, balsa.ErrClosed) {
		t.Fatalf("error %v", err)
	}
}
