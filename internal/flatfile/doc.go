// Package flatfile reads and writes flat state in files: accounts, slots and codes by their hashes,
// in ascending order, without any trie.
//
// Two formats are read, told by their first bytes, each with or without gzip around it:
//
//   - the dumps of "geth db export snapshot" and "geth db export code": a stream of RLP items,
//     first a list {"gethdbdump", version, kind, time}, then three items an entry: operation, key,
//     value. A snapshot has the deletion of SnapshotRoot first, then all accounts, then all slots.
//     It names no block, has no code, and no end: one that is cut off between two entries is told
//     by its root alone;
//   - Balsa's own leaves, which docs/leaves-format.md describes: the chain's id, the header of the
//     block, each account with its slots, all codes, and an end with counts and a checksum.
//
// Codes come besides as an object of hashes and hex in JSON, as fixtures have them.
//
// A Reader takes a row at a time and holds no more than one: what a file claims of its sizes costs
// nothing, and what it unpacks to neither. It checks each row by itself: keys ascend, accounts and
// slots are canonical, no slot is zero, a code has its hash. Whether the rows are those of a state
// root is for whoever builds the tries. A Writer gives the same bytes for the same state.
package flatfile
