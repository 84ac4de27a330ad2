package storageactor

import (
	"bytes"
	"container/heap"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
)

// buildStorage takes a request in hand. One that is in hand already is not taken twice.
func (c *core) buildStorage(now time.Time, m *messages.BuildStorage) {
	key := runKey{m.ReplyTo.GetId(), m.Request}
	if c.runs[key] != nil {
		return
	}
	if m.Incarnation != 0 && m.Incarnation != c.incarnation {
		// It outlived a restart in the mailbox. Its requester sends it again, by the credit that it
		// counts anew, and this one is not in that count.
		return
	}
	err := checkRun(m)
	switch {
	case err != nil:
	case c.accounts != nil:
		err = fmt.Errorf("%w: the account trie is being built", ErrBadRequest)
	case c.outstanding[key.requester]+len(m.Accounts) > c.opts.Credit:
		err = fmt.Errorf("%w: %d accounts on top of %d, the credit is %d", ErrNoCredit,
			len(m.Accounts), c.outstanding[key.requester], c.opts.Credit)
	}
	if err != nil {
		c.send(m.ReplyTo, &messages.BuildRejected{Request: m.Request, Err: err})
		return
	}
	c.storage.begin(now)
	c.generation++
	r := &run{msg: m, group: newGroup(unitsOf(m))}
	r.group.run = r
	r.left = len(r.group.units)
	c.runs[key] = r
	c.outstanding[key.requester] += len(m.Accounts)
	c.queueRun(r.group)
}

// checkRun says how a request breaks the protocol, if it does.
func checkRun(m *messages.BuildStorage) error {
	if bytes.Compare(m.From[:], m.To[:]) > 0 {
		return fmt.Errorf("%w: from %s to %s", ErrBadRequest, m.From, m.To)
	}
	low, first := m.From, true
	for i := range m.Accounts {
		a := &m.Accounts[i].Account
		if d := bytes.Compare(a[:], low[:]); d < 0 || d == 0 && !first {
			return fmt.Errorf("%w: account %s at or behind %s", ErrBadRequest, low, *a)
		}
		low, first = *a, false
	}
	if bytes.Compare(low[:], m.To[:]) > 0 {
		return fmt.Errorf("%w: account %s behind %s, the end", ErrBadRequest, low, m.To)
	}
	return nil
}

// unitsOf makes a request's units. They cover it from From to To, so that what lies between its
// accounts is swept too.
func unitsOf(m *messages.BuildStorage) []messages.TrieUnit {
	sweep := true
	for i := range m.Accounts {
		sweep = sweep && m.Accounts[i].Source == nil
	}
	units := make([]messages.TrieUnit, 0, len(m.Accounts)+1)
	from, covered := m.From, false
	for i := range m.Accounts {
		a := &m.Accounts[i]
		u := messages.TrieUnit{StorageAccount: *a, SweepFrom: from, Sweep: sweep}
		if a.Source != nil {
			u.Leaves = len(a.Source)
		}
		units = append(units, u)
		covered = a.Account == m.To
		from = successor(a.Account)
	}
	if !covered {
		units = append(units, messages.TrieUnit{
			StorageAccount: messages.StorageAccount{Account: m.To}, SweepFrom: from, Sweep: sweep,
			Bare: true,
		})
	}
	return units
}

// queueRun classes a request's units.
func (c *core) queueRun(g *group) {
	lo := 0
	for i := range g.units {
		n := g.units[i].Leaves
		if n < c.opts.LargeLeaves {
			continue
		}
		c.queueSmall(span{group: g, lo: lo, hi: i})
		lo = i + 1
		c.queueLarge(span{group: g, lo: i, hi: i + 1}, n)
	}
	c.queueSmall(span{group: g, lo: lo, hi: len(g.units)})
}

func (c *core) queueSmall(s span) {
	if s.len() > 0 {
		c.small = append(c.small, s)
		c.waiting += s.len()
	}
}

// queueLarge queues a unit of n leaves to be built alone, or to be split.
func (c *core) queueLarge(s span, n int) {
	if n < c.opts.SplitLeaves && s.group.split == nil {
		heap.Push(&c.large, s)
		return
	}
	sp := &split{unit: s.group.units[s.lo], parent: s.group, index: s.lo}
	s.group.progress[s.lo].split = sp
	c.surveys = append(c.surveys, sp)
}

// buildAccounts takes the account trie in hand.
func (c *core) buildAccounts(now time.Time, m *messages.BuildAccounts) {
	if a := c.accounts; a != nil && a.msg.Request == m.Request && a.msg.ReplyTo.Equal(m.ReplyTo) {
		return
	}
	var err error
	switch {
	case c.accounts != nil:
		err = fmt.Errorf("%w: the account trie is being built", ErrBadRequest)
	case len(c.runs) > 0:
		err = fmt.Errorf("%w: %d requests", ErrUnanswered, len(c.runs))
	}
	if err != nil {
		c.send(m.ReplyTo, &messages.BuildRejected{Request: m.Request, Err: err})
		return
	}
	c.generation++
	s := &split{unit: messages.TrieUnit{AccountTrie: true}}
	c.accounts = &accountsRun{msg: m, split: s}
	last := c.trie.lastUsage
	c.trie = newStats(c.opts.Workers)
	c.trie.lastUsage = last
	c.trie.begin(now)
	for w := range c.workers {
		c.workers[w].starved = true
	}
	c.surveys = append(c.surveys, s)
}

// accountsDone answers a BuildAccounts.
func (c *core) accountsDone(now time.Time, root common.Hash) {
	a := c.accounts
	m := &messages.AccountsBuilt{
		Request: a.msg.Request, Root: root, Accounts: a.split.leaves, Rows: a.split.rows,
		Err: a.split.failed,
	}
	if m.Err != nil {
		m.Root = common.Hash{}
		m.Err = fmt.Errorf("account trie: %w", m.Err)
	}
	c.trie.end(now)
	c.accounts = nil
	c.send(a.msg.ReplyTo, m)
}
