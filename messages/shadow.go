package messages

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/state"
)

// CompareRoot asks the ShadowRootActor to compute a block's state root a second way. The block's
// canonical root is the header's by then. Nobody is answered: what comes of it is counted.
type CompareRoot struct {
	Request      uint64
	Header       *types.Header
	Hash         common.Hash // the header's
	BAL          []byte      // raw RLP
	Transactions int         // in the block, -1 where it is not known

	// Parent is the state before the block, taken before the block was committed. It is the
	// shadow's to close.
	Parent *state.Snapshot
	// Root and Accounts are the canonical result: the state root, and the accounts that changed,
	// ascending.
	Root     common.Hash
	Accounts []state.AccountWrite
}

// ReplayBlock asks a ShadowReplay for the state root of a block.
type ReplayBlock struct {
	Compare *CompareRoot
	Ctx     context.Context // its end stops the work
	ReplyTo *actor.PID
}

// BlockReplayed is what became of a ReplayBlock. A replay that is lost to a panic gives no answer;
// the supervision strategy tells the parent about that.
type BlockReplayed struct {
	Request uint64
	Root    common.Hash
	// Differs is the first account, by hash, that differs from the canonical result. Nil: none does,
	// or the roots are equal and nobody looked.
	Differs *AccountDifference
	// Refused: the block access list does not do for the shadow what it did for the canonical side.
	Refused error
	Err     error // the replay could not be done
	Took    time.Duration
}

// AccountDifference is an account that two ways to a block's state leave differently: slim RLP,
// nothing where the account is absent or was not changed.
type AccountDifference struct {
	Hash              common.Hash    // of the address
	Address           common.Address // zero where it is not known
	Canonical, Shadow []byte
}
