// Package storageactor builds storage tries, millions of them, and the account trie over them, from
// flat rows.
//
// # Role
//
// Most accounts with storage have one or two slots, a few have a hundred million. Built one by one,
// an account's fixed cost (an iterator, a buffer, a flush, the hand-over) is hundreds of times what
// its leaves cost, and whoever builds the largest one is waited for at the end. The StorageActor is
// the dispatcher between the two: it makes jobs of about the same size out of accounts of any size
// and sees to it that no worker waits for its next one.
//
//	BuildStorage ─ class ─┬ small: batches ────────────────────┐
//	                      ├ large: alone ──────────────────────┤
//	                      └ huge: SurveyTrie ─ key ranges ─────┼─► TrieBuild × workers
//	                                  JoinTrie ◄─ parts ───────┤        │ rows in a buffer
//	                                                           │        ▼ WriteRows: in tables
//	StorageBuilt ◄───────────── stored ◄───────────────────────┴── RowFlush × flushers: synced
//
//	receives       from            answers
//	FindCredit     requester       StorageCredit, and again after a restart
//	BuildStorage   requester       StorageBuilt, in parts, each account once | BuildRejected
//	BuildAccounts  requester       AccountsBuilt | BuildRejected
//	FindReport     anybody         ReportFound
//	TriesBuilt     TrieBuild       the next BuildTries, SurveyTrie, JoinTrie
//	TrieSurveyed   TrieBuild       the same
//	RowsWritten    TrieBuild       FlushRows
//	RowsFlushed    RowFlush
//
// [Client] is the requester for code outside the actor tree.
//
// # How the work is cut
//
// A job is what a worker does for one message. Within it the tries share one iterator, one trie
// builder (so that the lanes of the hasher fill across tries) and one buffer for their rows.
//
//   - Below Options.LargeLeaves an account is small. Small ones are built in batches: up to
//     Options.BatchAccounts of them, or Options.BatchLeaves leaves. The 64 accounts are there
//     because the fixed cost of a job is then shared by 64, and more would share what is small by
//     then; at a few leaves an account a batch takes less than a millisecond.
//   - From there on it is large and gets a job of its own: 50,000 leaves are hundreds of times
//     what a job costs besides.
//   - From Options.SplitLeaves on it is huge: a survey finds prefixes that each have about
//     Options.PartLeaves leaves below them, whatever the distribution of the keys (surveyor). Any
//     worker builds any of them, and one joins the tops.
//
// Where the number of leaves is not known an account counts as small. A worker that meets more than
// the limit, or sees from the density of the hashes that it will, hands the account back, and it is
// classed again; a key range that turns out too large is surveyed again in the same way.
//
// Huge and large accounts go out before small ones, which are the filler, so that what is left at
// the end is small. A segment is the contiguous run of small accounts, or of parts, that one worker
// builds job by job into one buffer; it is flushed as a whole, so that a flush costs each account
// little and tables of different workers do not overlap. A worker that finds nothing left takes
// half of what another one has before it.
//
// A worker has two jobs: one that it is at, and one that lies with it already when that ends; of
// small jobs it has more, up to what takes some milliseconds, because where all cores build the
// StorageActor gets one only when a worker lets it. So the turnover is what a mailbox takes to hand
// over its next message, not a round trip.
//
// To sort a segment's rows and write them to tables takes processor time, and is a job of a worker
// like any other: no more goroutines want a core than there are workers. To make the tables durable
// takes the disk's time: a RowFlush waits for it, and the worker goes on with another buffer.
// Whoever has a core for long lets others have it every few tenths of a millisecond
// (builder.spend): Go would leave it to him for 10 ms, and the StorageActor would be late by that.
//
// # Invariants
//
//   - Each account of a request is answered once, and only when its rows are stored.
//   - A bad account (leaves out of order or twice, an empty value, another root than expected, a
//     failing read) fails alone, with a typed error, and is in no range that counts as done.
//   - I4: a requester has at most Options.Credit accounts outstanding, a worker two jobs or
//     a few milliseconds of small ones, and there are Options.Buffers buffers, each with one owner.
//   - I7: whatever is done again makes the same rows.
//   - Memory does not grow with the leaves of an account: leaves stream, rows are flushed.
//
// # Restarts
//
// A TrieBuild that panics loses the job in hand, and the buffer that it was at cannot be trusted:
// the segment is built again into a fresh one. After Options.JobAttempts such losses each of the
// job's accounts gets a worker to itself, and the one that fails even then is answered with
// ErrWorkerFailed. What a restarted worker had in its queue is not guessed: it is asked for a sign
// (Confirm), and what it has not answered by then is lost. A RowFlush that panics loses the flush,
// and its segment is built again.
//
// A StorageActor that panics loses what it knows, and nothing that is stored. Its next incarnation
// tells every requester so (StorageCredit with the next incarnation), and they send again what has
// not been answered. Its reports begin anew.
package storageactor
