package messages

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/balactor/world"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// SlotTarget is what one slot shall become.
type SlotTarget struct {
	Hash  common.Hash // of the slot's key
	Value []byte      // RLP of the trimmed value; nil deletes
}

// AccountTarget is what one account shall become. Either the fields that are set replace those of
// the account as it stands (a block access list applied), or, where Exact is set, the account
// becomes Slim as it is (a reverse diff applied).
type AccountTarget struct {
	Hash    common.Hash
	Address common.Address // for errors; zero in a reverse diff, which holds hashes only

	Nonce   *uint64
	Balance *uint256.Int
	Code    []byte
	CodeSet bool // with empty Code: the account has no code afterwards
	// CodeHash is the hash of Code.
	CodeHash common.Hash

	Exact bool
	Slim  []byte // slim account RLP; nil: absent

	Slots []SlotTarget // ascending by hash
}

// Job names one piece of a block's work. Attempt tells answers to a job that was handed out again
// from answers to the lost one.
type Job struct {
	Round   uint64 // number of the jobs that the BalApplyActor has out at a time: one of a kind
	Index   int
	Attempt int
}

// ParentSlot is a slot that a block changes, with the value that it has in the parent's state.
type ParentSlot struct {
	Key, Hash common.Hash // of the key
	Value     common.Hash // in an answer
}

// ParentAccount is an account that a block changes, as it is in the parent's state.
type ParentAccount struct {
	Address common.Address
	Hash    common.Hash   // of the address
	Account state.Account // in an answer
	Existed bool          // in an answer
	Slots   []ParentSlot  // ascending by hash
}

// ReadParent asks an AccountBatch to read a run of accounts and slots as they stand, for a block
// that is applied through the journal.
type ReadParent struct {
	Job      Job
	Ctx      context.Context // its end fails the job; nil: never
	Snapshot *state.Snapshot // the parent's state
	Accounts []ParentAccount // ascending by hash
	ReplyTo  *actor.PID
}

// ParentRead holds what a ReadParent asked for: the same accounts and slots, filled in.
type ParentRead struct {
	Job      Job
	Accounts []ParentAccount
	Warmup   time.Duration
}

// UpdateStorage asks an AccountBatch to read a run of accounts and slots as they stand, to update
// their storage tries, and to work out the accounts' new state.
type UpdateStorage struct {
	Job      Job
	Ctx      context.Context // its end fails the job; nil: never
	Snapshot *state.Snapshot // the parent's state
	Targets  []AccountTarget // ascending by hash
	// Journaled is set for a block that went through the journal: what became of the accounts of
	// Targets, one for one. They are read and worked out already.
	Journaled []world.AccountChange
	ReplyTo   *actor.PID
}

// StorageUpdated is what became of an UpdateStorage. All lists are ascending.
type StorageUpdated struct {
	Job      Job
	Accounts []state.AccountWrite // changed accounts only
	Changes  []trie.Change        // the same accounts, as leaves of the account trie
	Slots    []state.SlotWrite    // changed slots only
	Branches []state.BranchWrite  // storage tries' rows
	Codes    []state.CodeWrite    // codes that the store does not hold yet; may repeat across jobs
	Storage  []common.Hash        // accounts whose storage root changed
	Warmup   time.Duration        // reading the parent's accounts and slots
	Apply    time.Duration        // working out the new ones
	Roots    time.Duration        // storage tries
}

// UpdateAccounts asks an AccountBatch to update the parts of the account trie below some nibbles
// of its root branch.
type UpdateAccounts struct {
	Job      Job
	Ctx      context.Context // its end fails the job; nil: never
	Snapshot *state.Snapshot
	Root     trie.Branch // the account trie's root branch (path of length 0)
	// Over puts what is kept in memory of the account trie over what the store gives. The job has
	// what lies below its nibbles to itself. Nil: there is nothing.
	Over    func(trie.Reader) trie.Reader
	Runs    [][]trie.Change // changes below one nibble each, ascending
	ReplyTo *actor.PID
}

// AccountsUpdated holds the parts that an UpdateAccounts asked for, and the rows below them.
type AccountsUpdated struct {
	Job      Job
	Parts    []trie.Part
	Branches []state.BranchWrite
}

// JobFailed says that a job cannot be done: reading failed, or the store contradicts itself. A job
// lost to a panic gives no answer; the supervision strategy tells the parent about that.
type JobFailed struct {
	Job Job
	Err error
}
