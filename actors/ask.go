package actors

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// Ask sends a message and waits for the first reply to it. It is for the edge, where a caller
// outside has to wait: an actor that calls it blocks itself, and its own answer.
//
// msg makes the message; replyTo is where the reply goes. The wait ends at ctx's deadline, or after
// Options.AskTimeout where it has none. The errors are ErrTimeout, ErrStopped, ErrRestarted,
// ErrNilMessage and ctx's; with an error there is no reply, and a reply that comes later is a dead
// letter. Whether the message was handled is then not known.
func (s *System) Ask(
	ctx context.Context, to *actor.PID, msg func(replyTo *actor.PID) any,
) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("actors: ask %s: %w", to.GetId(), waitError(err))
	}
	a := s.newAsk()
	defer a.close()
	m := msg(a.pid)
	if isNil(m) {
		return nil, fmt.Errorf("actors: ask %s: %w", to.GetId(), ErrNilMessage)
	}
	remove, ok := s.open(a, to)
	if !ok {
		return nil, fmt.Errorf("actors: ask: %w: %s", ErrStopped, to.GetId())
	}
	defer remove()
	if _, ok := ctx.Deadline(); !ok {
		stop := s.options.Clock.AfterFunc(s.options.AskTimeout, func() { a.settle(nil, ErrTimeout) })
		defer stop()
	}
	s.post(ctx, to, m, a.pid)
	reply, err := a.wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("actors: ask %s: %w", to.GetId(), err)
	}
	return reply, nil
}

// open registers an ask with the actor, which fails it when it fails or stops itself; false: the
// actor has stopped, or there is none. A process that is no actor of the kit's may be asked too.
func (s *System) open(a *ask, to *actor.PID) (remove func(), ok bool) {
	if to == nil || s.closed.Load() {
		return nil, false
	}
	if c := s.lookup(to); c != nil {
		return func() { c.removeAsk(a) }, c.addAsk(a)
	}
	_, ok = s.system.ProcessRegistry.Get(to)
	return func() {}, ok
}

// ask is the process that one reply is sent to.
type ask struct {
	sys     *System
	pid     *actor.PID
	settled atomic.Bool
	outcome chan outcome // of one
}

type outcome struct {
	reply any
	err   error
}

var _ actor.Process = (*ask)(nil)

func (s *System) newAsk() *ask {
	a := &ask{sys: s, outcome: make(chan outcome, 1)}
	id := "$ask" + strconv.FormatUint(s.askSeq.Add(1), 10)
	a.pid, _ = s.system.ProcessRegistry.Add(a, id)
	s.asksOpen.Add(1)
	return a
}

func (a *ask) close() {
	a.sys.system.ProcessRegistry.Remove(a.pid)
	a.sys.asksOpen.Add(-1)
}

// settle decides how the ask ends: the first call does, and tells so.
func (a *ask) settle(reply any, err error) bool {
	if !a.settled.CompareAndSwap(false, true) {
		return false
	}
	a.outcome <- outcome{reply, err}
	return true
}

// wait gives the reply or the error that came first, never both.
func (a *ask) wait(ctx context.Context) (any, error) {
	select {
	case out := <-a.outcome:
		return out.reply, out.err
	case <-ctx.Done():
		a.settle(nil, waitError(ctx.Err()))
		out := <-a.outcome
		return out.reply, out.err
	}
}

func waitError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// SendUserMessage takes the reply. A second one is a dead letter.
func (a *ask) SendUserMessage(_ *actor.PID, msg any) {
	if isNil(msg) {
		a.sys.refuseNil(a.pid.Id)
		return
	}
	if !a.settle(actor.UnwrapEnvelopeMessage(msg), nil) {
		a.sys.countDeadLetter(a.pid, msg)
	}
}

// SendSystemMessage ignores what concerns actors.
func (a *ask) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing: an ask ends with its wait.
func (a *ask) Stop(*actor.PID) {}
