package storageactor

import (
	"bytes"
	"fmt"
	"sort"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// cursor gives the leaves of one trie in key order. What it gives is valid until its next call.
type cursor interface {
	seek(from *common.Hash)
	next() (key *common.Hash, value []byte, ok bool, err error)
}

// slotCursor gives an account's slots from the flat rows.
type slotCursor struct {
	reader  Reader
	account common.Hash
}

func (c *slotCursor) seek(from *common.Hash) { c.reader.SeekSlots(&c.account, from) }

func (c *slotCursor) next() (*common.Hash, []byte, bool, error) { return c.reader.NextSlot() }

// accountCursor gives the accounts from the flat rows, as leaves of the account trie have them.
type accountCursor struct {
	reader Reader
	full   []byte
}

func (c *accountCursor) seek(from *common.Hash) { c.reader.SeekAccounts(from) }

func (c *accountCursor) next() (*common.Hash, []byte, bool, error) {
	hash, slim, ok, err := c.reader.NextAccount()
	if err != nil || !ok {
		return nil, nil, false, err
	}
	a, err := state.DecodeSlim(slim)
	if err != nil {
		return nil, nil, false, fmt.Errorf("account %s: %w", *hash, err)
	}
	c.full = a.AppendFull(c.full[:0])
	return hash, c.full, true, nil
}

// sliceCursor gives the leaves of a slice.
type sliceCursor struct {
	leaves []messages.StorageLeaf
	at     int
}

// seek finds by bisection: where the leaves do not ascend it may go anywhere, but from the first
// hash it goes to the first leaf.
func (c *sliceCursor) seek(from *common.Hash) {
	if *from == (common.Hash{}) {
		c.at = 0
		return
	}
	c.at = sort.Search(len(c.leaves), func(i int) bool {
		return bytes.Compare(c.leaves[i].Slot[:], from[:]) >= 0
	})
}

func (c *sliceCursor) next() (*common.Hash, []byte, bool, error) {
	if c.at == len(c.leaves) {
		return nil, nil, false, nil
	}
	l := &c.leaves[c.at]
	c.at++
	return &l.Slot, l.Value, true, nil
}

// checkOrder says how leaves fail to ascend, if they do. A trie is split only where they do.
func checkOrder(leaves []messages.StorageLeaf) error {
	for i := 1; i < len(leaves); i++ {
		switch d := bytes.Compare(leaves[i-1].Slot[:], leaves[i].Slot[:]); {
		case d == 0:
			return fmt.Errorf("%w: %s", trie.ErrDuplicateKey, leaves[i].Slot)
		case d > 0:
			return fmt.Errorf("%w: %s behind %s", trie.ErrKeyOrder, leaves[i].Slot, leaves[i-1].Slot)
		}
	}
	return nil
}
