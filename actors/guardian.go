package actors

import "github.com/asynkron/protoactor-go/actor"

// guardianID is a path that no Spec can name.
const guardianID = "$guardian"

// guardian is the parent of the top-level actors. It is a process without a mailbox: what is sent
// to it is handled on the goroutine of the actor that sends.
type guardian struct {
	sys *System
	pid *actor.PID
}

var (
	_ actor.Process    = (*guardian)(nil)
	_ actor.Supervisor = (*guardian)(nil)
)

func newGuardian(s *System) *guardian {
	g := &guardian{sys: s}
	g.pid, _ = s.system.ProcessRegistry.Add(g, guardianID)
	return g
}

// SendUserMessage counts a dead letter: the guardian understands nothing.
func (g *guardian) SendUserMessage(_ *actor.PID, msg any) { g.sys.countDeadLetter(g.pid, msg) }

// SendSystemMessage handles the failures and the ends of top-level actors.
func (g *guardian) SendSystemMessage(_ *actor.PID, msg any) {
	switch m := msg.(type) {
	case *actor.Failure:
		supervision{g.sys}.HandleFailure(
			g.sys.system, g, m.Who, m.RestartStats, m.Reason, m.Message)
	case *actor.Terminated:
		g.terminated(m.Who)
	}
}

// terminated buries a top-level actor. Whoever waits for its end may spawn the next of that name.
func (g *guardian) terminated(who *actor.PID) {
	c := g.sys.bury(who, nil)
	if c == nil {
		return
	}
	close(c.done)
	if reason, gaveUp := c.lastFailure(); gaveUp {
		g.sys.giveUp(c, reason)
	}
}

// Stop does nothing: the guardian ends with its system.
func (g *guardian) Stop(*actor.PID) {}

// Children is not used by the strategy.
func (g *guardian) Children() []*actor.PID { return nil }

// EscalateFailure does nothing: the strategy never escalates.
func (g *guardian) EscalateFailure(any, any) {}

// RestartChildren restarts top-level actors.
func (g *guardian) RestartChildren(pids ...*actor.PID) { g.send(&actor.Restart{}, pids) }

// StopChildren stops top-level actors.
func (g *guardian) StopChildren(pids ...*actor.PID) { g.send(&actor.Stop{}, pids) }

// ResumeChildren does nothing: the strategy never resumes.
func (g *guardian) ResumeChildren(...*actor.PID) {}

func (g *guardian) send(msg any, pids []*actor.PID) {
	for _, pid := range pids {
		g.sys.sendSystem(pid, msg)
	}
}

// spawner is the context that top-level actors are spawned in.
func (g *guardian) spawner() actor.SpawnerContext { return topContext{g.sys.system.Root, g.pid} }

type topContext struct {
	*actor.RootContext
	guardian *actor.PID
}

// Self makes the guardian the parent of what is spawned.
func (c topContext) Self() *actor.PID { return c.guardian }
