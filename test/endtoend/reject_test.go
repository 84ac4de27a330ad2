package endtoend

import (
	"errors"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
)

// A rejected block leaves the store as it was, byte for byte, and the right one still fits.
func TestARejectedBlockChangesNothing(t *testing.T) {
	c := generate(t, "mix", 8, 6, 12)
	good := c.Blocks[3]
	cases := []struct {
		name string
		edit func(h *types.Header, b *balsa.Block)
		want error
	}{
		{"wrong root", func(h *types.Header, _ *balsa.Block) { h.Root = anyHash }, balsa.ErrWrongRoot},
		{"the list of another block", func(_ *types.Header, b *balsa.Block) {
			*b = balsa.Block{Header: b.Header, BAL: blockOf(t, c.Blocks[4]).BAL, Transactions: -1}
		}, balsa.ErrBALHash},
		{"the list of another block under its hash", func(h *types.Header, b *balsa.Block) {
			b.BAL, b.Transactions = blockOf(t, c.Blocks[4]).BAL, -1
			h.BlockAccessListHash = hashOf(b.BAL)
		}, balsa.ErrWrongRoot},
		{"a byte behind the list", func(h *types.Header, b *balsa.Block) {
			b.BAL = append(append([]byte{}, b.BAL...), 0)
			h.BlockAccessListHash = hashOf(b.BAL)
		}, bal.ErrTrailingBytes},
		{"no list", func(_ *types.Header, b *balsa.Block) { b.BAL = nil }, balsa.ErrNoBAL},
		{"list not available", func(_ *types.Header, b *balsa.Block) { b.BAL = []byte{0x80} },
			balsa.ErrNoBAL},
		{"empty list instead", func(_ *types.Header, b *balsa.Block) { b.BAL = bal.Empty },
			balsa.ErrBALHash},
		{"before Amsterdam", func(h *types.Header, _ *balsa.Block) {
			h.BlockAccessListHash, h.SlotNumber = nil, nil
		}, balsa.ErrPreAmsterdam},
		{"wrong number", func(h *types.Header, _ *balsa.Block) { h.Number = big.NewInt(9) },
			balsa.ErrUnknownParent},
		{"wrong parent", func(h *types.Header, _ *balsa.Block) { h.ParentHash = anyHash },
			balsa.ErrUnknownParent},
		{"no header", func(_ *types.Header, b *balsa.Block) { b.Header = nil }, balsa.ErrBadHeader},
		{"too many items", func(h *types.Header, _ *balsa.Block) { h.GasLimit = 2000 },
			bal.ErrTooManyItems},
	}
	n := newNode(t, c, 2)
	n.apply(c.Blocks[:3]...)
	before := n.rows()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			in := blockOf(t, good)
			tc.edit(in.Header, &in)
			if _, err := n.engine.Apply(t.Context(), in); !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			sameRows(t, n.rows(), before)
		})
	}
	for _, b := range []*types.Block{c.Blocks[4], c.Blocks[5]} { // out of order
		if _, err := n.engine.Apply(t.Context(), blockOf(t, b)); !errors.Is(err, balsa.ErrUnknownParent) {
			t.Fatalf("block %d: %v", b.NumberU64(), err)
		}
	}
	n.apply(c.Blocks[3:]...)
}

func hashOf(b []byte) *common.Hash {
	h := crypto.Keccak256Hash(b)
	return &h
}

func TestAWrongRootNamesBlockRootsAndAccountsInQuestion(t *testing.T) {
	c := generate(t, "storage", 8, 3, 12)
	n := newNode(t, c, 1)
	in := blockOf(t, c.Blocks[0])
	right := in.Header.Root
	in.Header.Root = anyHash
	_, err := n.engine.Apply(t.Context(), in)
	var wrong *balsa.WrongRootError
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	if wrong.Number != 1 || wrong.Hash != in.Header.Hash() || wrong.Want != anyHash ||
		wrong.Got != right {
		t.Fatalf("%+v", wrong)
	}
	changed := map[common.Address]bool{}
	for _, a := range *c.Blocks[0].AccessList() {
		changed[a.Address] = len(a.StorageChanges) > 0
	}
	if len(wrong.Accounts) == 0 {
		t.Fatal("no account is named, and the block changes storage")
	}
	for _, a := range wrong.Accounts {
		if !changed[a] {
			t.Errorf("account %s is named, and its storage did not change", a)
		}
	}
}
