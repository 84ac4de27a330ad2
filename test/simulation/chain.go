package simulation

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/bal"
)

// chain draws states and blocks.
type chain struct {
	rng       *rand.Rand
	addresses []common.Address // that this run's blocks touch
	slots     []common.Hash
	known     map[common.Hash]*block // all that were drawn
}

func newChain(rng *rand.Rand) *chain {
	c := &chain{rng: rng, known: map[common.Hash]*block{}}
	for _, i := range rng.Perm(len(addressPool))[:4+rng.IntN(28)] {
		c.addresses = append(c.addresses, addressPool[i].name)
	}
	for _, i := range rng.Perm(len(slotPool))[:2+rng.IntN(40)] {
		c.slots = append(c.slots, slotPool[i].name)
	}
	for i := range slotPairs { // both of a pair, or none: apart they do nothing
		if rng.IntN(4) > 0 {
			continue
		}
		for _, n := range slotPairs[i] {
			if s, _ := slotOf(n); !slices.Contains(c.slots, s) {
				c.slots = append(c.slots, s)
			}
		}
	}
	return c
}

// code draws one of a few codes, so that accounts share them.
func (c *chain) code() []byte {
	return bytes.Repeat([]byte{0x5b, byte(c.rng.IntN(9))}, 1+c.rng.IntN(3))
}

// value draws a slot's value: mostly one byte, so that leaves are short.
func (c *chain) value() (v common.Hash) {
	v[31] = byte(1 + c.rng.IntN(127))
	if c.rng.IntN(5) == 0 {
		v[c.rng.IntN(31)] = byte(1 + c.rng.IntN(255))
	}
	return v
}

// genesis draws the state to start from.
func (c *chain) genesis() *block {
	b := &block{world: world{}}
	for _, addr := range c.addresses {
		if c.rng.IntN(4) == 0 {
			continue
		}
		a := (&account{nonce: uint64(c.rng.IntN(3))}).clone()
		a.balance.SetUint64(uint64(c.rng.IntN(3) * c.rng.IntN(1<<20)))
		if c.rng.IntN(2) == 0 {
			a.code = c.code()
			b.codes = append(b.codes, a.code)
			n := len(c.slots)
			if c.rng.IntN(3) > 0 {
				n = min(n, c.rng.IntN(6))
			}
			for _, i := range c.rng.Perm(len(c.slots))[:n] {
				a.slots[c.slots[i]] = c.value()
			}
		}
		if !a.empty() {
			b.world[addr] = a
		}
	}
	b.header = newHeader(0, common.Hash{}, b.world.root(), []byte{0xc0})
	b.hash = b.header.Hash()
	c.known[b.hash] = b
	return b
}

// next draws a block on top of another.
func (c *chain) next(parent *block) *block {
	b := &block{parent: parent, world: maps.Clone(parent.world), txs: 1 + c.rng.IntN(4)}
	var rows []bal.AccountChanges
	touched := c.rng.Perm(len(c.addresses))[:c.rng.IntN(min(9, len(c.addresses)+1))]
	if c.rng.IntN(12) == 0 {
		touched = c.rng.Perm(len(c.addresses)) // all of them
	}
	for _, i := range touched {
		rows = append(rows, c.change(b, c.addresses[i]))
	}
	slices.SortFunc(rows, func(x, y bal.AccountChanges) int { return x.Address.Cmp(y.Address) })
	b.list = bal.Encode(&bal.AccessList{Accounts: rows})
	b.header = newHeader(parent.number()+1, parent.hash, b.world.root(), b.list)
	b.header.Extra = []byte{byte(c.rng.IntN(256)), byte(c.rng.IntN(256))} // branches differ
	b.hash = b.header.Hash()
	c.known[b.hash] = b
	return b
}

