package messages

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// TrieUnit is a trie to build, or the part of one below a nibble path.
type TrieUnit struct {
	StorageAccount
	// AccountTrie is set for the account trie; Account has no meaning then.
	AccountTrie bool
	// Prefix is the path below which the part lies; the zero path is all of the trie.
	Prefix trie.Path
	// Part says that the top is wanted, to be joined with other parts, not a root.
	Part bool
	// SweepFrom is where to look for slot rows without an account: from there up to Account, only
	// where Sweep is set.
	SweepFrom common.Hash
	Sweep     bool
	// Bare says that there is no account: what lies from SweepFrom to Account, both included, is
	// swept, and nothing is built.
	Bare bool
}

// BuildTries asks a TrieBuild for the tries of units, in their order.
type BuildTries struct {
	Job    uint64 // a new number for each hand-out
	Units  []TrieUnit
	Kind   StorageKind
	Buffer int  // that the rows go to: the worker's own until it answers
	Fresh  bool // the buffer is to be emptied first
	// Limit is the number of leaves above which a unit is handed back, 0: none.
	Limit int
	// Generation says how new the view of the flat rows has to be.
	Generation uint64
	// Follows says that there was work when the worker's job before ended, so that the time since
	// is turnover.
	Follows bool
	ReplyTo *actor.PID
}

// SurveyTrie asks a TrieBuild how a large trie, or a part of one, can be split.
type SurveyTrie struct {
	Job        uint64
	Unit       TrieUnit
	PartLeaves int // leaves that a part aims at
	MaxParts   int
	Generation uint64
	Follows    bool // as in BuildTries
	ReplyTo    *actor.PID
}

// JoinTrie asks a TrieBuild for the trie of its parts, which ascend.
type JoinTrie struct {
	Job     uint64
	Unit    TrieUnit
	Parts   []trie.Part
	Buffer  int
	Fresh   bool // the buffer is to be emptied first
	Follows bool // as in BuildTries
	ReplyTo *actor.PID
}

// JobTimes is what a worker measured of a job. Started and Ended are by the system's clock.
type JobTimes struct {
	Started, Ended time.Time
	// Idle is the time from when the worker had sent its answer before to Started, 0 where there was
	// none before.
	Idle time.Duration
	CPU  time.Duration // processor time of the job's thread; of building, not of writing
}

// TrieOutcome is what became of one unit.
type TrieOutcome struct {
	Root     common.Hash // of a whole trie
	Part     *trie.Part  // of a part
	Leaves   int
	Rows     int
	Duration time.Duration
	// Estimate is set where the unit is handed back because it is above the limit: how many leaves
	// it seems to have. It has no rows.
	Estimate int
	Orphans  []OrphanStorage
	Err      error // the unit failed, it alone; it has no rows
}

// TriesBuilt answers BuildTries and JoinTrie: an outcome for each unit. The rows of those that
// succeeded are in the buffer, not yet stored.
type TriesBuilt struct {
	Job      uint64
	Outcomes []TrieOutcome
	Times    JobTimes
	Buffered int // bytes in the buffer
}

// TrieSurveyed answers SurveyTrie: parts that have all of the trie's leaves, in ascending order.
// No leaf at all is no part.
type TrieSurveyed struct {
	Job     uint64
	Parts   []TrieUnit // Leaves is an estimate
	Orphans []OrphanStorage
	Times   JobTimes
	Err     error
}

// StorageRoot is an account's storage root.
type StorageRoot struct{ Account, Root common.Hash }

// WriteRows asks a TrieBuild to write the rows that a buffer holds to tables, which are not durable
// yet. Nothing comes into the buffer from then on.
type WriteRows struct {
	Job     uint64
	Buffer  int              // the worker's own until it answers
	Done    []state.KeyRange // as in the FlushRows that follows
	Follows bool             // as in BuildTries
	ReplyTo *actor.PID
}

// RowsWritten answers WriteRows.
type RowsWritten struct {
	Job   uint64
	Times JobTimes
	Err   error // the buffer is empty again, and what it held is lost
}

// FlushRows asks a RowFlush to make what a buffer holds durable, and to note what is built by it.
type FlushRows struct {
	Segment uint64
	Buffer  int              // the flusher's own until it answers
	Done    []state.KeyRange // ascending: all of their storage tries are built
	Roots   []StorageRoot    // that the flat account rows do not have yet
	Orphans []OrphanStorage  // storage to drop
	ReplyTo *actor.PID
}

// RowsFlushed answers FlushRows. The buffer is empty again.
type RowsFlushed struct {
	Segment uint64
	Bytes   int64
	Tables  int
	Times   JobTimes
	Err     error // nothing of it counts as stored
}

// Confirm asks a TrieBuild or RowFlush that was restarted for a sign: what it had in hand before,
// and has not answered by then, is lost.
type Confirm struct {
	Token   uint64
	ReplyTo *actor.PID
}

// Confirmed is the sign.
type Confirmed struct{ Token uint64 }
