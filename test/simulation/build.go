package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// unknownRoot is balsa.UnknownRoot.
var unknownRoot = common.Hash{common.HashLength - 1: 1}

// builder is the embedder's side of an import or a rebuild: it loads rows, asks for tries as their
// rows become readable, and commits when the root is right.
type builder struct {
	r       *run
	rng     *rand.Rand
	b       *block
	rebuild bool
	rows    []flatRow // ascending by account
	stored  map[common.Hash]common.Hash

	loaded   int // rows
	open     []state.KeyRange
	credit   int
	incarn   uint64
	pending  map[uint64]*messages.BuildStorage
	left     map[uint64]map[common.Hash]bool // accounts that are not answered
	out      map[uint64]int                  // accounts outstanding with this incarnation
	again    []uint64                        // lost with one, and not sent again yet
	accounts *messages.BuildAccounts
	built    *messages.AccountsBuilt
	failed   error // an account did
}

// flatRow is an account, or one of its slots.
type flatRow struct {
	account common.Hash
	slot    *common.Hash
	value   common.Hash
	row     state.Account
}

func (r *run) newBuilder(b *block, rebuild bool) *builder {
	c := &builder{r: r, rng: r.chain.rng, b: b, rebuild: rebuild,
		stored: map[common.Hash]common.Hash{}}
	for _, addr := range byHash(b.world, addrHashes) {
		a, h := b.world[addr], addrHashes[addr]
		row := state.NewAccount()
		row.Nonce, row.Balance, row.CodeHash = a.nonce, a.balance, a.codeHash()
		if len(a.slots) > 0 {
			switch row.StorageRoot = a.storageRoot(); {
			case rebuild:
			case c.rng.IntN(2) == 0:
				row.StorageRoot = unknownRoot
			case c.rng.IntN(8) == 0:
				row.StorageRoot = flip(row.StorageRoot) // to be corrected
			}
			c.stored[h] = row.StorageRoot
		}
		c.rows = append(c.rows, flatRow{account: h, row: row})
		for _, slot := range byHash(a.slots, slotHashes) {
			sh := slotHashes[slot]
			c.rows = append(c.rows, flatRow{account: h, slot: &sh, value: a.slots[slot]})
		}
	}
	return c
}

// errAgain says that a build has to be begun again, by a new process where this one is over.
var errAgain = errors.New("the build is to be gone on with")

// build imports or rebuilds, through as many processes as it takes.
func (r *run) build(b *block, rebuild bool) {
	c := r.newBuilder(b, rebuild)
	for attempts := 0; ; attempts++ {
		if attempts > maxRestarts {
			r.fail("the build does not come to an end: %v", c.failed)
			r.halt()
		}
		err := c.attempt()
		r.halt()
		if err == nil {
			return
		}
		if !r.faults.any() {
			r.fail("no fault was injected, and the build ends with %v", err)
		} else if !r.excused(err) {
			r.fail("the build ends with %v", err)
		}
		r.halt()
		r.note("**", "the build is cut off: %v", shortError(err))
		if rebuild {
			r.restart()
			r.stopForBuild()
			continue
		}
		r.end()
		if r.processes++; r.processes > maxRestarts {
			r.fail("%d processes do not come to an end", r.processes)
		}
		r.halt()
		r.open()
		cur, built := r.node.store.Cursor()
		switch {
		case built && (cur.Hash != b.hash || cur.Root != b.header.Root || cur.Number != b.number()):
			r.fail("after a build of %s the store stands at %v", name(b), cur)
		case built:
			r.faults.silent(func() { r.compareRows(r.node.store, b, "a build cut off") })
		}
		r.halt()
		if built {
			return // it had been committed
		}
	}
}

