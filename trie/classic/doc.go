// Package classic is the textbook Merkle-Patricia trie of Ethereum: pointers, recursion, one
// Keccak-256 at a time.
//
// It exists to disagree. The fast engine in package trie streams sorted leaves past branch rows
// and hashes many nodes at once; this package holds every node in memory, has its own hex-prefix
// and RLP encoding and its own hash function, and shares no code with that engine. A root that
// both compute is worth more than one that either computes twice. The shadow root computation and
// the A/B benchmarks stand on it.
//
// Keys may have any length, and one key may be a prefix of another: the shorter key's value then
// lies in a branch. (The state and storage tries never need that, their keys are 32 bytes; the
// ethereum/tests vectors do.)
//
// Hashing is lazy. Every node remembers the reference its parent's encoding holds, an update
// forgets the references on the path that it changed, and Hash computes only what is forgotten.
//
// Source: Yellow Paper, appendix B (RLP), C (hex-prefix encoding), D (trie).
package classic
