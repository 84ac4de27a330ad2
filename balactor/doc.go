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
