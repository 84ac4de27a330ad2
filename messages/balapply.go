package messages

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/state"
)

// ApplyBlock asks the BalApplyActor to make Header's state from its parent's by its block access
// list and to commit it, if the parent is the cursor and the root comes out right.
//
// Sending it again is harmless: a block that the store holds is answered with BlockApplied and
// Known set.
type ApplyBlock struct {
	Request uint64
	Header  *types.Header
	BAL     []byte // raw RLP; nil or 0x80: not available
	// Transactions is the number of transactions in the block, -1 where it is not known. It bounds
	// the block access indices (EIP-7928: at most transactions + 1).
	Transactions int
	// Ctx says how long the block is wanted: when it ends before the commit has begun, the block is
	// given up and rejected. Nil: always.
	Ctx     context.Context
	ReplyTo *actor.PID
}

// Phases says where a block's time went, by the same measure whether it was applied in bulk or
// through the journal. What workers do side by side counts as that of the worker that had the most
// of it to do, phase by phase.
type Phases struct {
	Decode       time.Duration // hash, decoding, structural rules, keys
	Warmup       time.Duration // waiting for reads of the parent's accounts and slots
	Apply        time.Duration // from the parent's values to the block's
	StorageRoots time.Duration // storage tries
	AccountRoot  time.Duration // account trie
	Commit       time.Duration
	Total        time.Duration
}

// BlockApplied says that the block's state is in the store, proven against its header's root.
type BlockApplied struct {
	Request  uint64
	Number   uint64
	Hash     common.Hash
	Root     common.Hash
	Known    bool // the store held the block already; nothing was done
	Accounts int  // accounts whose state changed
	Slots    int  // slots whose value changed
	Rows     int  // branch rows written and deleted
	Phases   Phases
}

// BlockRejected says that the block was not applied and that the store is as it was.
type BlockRejected struct {
	Request uint64
	Number  uint64
	Hash    common.Hash
	Err     error
}

// Rewind asks the BalApplyActor to undo blocks until the one with hash To is the cursor again. To
// is the cursor or an ancestor of it. Each undone block is a commit of its own.
type Rewind struct {
	Request uint64
	To      common.Hash
	Ctx     context.Context // its end stops the rewind, after the block in hand at most; nil: never
	ReplyTo *actor.PID
}

// Rewound says that the cursor is where the Rewind wanted it.
type Rewound struct {
	Request uint64
	Cursor  state.Cursor
	Blocks  int // undone by this request
}

// RewindRejected says why a Rewind stopped. Cursor is where it stopped: a block whose state the
// store holds exactly.
type RewindRejected struct {
	Request uint64
	Cursor  state.Cursor
	Err     error
}

// RoomMade tells the BalApplyActor that subscribers have room for the next change set.
type RoomMade struct{}
