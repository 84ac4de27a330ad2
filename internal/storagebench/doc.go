// Package storagebench measures the storage phase: how long Balsa takes to build all tries of a
// state that is shaped like mainnet's.
//
// The state comes from package mainnetshape and is loaded by balsa.Import, as any other would be.
// What is measured after that is balsa.Rebuild: the flat rows are there, and all branch rows are
// made again, stored and proven. Each number is one of the reports of those two; see
// messages.BuildReport.
//
// # What is compared
//
//   - A sweep rebuilds with one option at several values, which take turns.
//   - The tail is the small end of the state alone: the accounts with storage of fewer than 1,000
//     slots, 98 % of them, in a store without any other account. It is rebuilt with batches of 64
//     accounts, with batches of one, and unbatched, in turn. In batches of one, each account is
//     a message there and one back, and its nodes are hashed alone: a trie of a few slots has too
//     few to fill the lanes of Keccak. Iterator, row buffer and flush stay shared, as they belong
//     to a worker's run of accounts and not to a batch. Unbatched, they are not: each account is
//     a run, and pays for a table, its sync and its line in the manifest.
//   - Growth builds states of several scales and asks how processor time a leaf grows with the
//     state.
package storagebench
