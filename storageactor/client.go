package storageactor

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
)

// Client is a requester outside the actor tree. It keeps to the credit, sends again what a restart
// of the StorageActor lost, and hands on each account's result once.
//
// Build, Wait, BuildAccounts and Report may wait: they are for the edge, never for an actor.
type Client struct {
	sys     *actors.System
	storage *actor.PID
	pid     *actor.PID
	onBuilt func([]messages.StorageResult, []messages.OrphanStorage)

	creditWaits atomic.Uint64
	creditWait  atomic.Int64 // nanoseconds

	mu          sync.Mutex
	changed     chan struct{} // closed, and replaced, at each change of what follows
	incarnation uint64
	credit      int
	outstanding int
	requests    uint64
	pending     map[uint64]*pendingRun
	again       []uint64                // lost with an incarnation, not sent again for want of credit
	accounts    *messages.BuildAccounts // in hand
	// accountsTrace is the context of who asked for accounts.
	accountsTrace context.Context
	built         *messages.AccountsBuilt
	err           error // sticky
}

// pendingRun is a request that is not answered as a whole.
type pendingRun struct {
	msg      *messages.BuildStorage
	trace    context.Context // of who asked
	answered []bool          // by account
	left     int
	out      int // accounts that are outstanding; after a restart answered ones are again
}

// NewClient makes a requester of the StorageActor at storage. onBuilt is called with results as
// they come, on the client's own goroutine, one call at a time; it must not call the client.
// Orphans may be told twice after a restart.
func NewClient(sys *actors.System, storage *actor.PID,
	onBuilt func([]messages.StorageResult, []messages.OrphanStorage)) (*Client, error) {
	c := &Client{
		sys: sys, storage: storage, onBuilt: onBuilt,
		changed: make(chan struct{}), pending: map[uint64]*pendingRun{},
	}
	pid, err := sys.Spawn(actors.Spec{
		Name: "storage-client", Numbered: true,
		New: func() actor.Actor { return &clientActor{c} },
	})
	if err != nil {
		return nil, fmt.Errorf("storage client: %w", err)
	}
	c.pid = pid
	return c, nil
}

// Build asks for a run of accounts: see messages.BuildStorage. It returns when the request is sent,
// which is when there is credit for it; a run of many accounts is sent in pieces. Runs ascend: one
// goroutine calls Build. The accounts are not to be changed afterwards.
func (c *Client) Build(ctx context.Context, from, to common.Hash,
	accounts []messages.StorageAccount) error {
	for {
		piece, last := accounts, to
		var since time.Time
		if err := c.waitFor(ctx, func() bool {
			if c.credit > 0 && len(c.again) == 0 {
				if most := max(c.credit/2, 1); len(accounts) > most {
					piece, last = accounts[:most], accounts[most-1].Account
				}
				if c.outstanding+len(piece) <= c.credit {
					return true
				}
			}
			if since.IsZero() {
				since = c.sys.Clock().Now()
				c.creditWaits.Add(1)
			}
			return false
		}, func() { c.register(ctx, from, last, piece) }); err != nil {
			return fmt.Errorf("build storage from %s: %w", from, err)
		}
		if !since.IsZero() {
			c.creditWait.Add(int64(c.sys.Clock().Now().Sub(since)))
		}
		if len(piece) == len(accounts) {
			return nil
		}
		accounts, from = accounts[len(piece):], successor(last)
	}
}

// register notes a request and sends it. The caller holds c.mu.
func (c *Client) register(
	ctx context.Context, from, to common.Hash, accounts []messages.StorageAccount) {
	c.requests++
	m := &messages.BuildStorage{
		Request: c.requests, From: from, To: to, Accounts: accounts, ReplyTo: c.pid,
	}
	p := &pendingRun{msg: m, trace: ctx, left: len(accounts)}
	c.pending[m.Request] = p
	c.send(p)
}

// send sends a request as a whole. The caller holds c.mu.
func (c *Client) send(p *pendingRun) {
	p.out = len(p.msg.Accounts)
	c.outstanding += p.out
	m := *p.msg
	m.Incarnation = c.incarnation
	c.sys.Send(p.trace, c.storage, &m)
}

// sendAgain sends what was lost, as far as there is credit: a request goes as a whole, with
// accounts that were answered before, so that all of them may be more than fit. The caller holds
// c.mu.
func (c *Client) sendAgain() {
	for len(c.again) > 0 {
		p := c.pending[c.again[0]]
		if p != nil && c.outstanding > 0 && c.outstanding+len(p.msg.Accounts) > c.credit {
			return
		}
		c.again = c.again[1:]
		if p != nil {
			c.send(p)
		}
	}
}

// CreditWaits is how often Build has had no credit, and how long it waited for it in all.
func (c *Client) CreditWaits() (waits uint64, total time.Duration) {
	return c.creditWaits.Load(), time.Duration(c.creditWait.Load())
}

// Outstanding is the number of accounts that are asked for and not answered.
func (c *Client) Outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outstanding
}

// Wait returns when everything asked for is answered.
func (c *Client) Wait(ctx context.Context) error {
	err := c.waitFor(ctx, func() bool { return len(c.pending) == 0 }, func() {})
	if err != nil {
		return fmt.Errorf("build storage: %w", err)
	}
	return nil
}

