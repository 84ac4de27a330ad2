// Package actors is Balsa's kit over proto.actor.
//
// It takes from proto.actor what that is good at (addressing, supervision, lifecycles) and owns the
// rest: the mailbox, the dispatcher, the clock and its timers, the supervision strategy, the way a
// trace flows, asking from outside, and an orderly shutdown. Every actor of Balsa is spawned by a
// [System]; nothing else calls proto.actor's own spawn functions.
//
// # What an actor sees
//
//	message               when
//	*actor.Started        first, of each incarnation: an actor rebuilds its state here
//	*actor.Restarting     to the incarnation that failed, before it is replaced
//	*actor.Stopping       before its children are stopped
//	*actor.Stopped        last, after its children have stopped
//	*actor.Terminated     a child, or an actor it watches, has stopped
//	ChildRestarted        a child failed and runs again; the message it was handling is lost
//	ChildFailed           a child used up its restarts; it has stopped and its name is free again
//	TimerFired            a timer; only what [Timers.Accept] lets through counts
//	anything else         what was sent to it, in order for each sender, [Urgent] ones first
//
// The kit's own messages (ChildRestarted, ChildFailed, TimerFired) are values, not pointers.
//
// # What holds
//
//   - A panic loses the message in flight and nothing else: the queue is kept, and the next
//     incarnation goes on with it. Requesters retry by request id.
//   - A panic while restarting or stopping is recovered on the spot: it neither revives the actor
//     nor blocks its parent.
//   - A failed actor is restarted after a backoff that doubles, a bounded number of times within a
//     window, all on the system's [Clock]. Then it is stopped and its parent is told; at the top
//     level [Options].OnFatal is called, once. Nothing is ever resumed or escalated.
//   - An actor that stops takes no more messages and spawns no more children. What still arrives,
//     or was still queued when it was stopped, is dropped and counted.
//   - Nil is never delivered; it is refused and counted.
//   - No goroutine waits for an idle actor, no sender is ever blocked by a mailbox: flow is bounded
//     by credit, in the protocols.
//   - A trace goes along with what is sent: see [Ctx] and [System.Send]. There is no span for each
//     message; actors span their jobs.
//
// The context that an actor is given is valid on its own goroutine and until Receive returns. It
// closes those doors of proto.actor behind which this kit cannot hold what it says (futures, stash,
// receive timeouts, spawning past the kit): they panic and name what to use instead.
package actors
