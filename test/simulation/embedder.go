package simulation

import (
	"errors"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// embedder is the process that asks. It is no actor: it cannot fail, and takes answers at once.
type embedder struct {
	run      *run
	pid      *actor.PID
	requests uint64
	inbox    []any
}

var _ actor.Process = (*embedder)(nil)

// SendUserMessage takes an answer, unless the process has ended within the step that sends it.
func (e *embedder) SendUserMessage(_ *actor.PID, msg any) {
	if e.run.node.disk.ended.Load() {
		return
	}
	e.inbox = append(e.inbox, actor.UnwrapEnvelopeMessage(msg))
}

// SendSystemMessage ignores what concerns actors.
func (e *embedder) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing.
func (e *embedder) Stop(*actor.PID) {}

func (e *embedder) next() uint64 {
	e.requests++
	return e.requests
}

// maxRounds is how often what was not answered is asked for again, with no progress in between.
const maxRounds = 8

// follow moves the store along a path of blocks, from where it stands. The path is what a crash
// may leave it at. ask sends what is left of it and tells how the answers move the position; it is
// called again while something is left.
func (r *run) follow(path []*block, ask func(at int) (reached int, settled bool)) {
	r.path, r.pos = path, 0
	for idle := 0; r.pos < len(path)-1; {
		at, settled := ask(r.pos)
		if at < r.pos {
			r.fail("the store went from %s back to %s", name(path[r.pos]), name(path[at]))
		}
		r.halt()
		if at == r.pos {
			idle++
		} else {
			idle = 0
		}
		r.pos = at
		if r.over() {
			r.restart()
			continue
		}
		if !settled && !r.faults.any() && r.o.window <= r.o.apply.MaxQueued {
			r.fail("no fault was injected, and the way from %s to %s took more than one request each",
				name(path[0]), name(path[len(path)-1]))
		}
		if idle > maxRounds {
			r.fail("no progress at %s, on the way to %s", name(path[r.pos]), name(path[len(path)-1]))
		}
		r.halt()
	}
	r.head = path[len(path)-1]
	r.path, r.pos = []*block{r.head}, 0
}

// apply has blocks applied that follow each other from the head on.
func (r *run) apply(blocks []*block) {
	path := append([]*block{r.head}, blocks...)
	r.follow(path, func(at int) (int, bool) { return r.applyRound(path, at) })
}

// applyRound sends the blocks behind path[at], a window of them ahead of the answers, until all are
// answered, one is refused, or an answer does not come.
func (r *run) applyRound(path []*block, at int) (reached int, settled bool) {
	out := map[uint64]int{} // request: place in path
	next, refused := at+1, false
	first := r.embedder.requests + 1
	r.pump(func() bool {
		for _, m := range r.answers() {
			switch m := m.(type) {
			case *messages.BlockApplied:
				i, ok := out[m.Request]
				if !ok {
					r.stray(m.Request, first)
					continue
				}
				delete(out, m.Request)
				r.checkApplied(m, path[i])
				at = max(at, i)
			case *messages.BlockRejected:
				i, ok := out[m.Request]
				if !ok {
					r.stray(m.Request, first)
					continue
				}
				delete(out, m.Request)
				r.checkRejected(m, path[i], refused)
				refused = true
			default:
				r.fail("ApplyBlock is answered with %T", m)
			}
		}
		for ; !refused && next < len(path) && len(out) < r.o.window; next++ {
			out[r.send(path[next], path[next].list)] = next
		}
		return len(out) == 0
	})
	return at, len(out) == 0 && !refused
}

// stray judges an answer that nobody waits for any more.
func (r *run) stray(request, first uint64) {
	if request >= first || !r.faults.any() {
		r.fail("request %d is answered twice", request)
	}
}

// send asks for a block with a list, its own or another.
func (r *run) send(b *block, list []byte) uint64 {
	id := r.embedder.next()
	r.note("**", "request %d: apply %s", id, name(b))
	r.node.tree.System.Send(background, r.node.tree.BalApply, &messages.ApplyBlock{
		Request: id, Header: b.header, BAL: list, Transactions: b.txs, ReplyTo: r.embedder.pid,
	})
	return id
}

func (r *run) checkApplied(m *messages.BlockApplied, b *block) {
	r.note("**", "request %d: applied %d, known %v, %d accounts, %d slots, %d rows", m.Request,
		m.Number, m.Known, m.Accounts, m.Slots, m.Rows)
	switch {
	case m.Hash != b.hash || m.Root != b.header.Root || m.Number != b.number():
		r.fail("%s is answered with block %d (%x), root %x", name(b), m.Number, m.Hash, m.Root)
	case m.Known && !r.faults.any():
		r.fail("no fault was injected, and %s was known before it was asked for", name(b))
	case !m.Known && (m.Accounts != b.accounts || m.Slots != b.slots):
		r.fail("%s changed %d accounts and %d slots, the answer says %d and %d", name(b), b.accounts,
			b.slots, m.Accounts, m.Slots)
	}
}

// checkRejected judges the refusal of a block that is right.
func (r *run) checkRejected(m *messages.BlockRejected, b *block, behindRefused bool) {
	r.note("**", "request %d: rejected: %v", m.Request, shortError(m.Err))
	if errors.Is(m.Err, state.ErrStoreFailed) {
		r.storeFailed = true
	}
	switch {
	case errors.Is(m.Err, balactor.ErrBusy) && r.o.window > r.o.apply.MaxQueued:
	case errors.Is(m.Err, balactor.ErrUnknownParent) && (behindRefused || r.faults.any()):
	case r.faults.any() && r.excused(m.Err):
	default:
		r.fail("%s is refused: %v", name(b), m.Err)
	}
}

// excused tells whether an error can come of a fault: damage never does.
func (r *run) excused(err error) bool {
	for _, never := range []error{balactor.ErrWrongRoot, balactor.ErrBALHash, state.ErrCorrupt,
		balactor.ErrNoHistory, balactor.ErrDiffMismatch, state.ErrCursorMoved, state.ErrNotChild,
		state.ErrBadLayer} {
		if errors.Is(err, never) && !errors.Is(err, errInjected) {
			return false
		}
	}
	return true
}

// rewind has blocks undone until to is the head.
func (r *run) rewind(to *block) {
	path := []*block{r.head}
	for at := r.head; at != to; {
		at = at.parent
		path = append(path, at)
	}
	r.follow(path, func(at int) (int, bool) { return r.rewindRound(path, at) })
}

func (r *run) rewindRound(path []*block, at int) (reached int, settled bool) {
	to := path[len(path)-1]
	id, answered := r.embedder.next(), false
	r.note("**", "request %d: rewind to %s", id, name(to))
	r.node.tree.System.Send(background, r.node.tree.BalApply, &messages.Rewind{
		Request: id, To: to.hash, ReplyTo: r.embedder.pid,
	})
	r.pump(func() bool {
		for _, m := range r.answers() {
			switch m := m.(type) {
			case *messages.Rewound:
				if m.Request != id {
					r.stray(m.Request, id)
					continue
				}
				at, answered, settled = r.place(path, m.Cursor), true, true
				if m.Cursor.Hash != to.hash || m.Blocks > len(path)-1 {
					r.fail("a rewind to %s ended at %v after %d blocks", name(to), m.Cursor, m.Blocks)
				}
			case *messages.RewindRejected:
				if m.Request != id {
					r.stray(m.Request, id)
					continue
				}
				r.note("**", "request %d: rejected: %v", id, shortError(m.Err))
				r.storeFailed = r.storeFailed || errors.Is(m.Err, state.ErrStoreFailed)
				if !r.faults.any() || !r.excused(m.Err) {
					r.fail("the rewind to %s is refused: %v", name(to), m.Err)
				}
				answered = true
				if m.Cursor != (state.Cursor{}) {
					at = max(at, r.place(path, m.Cursor))
				}
			case *messages.BlockApplied:
				r.stray(m.Request, id)
			case *messages.BlockRejected:
				r.stray(m.Request, id)
			}
		}
		return answered
	})
	return at, settled
}

// place finds a cursor on a path.
func (r *run) place(path []*block, c state.Cursor) int {
	for i, b := range path {
		if b.hash == c.Hash && b.number() == c.Number && b.header.Root == c.Root {
			return i
		}
	}
	r.fail("the store is said to stand at %v, which is not on the way from %s to %s", c,
		name(path[0]), name(path[len(path)-1]))
	return 0
}

// refuse sends a block that is wrong, which has to be refused for the right reason and to change
// nothing (I3).
func (r *run) refuse(b *block, list []byte, want error) {
	for rounds := 0; ; rounds++ {
		id, answered := r.send(b, list), false
		r.pump(func() bool {
			for _, m := range r.answers() {
				switch m := m.(type) {
				case *messages.BlockApplied:
					if m.Request == id {
						r.fail("I3: %s is applied, want %v", name(b), want)
					}
				case *messages.BlockRejected:
					if m.Request != id {
						continue
					}
					answered = true
					r.note("**", "request %d: rejected: %v", id, shortError(m.Err))
					r.storeFailed = r.storeFailed || errors.Is(m.Err, state.ErrStoreFailed)
					if !errors.Is(m.Err, want) && (!r.faults.any() || !r.excused(m.Err)) {
						r.fail("%s is refused with %v, want %v", name(b), m.Err, want)
					}
				}
			}
			return answered
		})
		r.halt()
		if r.over() {
			r.restart()
			continue
		}
		if answered {
			return
		}
		if !r.faults.any() || rounds > maxRounds {
			r.fail("the wrong %s is not answered", name(b))
		}
		r.halt()
	}
}

// again sends a block that the store has.
func (r *run) again(b *block) {
	for rounds := 0; ; rounds++ {
		id, answered := r.send(b, b.list), false
		r.pump(func() bool {
			for _, m := range r.answers() {
				switch m := m.(type) {
				case *messages.BlockApplied:
					if answered = answered || m.Request == id; m.Request == id && !m.Known {
						r.fail("%s is applied a second time", name(b))
					}
				case *messages.BlockRejected:
					r.storeFailed = r.storeFailed || errors.Is(m.Err, state.ErrStoreFailed)
					if m.Request == id && (!r.faults.any() || !r.excused(m.Err)) {
						r.fail("%s, which the store has, is refused: %v", name(b), m.Err)
					}
				}
			}
			return answered
		})
		r.halt()
		if r.over() {
			r.restart()
			continue
		}
		if answered {
			return
		}
		if !r.faults.any() || rounds > maxRounds {
			r.fail("%s, which the store has, is not answered", name(b))
		}
		r.halt()
	}
}

func (r *run) answers() []any {
	in := r.embedder.inbox
	r.embedder.inbox = nil
	return in
}

// wrongBlock makes a block of one that is right.
func wrongBlock(b *block, change func(*block)) *block {
	w := *b
	w.header, w.rows = types.CopyHeader(b.header), nil
	change(&w)
	w.hash = w.header.Hash()
	return &w
}

func flip(h common.Hash) common.Hash {
	h[7] ^= 1
	return h
}
