// Package keccak hashes many messages with Keccak-256 at once, the hash of Ethereum (Yellow
// Paper, appendix G: Keccak with rate 1088 and the original padding 0x01, not that of FIPS 202).
//
// A trie has many nodes whose hashes do not depend on each other. Whoever builds one collects the
// nodes that are ready and hands them over in groups; [Hasher.Lanes] says how many a group should
// have to keep the implementation busy. Messages of one group may differ in length, but those
// that take the same number of 136-byte blocks run together best.
package keccak
