package messages

import "github.com/asynkron/protoactor-go/actor"

// FindActors asks the supervisor where its children are.
type FindActors struct{ ReplyTo *actor.PID }

// ActorsFound names the supervisor's children as they run now. A restarted child keeps its PID.
// What the tree was started without is nil.
type ActorsFound struct {
	BalApply *actor.PID
	Storage  *actor.PID
	Shadow   *actor.PID
}
