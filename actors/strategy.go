package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// supervision is the one strategy: restart the child that failed, after a backoff, a bounded number
// of times; then stop it. It never resumes (what failed has lost its footing), never escalates (an
// escalation that is answered by a resume suspends the child for ever), and leaves the failed one's
// siblings alone.
type supervision struct{ sys *System }

var _ actor.SupervisorStrategy = supervision{}

// HandleFailure runs on the parent's goroutine; for a top-level actor on its own.
func (v supervision) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID,
	_ *actor.RestartStatistics, reason, _ any) {
	c := v.sys.lookup(child)
	if c == nil || c.stopping() {
		return
	}
	policy := &v.sys.options.Restarts
	if c.parent != nil {
		if !c.parent.running() {
			return // it has told its children to stop
		}
		policy = &c.parent.spec.Children
	}
	if !c.restarting.CompareAndSwap(false, true) {
		return // failed again before the restart that is under way: that one will do
	}
	if c.parent == nil && v.sys.fatal.Load() {
		v.sys.log.Warn("actor is not restarted: the system is being given up",
			slog.String("actor", c.id))
		parent.StopChildren(child)
		return
	}
	backoff, ok := c.countFailure(v.sys.options.Clock.Now(), policy)
	if !ok {
		v.sys.log.Error("actor used up its restarts", slog.String("actor", c.id),
			slog.Any("reason", reason))
		parent.StopChildren(child) // the parent is told when it has stopped: see bury's callers
		return
	}
	if backoff == 0 {
		parent.RestartChildren(child)
		return
	}
	c.setCancel(v.sys.options.Clock.AfterFunc(backoff, func() { parent.RestartChildren(child) }))
}

// giveUp asks for the orderly exit, once.
func (s *System) giveUp(c *cell, reason any) {
	if !s.fatal.CompareAndSwap(false, true) {
		return
	}
	err := fmt.Errorf("actors: %s: %w: %w", c.id, ErrGaveUp, asError(reason))
	s.log.Error("top-level actor is lost", slog.String("actor", c.id), slog.Any("error", err))
	if s.options.OnFatal != nil {
		s.dispatcher.Schedule(func() { s.options.OnFatal(err) })
	}
}