// BuildAccounts asks for the account trie, when everything else is answered, and waits for it.
func (c *Client) BuildAccounts(ctx context.Context) (*messages.AccountsBuilt, error) {
	err := c.waitFor(ctx, func() bool { return len(c.pending) == 0 && c.accounts == nil }, func() {
		c.requests++
		c.built = nil
		c.accounts = &messages.BuildAccounts{Request: c.requests, ReplyTo: c.pid}
		c.accountsTrace = ctx
		c.sys.Send(ctx, c.storage, c.accounts)
	})
	var built *messages.AccountsBuilt
	if err == nil {
		err = c.waitFor(ctx, func() bool { return c.built != nil }, func() { built = c.built })
	}
	if err == nil {
		err = built.Err
	}
	if err != nil {
		return nil, fmt.Errorf("build accounts: %w", err)
	}
	return built, nil
}

// Report asks for the reports of both phases as they stand.
func (c *Client) Report(ctx context.Context) (storage, accounts Report, err error) {
	m, err := c.sys.Ask(ctx, c.storage, func(to *actor.PID) any {
		return &messages.FindReport{ReplyTo: to}
	})
	if err != nil {
		return storage, accounts, fmt.Errorf("storage report: %w", err)
	}
	found, ok := m.(*messages.ReportFound)
	if !ok {
		return storage, accounts, fmt.Errorf("storage report: %w: %T", ErrBadRequest, m)
	}
	return found.Storage, found.Accounts, nil
}

// waitFor waits until ready says so, and then runs do; both with c.mu held.
func (c *Client) waitFor(ctx context.Context, ready func() bool, do func()) error {
	for {
		c.mu.Lock()
		if c.err != nil {
			defer c.mu.Unlock()
			return c.err
		}
		if ready() {
			defer c.mu.Unlock()
			do()
			return nil
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change runs f with c.mu held and wakes who waits.
func (c *Client) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) fail(err error) {
	c.change(func() {
		if c.err == nil {
			c.err = err
		}
	})
}

// credited takes a StorageCredit; that of a new incarnation has everything sent again.
func (c *Client) credited(m *messages.StorageCredit) {
	c.change(func() {
		again := c.incarnation != 0 && m.Incarnation != c.incarnation
		c.incarnation, c.credit = m.Incarnation, m.Accounts
		if !again {
			return
		}
		requests := make([]uint64, 0, len(c.pending))
		for r := range c.pending {
			requests = append(requests, r)
		}
		sort.Slice(requests, func(i, j int) bool { return requests[i] < requests[j] })
		c.again, c.outstanding = requests, 0
		for _, p := range c.pending {
			p.out = 0
		}
		c.sendAgain()
		if c.accounts != nil {
			c.sys.Send(c.accountsTrace, c.storage, c.accounts)
		}
	})
}

// answered takes results; those that came before a restart already are left out.
func (c *Client) answered(m *messages.StorageBuilt) {
	results := m.Results
	c.mu.Lock()
	p := c.pending[m.Request]
	if p != nil {
		results = p.take(m.Results)
	}
	c.mu.Unlock()
	if p == nil {
		return
	}
	if c.onBuilt != nil && len(results)+len(m.Orphans) > 0 {
		c.onBuilt(results, m.Orphans)
	}
	c.change(func() {
		n := min(len(m.Results), p.out)
		p.out -= n
		c.outstanding -= n
		if m.Done {
			c.outstanding -= p.out
			delete(c.pending, m.Request)
		}
		c.sendAgain()
	})
}

// take marks results as answered and gives those that had not been.
func (p *pendingRun) take(results []messages.StorageResult) []messages.StorageResult {
	if p.answered == nil {
		p.answered = make([]bool, len(p.msg.Accounts))
	}
	fresh := results
	for i := range results {
		at := sort.Search(len(p.msg.Accounts), func(j int) bool {
			return bytes.Compare(p.msg.Accounts[j].Account[:], results[i].Account[:]) >= 0
		})
		known := at < len(p.answered) && !p.answered[at]
		switch {
		case known && len(fresh) != len(results):
			fresh = append(fresh, results[i])
		case !known && len(fresh) == len(results):
			fresh = append(make([]messages.StorageResult, 0, len(results)), results[:i]...)
		}
		if known {
			p.answered[at] = true
			p.left--
		}
	}
	return fresh
}

// clientActor takes the client's messages. All that it knows is the Client's.
type clientActor struct{ c *Client }

// Receive implements actor.Actor.
func (a *clientActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		c.Watch(a.c.storage)
		c.Send(a.c.storage, &messages.FindCredit{ReplyTo: c.Self()})
	case *messages.StorageCredit:
		a.c.credited(m)
	case *messages.StorageBuilt:
		a.c.answered(m)
	case *messages.AccountsBuilt:
		a.c.change(func() {
			if a.c.accounts != nil && a.c.accounts.Request == m.Request {
				a.c.accounts, a.c.built = nil, m
			}
		})
	case *messages.BuildRejected:
		a.c.fail(fmt.Errorf("request %d: %w", m.Request, m.Err))
	case *actor.Terminated:
		if m.Who.Equal(a.c.storage) {
			a.c.fail(actors.ErrStopped)
		}
	}
}
