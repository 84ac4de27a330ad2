package balactor

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/internal/mutants"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// notAvailable is how a peer says that it does not have a block access list (DESIGN, BAL rules).
const notAvailable = 0x80

// decodeBlock checks a block access list against its header and works out what each account that
// it changes shall become (I3).
func decodeBlock(m *messages.ApplyBlock) ([]messages.AccountTarget, error) {
	w := &wanted{ctx: m.Ctx}
	list, err := decodeList(m, w)
	if err != nil {
		return nil, err
	}
	return targetsOf(list.PostState(), w)
}

// decodeList checks a block access list against its header.
func decodeList(m *messages.ApplyBlock, w *wanted) (*bal.AccessList, error) {
	if m.Header.BlockAccessListHash == nil {
		return nil, ErrPreAmsterdam
	}
	if len(m.BAL) == 0 || len(m.BAL) == 1 && m.BAL[0] == notAvailable {
		return nil, ErrNoBAL
	}
	if got := bal.Hash(m.BAL); got != *m.Header.BlockAccessListHash &&
		mutants.Active != mutants.ListUnchecked {
		return nil, fmt.Errorf("%w: the header has %s, the list %s", ErrBALHash,
			*m.Header.BlockAccessListHash, got)
	}
	if err := w.err(); err != nil {
		return nil, err
	}
	list, err := bal.Decode(m.BAL, bal.Limits{
		GasLimit: m.Header.GasLimit, Transactions: m.Transactions,
	})
	if err != nil {
		return nil, err
	}
	return list, w.err()
}

// hashedAtOnce is how many keys are hashed between two looks at whether the block is still wanted.
const hashedAtOnce = 1 << 14

// keysOf hashes all keys of a post-state together, in lanes. The slots' are in its order.
func keysOf(post []bal.PostAccount, w *wanted) (accountKeys, slotKeys []common.Hash, err error) {
	n := 0
	for i := range post {
		n += len(post[i].Slots)
	}
	slots := make([]common.Hash, 0, n)
	addresses := make([]common.Address, len(post))
	for i := range post {
		addresses[i] = post[i].Address
		for j := range post[i].Slots {
			slots = append(slots, post[i].Slots[j].Slot)
		}
	}
	accountKeys, slotKeys = make([]common.Hash, len(addresses)), make([]common.Hash, len(slots))
	keccak.SumAddresses(accountKeys, addresses)
	for from := 0; from < len(slots); from += hashedAtOnce {
		if err := w.err(); err != nil {
			return nil, nil, err
		}
		to := min(from+hashedAtOnce, len(slots))
		keccak.SumSlots(slotKeys[from:to], slots[from:to])
	}
	return accountKeys, slotKeys, nil
}

// targetsOf keys a post-state by hashes and puts it into their order.
func targetsOf(post []bal.PostAccount, w *wanted) ([]messages.AccountTarget, error) {
	accountKeys, slotKeys, err := keysOf(post, w)
	if err != nil {
		return nil, err
	}
	first := make([]int, len(post)) // of each account's slots, in slotKeys
	for i := 1; i < len(post); i++ {
		first[i] = first[i-1] + len(post[i-1].Slots)
	}
	slab, values := make([]messages.SlotTarget, len(slotKeys)), make([]byte, 0, slotRoom(post))
	targets := make([]messages.AccountTarget, len(post))
	var slots []keyOrder
	for i, o := range orderOf(nil, accountKeys) {
		if err := w.item(); err != nil {
			return nil, err
		}
		p, from := &post[o.index], first[o.index]
		to := from + len(p.Slots)
		own := slab[from:to:to]
		slots = orderOf(slots, slotKeys[from:to])
		for j, o := range slots {
			if err := w.item(); err != nil {
				return nil, err
			}
			own[j].Hash = slotKeys[from+int(o.index)]
			start := len(values)
			values = state.AppendSlot(values, &p.Slots[o.index].Value)
			if end := len(values); end > start {
				own[j].Value = values[start:end:end]
			}
		}
		targets[i] = messages.AccountTarget{
			Hash: accountKeys[o.index], Address: p.Address,
			Nonce: p.Nonce, Balance: p.Balance, Code: p.Code, CodeSet: p.CodeSet,
			Slots: own,
		}
	}
	hashCodes(targets)
	return targets, w.err()
}

// slotRoom is at least the length of all slots' values in RLP.
func slotRoom(post []bal.PostAccount) (n int) {
	for i := range post {
		n += (1 + common.HashLength) * len(post[i].Slots)
	}
	return n
}

// keyOrder sorts keys, mostly without looking at them.
type keyOrder struct {
	head  uint64 // of the key
	index uint32 // in the list of keys
}

// orderOf fills dst with the order of keys.
func orderOf(dst []keyOrder, keys []common.Hash) []keyOrder {
	dst = slices.Grow(dst[:0], len(keys))
	for i := range keys {
		dst = append(dst, keyOrder{binary.BigEndian.Uint64(keys[i][:]), uint32(i)})
	}
	slices.SortFunc(dst, func(a, b keyOrder) int {
		if a.head == b.head {
			return keys[a.index].Cmp(keys[b.index])
		}
		return cmp.Compare(a.head, b.head)
	})
	return dst
}

// targetsOfDiff makes targets of a reverse diff: each account exactly as it was.
func targetsOfDiff(d *state.ReverseDiff) ([]messages.AccountTarget, error) {
	targets := make([]messages.AccountTarget, 0, len(d.Accounts))
	slots := d.Slots
	for i := range d.Accounts {
		a := &d.Accounts[i]
		t := messages.AccountTarget{Hash: a.Hash, Exact: true, Slim: a.Pre}
		for len(slots) > 0 && slots[0].Account == a.Hash {
			t.Slots = append(t.Slots, messages.SlotTarget{
				Hash: slots[0].Slot, Value: slots[0].Pre,
			})
			slots = slots[1:]
		}
		targets = append(targets, t)
	}
	if len(slots) > 0 {
		return nil, fmt.Errorf("%w: it has a slot of account %s, but not the account",
			ErrDiffMismatch, slots[0].Account)
	}
	return targets, nil
}

// split cuts targets into runs of about equal weight: at least one for each worker, and none much
// heavier than the batch bound, which an account with many slots exceeds alone.
func split(targets []messages.AccountTarget, workers, batch int) [][]messages.AccountTarget {
	return cut(targets, func(t *messages.AccountTarget) int { return len(t.Slots) }, workers, batch)
}

// cut is split for anything with slots.
func cut[T any](targets []T, slots func(*T) int, workers, batch int) [][]T {
	total := 0
	for i := range targets {
		total += 1 + slots(&targets[i])
	}
	if total == 0 {
		return nil
	}
	aim := min(batch, (total+workers-1)/workers)
	var runs [][]T
	from, weight := 0, 0
	for i := range targets {
		weight += 1 + slots(&targets[i])
		if weight >= aim {
			runs = append(runs, targets[from:i+1])
			if from, weight = i+1, 0; mutants.Active == mutants.BatchSeam && i+2 < len(targets) {
				from++
			}
		}
	}
	if from < len(targets) {
		runs = append(runs, targets[from:])
	}
	return runs
}

// checkHeader refuses headers that cannot be worked with.
func checkHeader(h *types.Header) error {
	switch {
	case h == nil:
		return fmt.Errorf("%w: there is none", ErrBadHeader)
	case h.Number == nil || !h.Number.IsUint64():
		return fmt.Errorf("%w: it has no block number", ErrBadHeader)
	case h.Root == (common.Hash{}):
		return fmt.Errorf("%w: it has no state root", ErrBadHeader)
	}
	return nil
}
