package telemetry

// TracerName is the instrumentation scope of all spans of the engine.
const TracerName = "github.com/balsa-sync/balsa"

// Names of spans.
const (
	SpanBlockApply   = "block.apply"
	SpanBlockRewind  = "block.rewind"
	SpanBALDecode    = "bal.decode"
	SpanBALWarmup    = "bal.warmup"
	SpanBALApply     = "bal.apply" // changes of accounts and slots, before any hashing
	SpanStorageRoots = "storage.roots"
	SpanAccountRoot  = "account.root"
	SpanStateCommit  = "state.commit"
	SpanStoragePhase = "storage.phase"
	SpanStorageSlot  = "storage.slot"  // a worker's job
	SpanStorageFlush = "storage.flush" // of a segment's rows
	SpanShadow       = "shadow.replay" // of a block
)

// Keys of span attributes. Addresses, slots and hashes are for spans only: as attributes of a
// metric they would make a time series each.
const (
	AttrBlockNumber = "balsa.block.number"
	AttrBlockHash   = "balsa.block.hash" // hex with 0x
	AttrAccounts    = "balsa.accounts"   // accounts that the block changes
	AttrSlots       = "balsa.slots"      // storage slots that the block changes

	// Seconds that a block's phases took.
	AttrDecode       = "balsa.block.seconds.decode"
	AttrWarmup       = "balsa.block.seconds.warmup"
	AttrApplySeconds = "balsa.block.seconds.apply"
	AttrStorageRoots = "balsa.block.seconds.storage_roots"
	AttrAccountRoot  = "balsa.block.seconds.account_root"
	AttrCommit       = "balsa.block.seconds.commit"

	AttrPhase    = "balsa.storage.phase"    // storage or accounts
	AttrKind     = "balsa.storage.kind"     // batch, large, range, survey or join
	AttrSlot     = "balsa.storage.slot"     // the worker's number
	AttrLeaves   = "balsa.storage.leaves"   // leaves that a job built on
	AttrRows     = "balsa.storage.rows"     // branch rows that a job made
	AttrBytes    = "balsa.storage.bytes"    // bytes that a flush wrote
	AttrTurnover = "balsa.storage.turnover" // seconds since the worker's job before

	AttrMode    = "balsa.mode"     // bulk or journaled
	AttrAttempt = "balsa.attempt"  // of a job or a request, from 1
	AttrWorker  = "balsa.worker"   // number of a worker or a flusher
	AttrFailure = "balsa.failure"  // what it failed with
	AttrRootLag = "balsa.root_lag" // seconds; only where it was sampled
)

// Names of span events.
const (
	EventRootReady        = "root.ready" // the root is proven; the commit is next
	EventWorkerRestarted  = "worker.restarted"
	EventWorkerReplaced   = "worker.replaced" // it had used up its restarts
	EventFlusherRestarted = "flusher.restarted"
	EventFlusherReplaced  = "flusher.replaced"
	EventActorRestarted   = "actor.restarted" // that of the span itself, which ends with it
	EventRetried          = "request.retried" // the actor that had it failed
)
