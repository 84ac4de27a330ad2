// Package classic is the textbook Merkle-Patricia trie of Ethereum: pointers, recursion, one
// Keccak-256 at a time.
//
// It exists to disagree. The fast engine in package trie streams sorted leaves past branch rows
// and hashes many nodes at once; this package holds every node in memory, has its own hex-prefix
// and RLP encoding and its own hash function, and shares no code with that engine, not even the
// form of a branch record. A root that both compute is worth more than one that either computes
// twice. The shadow root computation stands on it.
//
// Keys may have any length, and one key may be a prefix of another: the shorter key's value then
// lies in a branch. (The state and storage tries never need that, their keys are 32 bytes; the
// ethereum/tests vectors do.)
//
// Hashing is lazy. Every node remembers the reference its parent's encoding holds, an update
// forgets the references on the path that it changed, and Hash computes only what is forgotten.
//
// # Stored tries
//
// [Stored] is the same trie over records that something else keeps: it is opened at a root, and
// takes a branch or a leaf from its [Source] when a change first comes by. Only branches have
// records. A child whose record says that there is a branch below it is the first branch at or
// below its path, and an extension where that lies deeper; any other child is the first leaf there.
// Nothing that is read is taken on trust: a node must encode to the reference that its parent has
// for it, from the root down, or the trie ends with [ErrContradiction]; and a change says what it
// changes from, so that the leaves and the trie over them are held against each other
// ([ErrStale]).
//
// Source: Yellow Paper, appendix B (RLP), C (hex-prefix encoding), D (trie).
package classic
