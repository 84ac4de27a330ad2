// Package world is a journaled world state: the way in which a client that executes transactions
// keeps a block's changes. Every operation goes through a journal that can be taken back to any
// snapshot, empty accounts are swept (EIP-161), and Commit says what changed.
//
// Balsa's own way past the journal is measured against this one, and the shadow computes its root
// with it. Therefore it is built as fast as the design allows: one table of accounts and one of
// slots for the whole block, entries of a fixed size, everything kept for the next block, keys
// hashed when they are needed and once, equal codes hashed once.
//
// # What a parent is asked
//
// Reads are lazy: an account is read at the first operation on it, a slot at the first write or
// read of it, and not at all where the account has no storage. Who has read them before, as a
// client does that knows the block access list, gives them to the state with WarmAccount and
// WarmSlot.
//
// # How a block access list is applied
//
// [State.Apply] takes an account after the other, with the last value of each field and slot, and
// leaves the sweep to the block's end. A list could also be applied index by index, with a snapshot
// and a sweep each, as the block was made. That costs more and gives the same: what a field or
// a slot held between the first and the last index is in no post-state, and an account that is
// empty after some index and not after the last is not empty afterwards. go-ethereum applies lists
// account by account with last values too. A baseline has to do what is fastest.
//
// The package is pure: it keeps no state outside a State, starts no goroutine and reads no clock.
package world