// attempt is one process's part.
func (c *builder) attempt() (err error) {
	r, s := c.r, c.r.node.store
	var bulk *state.Bulk
	if c.rebuild {
		bulk, err = s.NewRebuild()
	} else {
		bulk, err = s.NewBulk(state.BulkOptions{
			ChainID: chainID, Target: cursorOf(c.b), Source: "the simulation",
		})
	}
	if err != nil {
		return err
	}
	if c.rng.IntN(8) == 0 {
		bulk.CodesMayBeMissing()
	}
	r.node.bulk = bulk
	c.pending, c.left = map[uint64]*messages.BuildStorage{}, map[uint64]map[common.Hash]bool{}
	c.out, c.again = map[uint64]int{}, nil
	c.credit, c.incarn, c.accounts, c.built, c.failed = 0, 0, nil, nil, nil
	c.loaded, c.open = 0, complement(bulk.Built())
	r.start()
	defer r.stopBuild()
	r.node.tree.System.Send(background, r.node.tree.Storage,
		&messages.FindCredit{ReplyTo: r.embedder.pid})
	if err := c.load(bulk); err != nil {
		return err
	}
	if err := c.ask(common.MaxHash, true); err != nil {
		return err
	}
	if err := c.wait(func() bool { return len(c.pending) == 0 }); err != nil {
		return err
	}
	c.accounts = &messages.BuildAccounts{Request: r.embedder.next(), ReplyTo: r.embedder.pid}
	r.node.tree.System.Send(background, r.node.tree.Storage, c.accounts)
	if err := c.wait(func() bool { return c.built != nil }); err != nil {
		return err
	}
	if c.built.Err != nil {
		return c.built.Err
	}
	if c.built.Root != c.b.header.Root {
		r.fail("the build of %s gives root %s, want %s", name(c.b), c.built.Root, c.b.header.Root)
		return errAgain
	}
	header := c.b.header
	if c.rebuild {
		header = nil
	}
	r.node.bulk = nil
	if err := bulk.Commit(header, cursorOf(c.b)); err != nil {
		return err
	}
	if r.over() {
		return errAgain
	}
	return nil
}

// stopBuild ends the build's actors, as an embedder does when it has what it wanted.
func (r *run) stopBuild() {
	if r.over() {
		return // with the process
	}
	r.checkLetters()
	r.stopActors()
	r.node.bulk = nil
}

func cursorOf(b *block) state.Cursor {
	return state.Cursor{Number: b.number(), Hash: b.hash, Root: b.header.Root}
}

// load loads the rows in chunks, and asks for tries of what is loaded.
func (c *builder) load(bulk *state.Bulk) error {
	if c.rebuild {
		return nil
	}
	account, accountOK, slotAccount, slot, slotOK := bulk.Resume()
	for _, code := range c.codes() {
		if err := bulk.Code(code); err != nil {
			return err
		}
	}
	for c.loaded < len(c.rows) {
		for range 1 + c.rng.IntN(80) {
			if c.loaded == len(c.rows) {
				break
			}
			row := &c.rows[c.loaded]
			c.loaded++
			var err error
			switch {
			case row.slot == nil && accountOK && row.account.Cmp(account) <= 0:
			case row.slot == nil:
				err = bulk.Account(row.account, &row.row)
			case slotOK && (row.account.Cmp(slotAccount) < 0 ||
				row.account == slotAccount && row.slot.Cmp(slot) <= 0):
			default:
				err = bulk.Slot(row.account, *row.slot, row.value)
			}
			if err != nil {
				return err
			}
		}
		if err := bulk.Sync(); err != nil {
			return err
		}
		if c.loaded == len(c.rows) || c.rng.IntN(3) == 0 {
			continue
		}
		if err := c.ask(c.rows[c.loaded-1].account, false); err != nil {
			return err
		}
		for range c.rng.IntN(20) {
			if !c.r.sched.step() {
				break
			}
			c.take()
		}
	}
	return nil
}

func (c *builder) codes() (codes [][]byte) {
	for _, code := range c.b.codesAt() {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, bytes.Compare)
	return codes
}

