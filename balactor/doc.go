// Package balactor applies blocks: it turns EIP-7928 block access lists into post-state and state
// root, past the journal and in parallel.
//
// # Role
//
// BalApplyActor owns the cursor: it alone commits to the store. It takes one block at a time and
// hands the block's work to its AccountBatch children, one a worker, as jobs that they ask for by
// being idle (D8: flow by credit). First the storage tries of runs of accounts, then the account
// trie below the nibbles of its root; between the two lies the block's only barrier, because an
// account's leaf holds its storage root.
//
//	ApplyBlock ─ open ─ prepare ─┬ UpdateStorage ─┐         ┌ UpdateAccounts ─┐
//	                             ├ UpdateStorage ─┼─ layer ─┼ UpdateAccounts ─┼─ join ─ root ─ commit
//	                             └ UpdateStorage ─┘         └ UpdateAccounts ─┘
//
// Rewind runs the same path backwards (D6): a reverse diff gives the targets instead of a block
// access list, and the parent's header gives the root to reach.
//
// The account trie's upper branch rows, which nearly every block reads and writes, stay in memory
// from block to block; they are those of the cursor's state, or none.
//
// # Invariants
//
//   - I3: nothing is committed unless keccak(BAL) is the header's hash and the root came out right.
//   - I4: at most Options.MaxQueued requests wait; more are refused with ErrBusy.
//   - I5: an account that ends empty (EIP-161) is absent, and its slots with it.
//
// # The journaled way
//
// With ApplyJournaled a list goes through a journaled world state (package world), as a client that
// executes transactions keeps a block's changes. It is there to be measured against, and has
// everything else in common with the bulk path:
//
//	prepare ─┬ ReadParent ─┐           ┌ UpdateStorage ─┐
//	         └ ReadParent ─┴ journal ──┴ UpdateStorage ─┴─ layer ─ as above
//
// # Change sets
//
// Subscriptions take each block's change set right after its commit, those of undone blocks too:
// what the layer wrote, before and after. A subscriber whose buffer is full delays the block's
// answer and what comes behind it, never a commit that is under way, unless it asked to miss some.
//
// # The shadow
//
// Validated blocks are offered to Shadow before their commit, with a snapshot of the parent.
// ShadowRootActor queues at most MaxQueued and has ShadowReplay compute the root again: journaled
// world state, classic tries, scalar Keccak; only the decoder of lists and the store's reads are
// shared. Each request ends as exactly one of comparison, failure, or a skip with its reason. A
// panic costs one comparison; at Close what waits is skipped as closing. Nothing waits for the
// shadow.
//
// # Giving up
//
// A request has a context. Whatever works on it looks at the context every thousand items or so:
// once it has ended, the request is answered with ErrGivenUp and the store is as it was. A commit
// that has begun goes on to its end.
//
// # Restarts
//
// An AccountBatch that panics loses the job in hand and nothing else: it has no state. Its parent
// is told and hands the job out again, Options.JobAttempts times; then the block is rejected with
// ErrWorkerFailed and the store is as it was. A BalApplyActor that panics loses the block in hand;
// its next incarnation reads the cursor from the store, and whoever asked sends the block again,
// which is harmless.
package balactor
