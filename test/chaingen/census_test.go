package chaingen

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
)

// census counts what happens in a chain, by name, from go-ethereum's states before and after
// every block, the access lists and the receipts.
type census map[string]int

// max raises a count to n.
func (c census) max(name string, n int) { c[name] = max(c[name], n) }

func (c census) count(name string, yes bool) {
	if yes {
		c[name]++
	}
}

// takeCensus counts in the blocks of a chain from number first on.
func takeCensus(t *testing.T, c *Chain, first uint64) census {
	t.Helper()
	counts := make(census)
	ref := Reference(c)
	pre, err := ref.At(first - 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range c.Blocks[first-1:] {
		post, err := ref.At(b.NumberU64())
		if err != nil {
			t.Fatal(err)
		}
		counts.block(b, c.Receipts[b.NumberU64()-1], pre, post)
		pre = post
	}
	return counts
}

func (c census) block(b *types.Block, receipts types.Receipts, pre, post State) {
	deployed := make(map[common.Hash]int)
	for _, row := range *b.AccessList() {
		before, after := pre[row.Address], post[row.Address]
		c.account(row, before, after)
		c.storage(row, before, after)
		c.code(row, before, after)
		if n := len(row.CodeChanges); n > 0 {
			hash := crypto.Keccak256Hash(row.CodeChanges[n-1].NewCode)
			deployed[hash]++
			c.max("one code in one block", deployed[hash])
		}
	}
	for _, w := range b.Withdrawals() {
		c.count("withdrawal", true)
		c.count("withdrawal creates", pre[w.Address] == nil && post[w.Address] != nil)
		c.count("withdrawal to an account", pre[w.Address] != nil && w.Amount > 0)
		c.count("zero withdrawal to nobody",
			w.Amount == 0 && pre[w.Address] == nil && post[w.Address] == nil)
		c.count("zero withdrawal to an account", w.Amount == 0 && pre[w.Address] != nil)
	}
	for i, tx := range b.Transactions() {
		c.count("transaction", true)
		c.count("creation", tx.To() == nil)
		c.count("failed", receipts[i].Status == types.ReceiptStatusFailed)
		c.count("fee recipient is a target", tx.To() != nil && *tx.To() == b.Coinbase())
	}
	c.count("fee recipient created", pre[b.Coinbase()] == nil && post[b.Coinbase()] != nil)
	c.count("empty block", len(b.Transactions()) == 0 && len(b.Withdrawals()) == 0)
}

func (c census) account(row bal.AccountAccess, before, after *Account) {
	changes := len(row.BalanceChanges) + len(row.NonceChanges) + len(row.CodeChanges)
	absent := before == nil && after == nil
	c.count("created", before == nil && after != nil)
	c.count("destroyed", before != nil && after == nil)
	c.count("created and drained in one block", absent && changes > 0)
	c.count("touched in vain", absent && changes == 0 && len(row.StorageReads) == 0)
	c.count("destroyed unseen", absent && changes == 0 && len(row.StorageReads) > 0)
	c.count("destroyed, balance stays", after != nil && after.Nonce == 0 &&
		len(after.Code) == 0 && len(row.StorageReads) > 0)
	c.count("contract without code", before == nil && after != nil && after.Nonce == 1 &&
		len(after.Code) == 0 && len(row.CodeChanges) == 0)
	c.count("funded, then a contract", before == nil && after != nil && len(after.Code) > 0 &&
		len(row.BalanceChanges) > 1)
}

func (c census) storage(row bal.AccountAccess, before, after *Account) {
	var had, has map[common.Hash]common.Hash
	if before != nil {
		had = before.Storage
	}
	if after != nil {
		has = after.Storage
	}
	var none common.Hash
	for _, sc := range row.StorageChanges {
		slot := common.Hash(sc.Slot.Bytes32())
		x, y := had[slot], has[slot]
		c.count("slot written", x == none && y != none)
		c.count("slot overwritten", x != none && y != none && x != y)
		c.count("slot cleared", x != none && y == none)
		c.count("slot back where it was", x == y && len(sc.SlotChanges) > 1)
	}
	c.count("slot read", len(row.StorageReads) > 0)
	c.count("storage emptied", len(had) > 0 && after != nil && len(has) == 0)
	c.count("one slot emptied", len(had) == 1 && after != nil && len(has) == 0)
	c.count("storage refilled", before != nil && len(had) == 0 && len(has) > 0)
	c.count("created with storage", before == nil && len(has) > 0)
}

func (c census) code(row bal.AccountAccess, before, after *Account) {
	var old, now []byte
	if before != nil {
		old = before.Code
	}
	if after != nil {
		now = after.Code
	}
	from, was := types.ParseDelegation(old)
	to, is := types.ParseDelegation(now)
	c.count("code deployed", len(old) == 0 && len(now) > 0 && !is)
	c.count("delegation set", !was && is)
	c.count("delegation changed", was && is && from != to)
	c.count("delegation cleared", was && after != nil && len(now) == 0)
	c.count("delegation creates", before == nil && is && after.Balance.IsZero())
	c.count("storage outlives its delegation", was && !is && after != nil &&
		len(after.Storage) > 0)
	c.count("storage under a delegation", is && len(after.Storage) > 0)
	c.count("set and cleared in one transaction", before == nil && after != nil &&
		after.Nonce == 2 && len(now) == 0 && len(row.CodeChanges) == 0)
	for i, cc := range row.CodeChanges {
		c.count("code set to empty", i > 0 && len(cc.NewCode) == 0)
	}
}
