package actors

import "github.com/asynkron/protoactor-go/actor"

// ChildRestarted tells a parent that a child failed and that its next incarnation has started. The
// message that the child was handling is lost, the ones behind it are not.
type ChildRestarted struct {
	Child  *actor.PID
	Reason any // what the child panicked with

	// incarnation is the parent's that the child belongs to; zero: not known.
	incarnation uint64
}

// ChildFailed tells a parent that a child used up its restarts. The child has stopped, its queue is
// dropped, its name is free.
type ChildFailed struct {
	Child  *actor.PID
	Reason any // what the child panicked with last

	incarnation uint64
}

// Urgent is implemented by messages that are handled before other user messages, also before those
// that the same sender sent earlier. System messages still come first.
type Urgent interface {
	Urgent()
}

// isNil tells whether a message is nil, bare or in an envelope.
func isNil(m any) bool {
	if m == nil {
		return true
	}
	env, ok := m.(*actor.MessageEnvelope)
	return ok && (env == nil || env.Message == nil)
}
