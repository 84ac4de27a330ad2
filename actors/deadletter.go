package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// onEvent handles what could not be delivered. It stands in for proto.actor's own subscribers.
func (s *System) onEvent(event any) {
	letter, ok := event.(*actor.DeadLetterEvent)
	if !ok {
		return
	}
	switch m := letter.Message.(type) {
	case *actor.Watch: // whoever watches the dead is told at once
		s.sendSystem(m.Watcher, &actor.Terminated{
			Who: letter.PID, Why: actor.TerminatedReason_NotFound,
		})
		return
	case actor.SystemMessage, actor.MailboxMessage, actor.AutoReceiveMessage:
		return
	}
	s.countDeadLetter(letter.PID, letter.Message)
	if letter.Sender != nil {
		process, _ := s.system.ProcessRegistry.Get(letter.Sender)
		if a, ok := process.(*ask); ok {
			a.settle(nil, fmt.Errorf("%w: %s", ErrStopped, letter.PID.GetId()))
		}
	}
}

func (s *System) countDeadLetter(to *actor.PID, msg any) {
	if n := s.deadLetters.Add(1); isPowerOfTwo(n) {
		s.log.Info("dead letter", slog.String("to", to.GetId()), slog.Uint64("count", n),
			slog.String("message", fmt.Sprintf("%T", actor.UnwrapEnvelopeMessage(msg))))
	}
}