// ask asks for what is not built below upTo (or up to it, at the end), in pieces.
func (c *builder) ask(upTo common.Hash, all bool) error {
	if !all {
		upTo = predecessor(upTo)
	}
	for len(c.open) > 0 && c.open[0].From.Cmp(upTo) <= 0 {
		piece := c.open[0]
		if piece.To.Cmp(upTo) > 0 {
			piece.To = upTo
		}
		accounts := c.accountsIn(piece)
		if len(accounts) > 0 {
			room := func() bool { return c.credit > c.outstanding() && len(c.again) == 0 }
			if err := c.wait(room); err != nil {
				return err
			}
		}
		if most := c.credit - c.outstanding(); len(accounts) > 0 && most < len(accounts) {
			accounts = accounts[:most]
			piece.To = accounts[most-1].Account
		} else if n := len(accounts); n > 1 && c.rng.IntN(2) == 0 {
			accounts = accounts[:1+c.rng.IntN(n-1)]
			piece.To = accounts[len(accounts)-1].Account
		}
		c.send(piece, accounts)
		if c.open[0].From = successor(piece.To); piece.To == c.open[0].To {
			c.open = c.open[1:]
		}
	}
	return nil
}

func (c *builder) outstanding() (n int) {
	for _, o := range c.out {
		n += o
	}
	return n
}

func (c *builder) accountsIn(k state.KeyRange) (in []messages.StorageAccount) {
	for i := range c.rows {
		row := &c.rows[i]
		stored, ok := c.stored[row.account]
		if row.slot != nil || !ok || row.account.Cmp(k.From) < 0 || row.account.Cmp(k.To) > 0 {
			continue
		}
		a := messages.StorageAccount{Account: row.account, Stored: stored}
		if c.rng.IntN(3) > 0 {
			for j := i + 1; j < len(c.rows) && c.rows[j].slot != nil; j++ {
				a.Leaves++
			}
		}
		in = append(in, a)
	}
	return in
}

func (c *builder) send(k state.KeyRange, accounts []messages.StorageAccount) {
	r := c.r
	m := &messages.BuildStorage{
		Request: r.embedder.next(), From: k.From, To: k.To, Accounts: accounts,
		ReplyTo: r.embedder.pid,
	}
	c.pending[m.Request], c.left[m.Request] = m, map[common.Hash]bool{}
	for i := range accounts {
		c.left[m.Request][accounts[i].Account] = true
	}
	c.post(m)
}

func (c *builder) post(m *messages.BuildStorage) {
	r := c.r
	c.out[m.Request] = len(m.Accounts)
	r.note("**", "request %d: build %x to %x, %d accounts", m.Request, m.From[:4], m.To[:4],
		len(m.Accounts))
	sent := *m
	sent.Incarnation = c.incarn
	r.node.tree.System.Send(background, r.node.tree.Storage, &sent)
}

// postAgain sends what an incarnation lost, as far as there is credit.
func (c *builder) postAgain() {
	for len(c.again) > 0 {
		m := c.pending[c.again[0]]
		if m != nil && c.outstanding() > 0 && c.outstanding()+len(m.Accounts) > c.credit {
			return
		}
		c.again = c.again[1:]
		if m != nil {
			c.post(m)
		}
	}
}

// wait delivers messages until done.
func (c *builder) wait(done func() bool) error {
	for rounds := 0; ; rounds++ {
		ok := false
		c.r.pump(func() bool {
			c.take()
			ok = c.failed == nil && done()
			return ok || c.failed != nil
		})
		switch {
		case c.failed != nil:
			return c.failed
		case ok && !c.r.over():
			return nil
		case c.r.over():
			return errAgain
		case !c.r.faults.any() || rounds > maxRounds:
			c.r.fail("the build does not go on: %d requests are not answered", len(c.pending))
			return errAgain
		}
		return errAgain
	}
}

