package messages

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
)

// FindCredit asks the StorageActor how much a requester may have outstanding. Whoever asks is a
// requester from then on and is told again when the StorageActor was restarted.
type FindCredit struct{ ReplyTo *actor.PID }

// StorageCredit bounds what a requester may have outstanding: sent in BuildStorage and not answered
// in StorageBuilt.
//
// Incarnation counts up when the StorageActor is restarted. What was outstanding is lost then, and
// the requester sends it again; what was answered is stored and stays so.
type StorageCredit struct {
	Incarnation uint64
	Accounts    int // that may be outstanding, over all requests
}

// StorageLeaf is one slot of a storage trie.
type StorageLeaf struct {
	Slot  common.Hash // hash of the slot's key
	Value []byte      // RLP of the value, leading zeros trimmed; never empty, never 80
}

// StorageAccount is an account whose storage trie shall be built.
type StorageAccount struct {
	Account common.Hash
	// Expected is the root that has to come out; another one fails the account with ErrRootMismatch
	// of package storageactor. Zero: not known.
	Expected common.Hash
	// Stored is the storage root that the account's flat row has. Where another one comes out (and
	// none is expected), the StorageActor has the row corrected. Zero: the row is left as it is.
	Stored common.Hash
	// Leaves is the number of slots, 0 where it is not known. It decides how the account is built,
	// not what comes out: it may be wrong.
	Leaves int
	// Source has the slots, ascending. Nil: the flat rows of the store are read.
	Source []StorageLeaf
}

// BuildStorage asks the StorageActor for the storage tries of a run of accounts: all accounts with
// storage from From to To, both included. Slot rows in between that belong to none of them have no
// account: they are counted, reported, and dropped from the state (only where no account of the
// run brings its own Source).
//
// Requests of one requester do not overlap and come in ascending order. A request that is in hand
// already is not taken twice: it may be sent again.
type BuildStorage struct {
	Request  uint64
	From, To common.Hash
	Accounts []StorageAccount // ascending, within From and To; may be empty
	// Incarnation is that of the StorageCredit that the request goes by. A StorageActor that was
	// restarted since leaves the request out: the new credit has it sent again. 0: whichever.
	Incarnation uint64
	ReplyTo     *actor.PID
}

// StorageBuilt answers a BuildStorage, in as many messages as it takes: each account is answered
// once, when its rows are stored. Done says that the request is answered as a whole.
type StorageBuilt struct {
	Request uint64
	Results []StorageResult
	Orphans []OrphanStorage
	Done    bool
	// Err says why what lies between the accounts could not be looked through. It comes with Done.
	Err error
}

// StorageKind says how an account's trie was built.
type StorageKind uint8

const (
	KindBatch StorageKind = iota // with other small accounts
	KindLarge                    // alone
	KindRange                    // in key ranges, side by side
)

// String names the kind.
func (k StorageKind) String() string {
	switch k {
	case KindBatch:
		return "batch"
	case KindLarge:
		return "large"
	case KindRange:
		return "range"
	}
	return "unknown"
}

// StorageResult is what became of one account.
type StorageResult struct {
	Account common.Hash
	Root    common.Hash // zero where Err is set
	Leaves  int
	Rows    int // branch rows
	// Duration is the time that its trie took; of an account in ranges, summed over them. The hashing
	// that a batch's tries share at its end is in none of them.
	Duration time.Duration
	Worker   int // of an account in ranges, who joined them
	Kind     StorageKind
	Err      error // the account failed, it alone; nothing of it counts as built
}

// OrphanStorage is a run of slot rows whose account does not exist. They are not in the state that
// is built.
type OrphanStorage struct {
	Account common.Hash
	Slots   int
}

// BuildAccounts asks the StorageActor for the account trie over the flat account rows, with the
// storage roots that came out. It comes when all storage is answered.
type BuildAccounts struct {
	Request uint64
	ReplyTo *actor.PID
}

// AccountsBuilt says that the account trie's rows are stored, or why they are not.
type AccountsBuilt struct {
	Request  uint64
	Root     common.Hash
	Accounts int
	Rows     int
	Err      error
}

// BuildRejected says why a BuildStorage or BuildAccounts was not taken: it breaks the protocol.
type BuildRejected struct {
	Request uint64
	Err     error
}

// FindReport asks the StorageActor for its reports.
type FindReport struct{ ReplyTo *actor.PID }

// ReportFound holds the reports of both phases as they stand.
type ReportFound struct {
	Storage  BuildReport
	Accounts BuildReport
}