// change draws what a block does to an account.
func (c *chain) change(b *block, addr common.Address) bal.AccountChanges {
	row := bal.AccountChanges{Address: addr}
	pre := b.world[addr]
	post := (&account{}).clone()
	if pre != nil {
		post = pre.clone()
	}
	if c.rng.IntN(8) == 0 && pre != nil && len(pre.code) == 0 && len(pre.slots) == 0 {
		c.drain(&row, post)
	} else {
		c.fields(&row, post, b.txs)
	}
	if len(post.code) > 0 {
		b.slots += c.storage(&row, post, b.txs)
	} else if c.rng.IntN(3) == 0 {
		row.StorageReads = append(row.StorageReads, c.slots[c.rng.IntN(len(c.slots))])
	}
	if len(row.CodeChanges) > 0 && !post.empty() {
		for _, ch := range row.CodeChanges[len(row.CodeChanges)-1:] {
			if len(ch.Code) > 0 {
				b.codes = append(b.codes, ch.Code)
			}
		}
	}
	if !sameAccount(pre, post) {
		b.accounts++
	}
	if post.empty() {
		delete(b.world, addr)
	} else {
		b.world[addr] = post
	}
	return row
}

func sameAccount(pre, post *account) bool {
	if pre == nil || post.empty() {
		return pre == nil && post.empty()
	}
	return pre.nonce == post.nonce && pre.balance == post.balance &&
		bytes.Equal(pre.code, post.code) && maps.Equal(pre.slots, post.slots)
}

// drain leaves nothing of an account without code.
func (c *chain) drain(row *bal.AccountChanges, post *account) {
	if !post.balance.IsZero() || c.rng.IntN(2) == 0 {
		row.BalanceChanges = []bal.BalanceChange{{Index: 1}}
	}
	if post.nonce > 0 {
		row.NonceChanges = []bal.NonceChange{{Index: 1}}
	}
	post.nonce, post.balance = 0, uint256.Int{}
}

// indices draws at which block access indices a field changes.
func (c *chain) indices(txs int) (all []uint32) {
	for i := range txs + 2 {
		if c.rng.IntN(txs+2) == 0 {
			all = append(all, uint32(i))
		}
	}
	if len(all) == 0 {
		all = []uint32{uint32(c.rng.IntN(txs + 2))}
	}
	return all
}

func (c *chain) fields(row *bal.AccountChanges, post *account, txs int) {
	if c.rng.IntN(2) == 0 {
		for _, i := range c.indices(txs) {
			post.balance.SetUint64(uint64(c.rng.IntN(2) * c.rng.IntN(1<<30)))
			row.BalanceChanges = append(row.BalanceChanges,
				bal.BalanceChange{Index: i, Balance: post.balance})
		}
	}
	if c.rng.IntN(3) == 0 {
		for _, i := range c.indices(txs) {
			post.nonce++
			row.NonceChanges = append(row.NonceChanges, bal.NonceChange{Index: i, Nonce: post.nonce})
		}
	}
	if c.rng.IntN(4) > 0 {
		return
	}
	for _, i := range c.indices(txs) {
		post.code = c.code()
		if len(post.slots) == 0 && c.rng.IntN(4) == 0 {
			post.code = nil
		}
		row.CodeChanges = append(row.CodeChanges, bal.CodeChange{Index: i, Code: post.code})
	}
}

// storage draws slots that are written and read, and gives how many changed.
func (c *chain) storage(row *bal.AccountChanges, post *account, txs int) (changed int) {
	n := c.rng.IntN(min(7, len(c.slots)+1))
	if c.rng.IntN(16) == 0 {
		n = len(c.slots)
	}
	clears := c.rng.IntN(3) // of three that are written
	picked := c.rng.Perm(len(c.slots))[:n]
	for _, i := range picked {
		slot := c.slots[i]
		if c.rng.IntN(5) == 0 {
			row.StorageReads = append(row.StorageReads, slot)
			continue
		}
		before := post.slots[slot]
		ch := bal.SlotChanges{Slot: slot}
		for _, at := range c.indices(txs) {
			v := c.value()
			switch {
			case c.rng.IntN(3) < clears:
				v = common.Hash{}
			case c.rng.IntN(8) == 0:
				v = before
			}
			ch.Changes = append(ch.Changes, bal.StorageChange{Index: at, Value: v})
			if post.slots[slot] = v; v == (common.Hash{}) {
				delete(post.slots, slot)
			}
		}
		if post.slots[slot] != before {
			changed++
		}
		row.StorageChanges = append(row.StorageChanges, ch)
	}
	slices.SortFunc(row.StorageReads, common.Hash.Cmp)
	slices.SortFunc(row.StorageChanges, func(x, y bal.SlotChanges) int { return x.Slot.Cmp(y.Slot) })
	return changed
}
