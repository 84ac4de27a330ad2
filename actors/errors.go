package actors

import "errors"

var (
	// ErrTimeout is returned by [System.Ask] when the deadline passed before a reply came. The
	// message may have been handled, or may be handled yet.
	ErrTimeout = errors.New("no reply in time")
	// ErrStopped is returned by [System.Ask] when the asked actor does not exist or stopped before
	// it replied.
	ErrStopped = errors.New("actor is stopped")
	// ErrRestarted is returned by [System.Ask] when the asked actor failed before it replied. The
	// message may be lost, or may be handled yet: the caller decides.
	ErrRestarted = errors.New("actor was restarted")
	// ErrNilMessage is returned where a nil message would have to be sent.
	ErrNilMessage = errors.New("message is nil")
	// ErrBadName is returned for a name that is empty, too long, or has characters other than
	// letters, digits, '-', '_' and '.'.
	ErrBadName = errors.New("bad actor name")
	// ErrNameTaken is returned when an actor of that name is alive, or not yet buried: its parent
	// has not handled its *actor.Terminated.
	ErrNameTaken = errors.New("actor name is taken")
	// ErrBadSpec is returned for a Spec or a context that cannot be used.
	ErrBadSpec = errors.New("bad actor spec")
	// ErrBadOptions is returned for Options that cannot be used.
	ErrBadOptions = errors.New("bad options")
	// ErrStopping is returned by [System.SpawnChild] when the parent is stopping or restarting: a
	// child born then would never be stopped, and its parent would wait for it for ever.
	ErrStopping = errors.New("parent is stopping")
	// ErrShutdown is returned when the system has begun to shut down.
	ErrShutdown = errors.New("actor system is shut down")
	// ErrGaveUp is what [Options].OnFatal is called with: a top-level actor used up its restarts.
	ErrGaveUp = errors.New("restarts are used up")

	// errGoexit is the reason of a failure by runtime.Goexit, which t.FailNow calls.
	errGoexit = errors.New("runtime.Goexit in Receive")
)
