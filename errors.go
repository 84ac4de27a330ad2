package balsa

import (
	"errors"

	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/state"
)

// Errors of the engine. Those of blocks are wrapped with the block's number and hash; see also the
// rules of package bal and the store's errors in package state.
var (
	ErrBadOptions = errors.New("bad options")
	ErrClosed     = errors.New("the engine is closed")
	ErrReadOnly   = errors.New("the engine was opened read-only")
	// ErrInitialised: Init found the state that it was to build, or one that grew out of it.
	ErrInitialised = errors.New("the store holds this state, or a later one, already")
	// ErrRecovery: a block that was acknowledged before a crash does not apply again. The store stands
	// at the block before it, or at an earlier one, and still has it in its log.
	ErrRecovery = errors.New("a logged block does not apply again: keep the directory, and report it")
	// ErrOtherState: Init found a state of another chain or block.
	ErrOtherState = errors.New("the store holds another state: choose another directory")

	ErrBadHeader     = balactor.ErrBadHeader
	ErrPreAmsterdam  = balactor.ErrPreAmsterdam
	ErrNoBAL         = balactor.ErrNoBAL
	ErrBALHash       = balactor.ErrBALHash
	ErrOrphanSlot    = balactor.ErrOrphanSlot
	ErrUnknownParent = balactor.ErrUnknownParent
	ErrWrongRoot     = balactor.ErrWrongRoot
	ErrNotAncestor   = balactor.ErrNotAncestor
	ErrNoHistory     = balactor.ErrNoHistory
	ErrUnknownBlock  = state.ErrUnknownBlock
	ErrBusy          = balactor.ErrBusy
	ErrWorkerFailed  = balactor.ErrWorkerFailed
	ErrNoState       = balactor.ErrNoState
	ErrUnsubscribed  = balactor.ErrUnsubscribed
	ErrChangesLost   = balactor.ErrChangesLost
	// ErrGivenUp: Close was called before the request was done; errors.Is finds ErrClosed too. The
	// store is as it was, or where a rewind had got to.
	ErrGivenUp = balactor.ErrGivenUp
)

// WrongRootError is ErrWrongRoot with both roots and the accounts in question.
type WrongRootError = balactor.WrongRootError
