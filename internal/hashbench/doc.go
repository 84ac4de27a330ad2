// Package hashbench measures what hashing costs: Keccak-256 at each number of lanes the machine
// has, and tries built on it, beside golang.org/x/crypto's Keccak and go-ethereum's StackTrie.
//
// Everything runs on one core: the sides take turns, for some rounds, and a ratio is taken within
// a round. Times are processor time of the process, garbage collection included. The number of
// lanes is forced, so that one run compares all of them.
//
// # What is counted
//
//   - Messages: nanoseconds a message, hashed in groups of 64 of one length, as a builder hands
//     them over. A permutation is a 64th of a message of 64 blocks: what is paid for each block,
//     reading it included.
//   - Tries: nanoseconds a leaf from sorted leaves to roots, with all branch rows (StackTrie: all
//     nodes) given to a sink that drops them, and allocations. Tries of ten leaves share their
//     hashing by 64, as a batch of small accounts does.
//   - Shares: of the time that building takes, from a CPU profile of it. Beside them the time with
//     a hasher that does nothing, which leaves structure and encoding.
package hashbench
