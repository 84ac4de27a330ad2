package balactor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// Errors that a BlockRejected or RewindRejected carries, wrapped with the block.
var (
	ErrBadHeader    = errors.New("the header is incomplete")
	ErrPreAmsterdam = errors.New("the block was made before Amsterdam: its header has no block " +
		"access list hash, and it cannot be applied without executing it")
	ErrNoBAL   = errors.New("the block access list is not available")
	ErrBALHash = errors.New("the block access list does not hash to what its header says")
	// ErrOrphanSlot: no execution produces such a list. Only code sets slots, an account with code is
	// not empty, and since EIP-6780 what a transaction creates and destroys has no storage left.
	ErrOrphanSlot    = world.ErrOrphanSlot
	ErrUnknownParent = errors.New("the parent is not the cursor")
	ErrWrongRoot     = errors.New("the state root differs from the header's")
	ErrNotAncestor   = errors.New("the block is not an ancestor of the cursor")
	ErrNoHistory     = state.ErrNoHistory
	ErrDiffMismatch  = fmt.Errorf("%w (the reverse diff does not lead back to the parent's state)",
		state.ErrCorrupt)
	ErrBusy         = errors.New("too many requests wait already; send it again later")
	ErrWorkerFailed = errors.New("a worker failed on every attempt at a job of this block")
	ErrNoState      = errors.New("the store holds no state yet: run init first")
	// ErrGivenUp: the request's context ended. It is wrapped with the context's cause.
	ErrGivenUp = errors.New("given up before it was done")
)

// trieError marks what an updater says where the store's rows contradict each other: the changes
// that it is given come from rows of the same snapshot.
func trieError(err error) error {
	for _, damage := range []error{trie.ErrMissingNode, trie.ErrStaleChange, trie.ErrBadBranch} {
		if errors.Is(err, damage) && !errors.Is(err, state.ErrCorrupt) {
			return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
		}
	}
	return err
}

// WrongRootError is ErrWrongRoot with what is known about it.
type WrongRootError struct {
	Number    uint64
	Hash      common.Hash
	Want, Got common.Hash // the header's root, the computed one
	// Accounts are the accounts whose storage root the block changed: the wrong root can come from
	// one of them, or from any account's own fields. At most MaxNamedAccounts are named.
	Accounts []common.Address
	// Changed counts them all.
	Changed int
	// Built says that the state was not reached by a block, but built from flat rows.
	Built bool
	// Differing are the hashes of accounts whose slots gave another storage root than their rows have.
	// At most MaxNamedAccounts are named. Of a build alone.
	Differing []common.Hash
	// DifferingCount counts them all.
	DifferingCount uint64
}

// MaxNamedAccounts bounds WrongRootError.Accounts.
const MaxNamedAccounts = 16

// Error names the block, both roots, and the accounts in question.
func (e *WrongRootError) Error() string {
	var b strings.Builder
	if e.Built {
		e.built(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "block %d (%s): %v: the header has %s, the block access list gives %s",
		e.Number, e.Hash, ErrWrongRoot, e.Want, e.Got)
	if e.Changed > 0 {
		fmt.Fprintf(&b, "; it changed %d storage roots, of", e.Changed)
		for i, a := range e.Accounts {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte(' ')
			b.WriteString(a.Hex())
		}
		if n := e.Changed - len(e.Accounts); n > 0 {
			fmt.Fprintf(&b, " and %d more", n)
		}
	}
	return b.String()
}

func (e *WrongRootError) built(b *strings.Builder) {
	fmt.Fprintf(b, "block %d (%s): %v: the header has %s, the flat state gives %s",
		e.Number, e.Hash, ErrWrongRoot, e.Want, e.Got)
	if e.DifferingCount == 0 {
		return
	}
	fmt.Fprintf(b, "; the slots of %d accounts give another storage root than the accounts have:",
		e.DifferingCount)
	for i, a := range e.Differing {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte(' ')
		b.WriteString(a.Hex())
	}
	if n := e.DifferingCount - uint64(len(e.Differing)); n > 0 {
		fmt.Fprintf(b, " and %d more", n)
	}
}

// Unwrap makes errors.Is(err, ErrWrongRoot) true.
func (e *WrongRootError) Unwrap() error { return ErrWrongRoot }