// take takes the answers.
func (c *builder) take() {
	for _, m := range c.r.answers() {
		switch m := m.(type) {
		case *messages.StorageCredit:
			c.credited(m)
		case *messages.StorageBuilt:
			c.storageBuilt(m)
		case *messages.AccountsBuilt:
			if c.accounts != nil && c.accounts.Request == m.Request {
				c.built = m
			}
		case *messages.BuildRejected:
			c.r.fail("request %d is refused: %v", m.Request, m.Err)
		case *messages.BlockApplied, *messages.BlockRejected, *messages.Rewound,
			*messages.RewindRejected:
			c.r.stray(0, 1)
		default:
			c.r.fail("a build is answered with %T", m)
		}
	}
}

// credited takes a credit; that of a new incarnation has everything asked for again.
func (c *builder) credited(m *messages.StorageCredit) {
	again := c.incarn != 0 && m.Incarnation != c.incarn
	if again && !c.r.faults.any() {
		c.r.fail("no fault was injected, and the StorageActor was restarted")
	}
	c.incarn, c.credit = m.Incarnation, m.Accounts
	if !again {
		return
	}
	requests := make([]uint64, 0, len(c.pending))
	for id := range c.pending {
		requests = append(requests, id)
	}
	slices.Sort(requests)
	c.again = requests
	clear(c.out)
	c.postAgain()
	if c.accounts != nil && c.built == nil {
		c.r.node.tree.System.Send(background, c.r.node.tree.Storage, c.accounts)
	}
}

func (c *builder) storageBuilt(m *messages.StorageBuilt) {
	left := c.left[m.Request]
	if left == nil {
		if !c.r.faults.any() {
			c.r.fail("request %d is answered after it was done", m.Request)
		}
		return
	}
	for i := range m.Results {
		c.result(m.Request, &m.Results[i], left)
	}
	c.out[m.Request] -= min(len(m.Results), c.out[m.Request])
	defer c.postAgain()
	if len(m.Orphans) > 0 {
		c.r.fail("request %d: %d accounts are said to have slots and not to exist", m.Request,
			len(m.Orphans))
	}
	if m.Err != nil {
		c.failed = m.Err
	}
	if !m.Done {
		return
	}
	if len(left) > 0 && m.Err == nil {
		c.r.fail("request %d is done, and %d accounts are not answered", m.Request, len(left))
	}
	delete(c.pending, m.Request)
	delete(c.left, m.Request)
	delete(c.out, m.Request)
}

func (c *builder) result(request uint64, res *messages.StorageResult, left map[common.Hash]bool) {
	c.r.note("**", "request %d: account %x, root %x, %d leaves, %d rows, %v", request,
		res.Account[:4], res.Root[:4], res.Leaves, res.Rows, res.Kind)
	if !left[res.Account] && !c.r.faults.any() {
		c.r.fail("account %s is answered twice", res.Account)
	}
	delete(left, res.Account)
	if res.Err != nil {
		c.failed = fmt.Errorf("account %x: %w", res.Account[:4], res.Err)
		return
	}
	var want *account
	for addr, a := range c.b.world {
		if addrHashes[addr] == res.Account {
			want = a
		}
	}
	if want == nil || res.Root != want.storageRoot() || res.Leaves != len(want.slots) {
		c.r.fail("account %s: root %s of %d leaves", res.Account, res.Root, res.Leaves)
	}
}

// complement gives the ranges that are not in built.
func complement(built []state.KeyRange) (open []state.KeyRange) {
	from, over := common.Hash{}, false
	for _, k := range built {
		if from.Cmp(k.From) < 0 {
			open = append(open, state.KeyRange{From: from, To: predecessor(k.From)})
		}
		from, over = successor(k.To), k.To == common.MaxHash
	}
	if !over {
		open = append(open, state.KeyRange{From: from, To: common.MaxHash})
	}
	return open
}

func successor(h common.Hash) common.Hash {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i]++; h[i] != 0 {
			break
		}
	}
	return h
}

func predecessor(h common.Hash) common.Hash {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i]--; h[i] != 0xff {
			break
		}
	}
	return h
}
