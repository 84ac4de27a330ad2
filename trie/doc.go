// Package trie builds, updates, proves and verifies the Merkle-Patricia tries of Ethereum's state
// (Yellow Paper, appendix D) whose keys are 32-byte hashes: the account trie and the storage tries.
//
// Only branch nodes are stored, as rows keyed by their nibble path ([Branch]). Leaves are the flat
// state itself and extensions follow from the paths of the branches around them, so a trie with
// one leaf has no row at all. A [Reader] gives a trie as it stands; a [Sink] takes the rows that a
// build or an update makes.
//
// # One builder
//
// A [Builder] takes a sorted stream of items: leaves, references of untouched children, and
// untouched branches. A full build is a stream of leaves; an update ([Updater]) is a walk over the
// rows that changes touch, which streams the changed leaves and everything beside them as
// references. A branch of the result exists where two neighbours of the stream part, so an item is
// attached one nibble below the longer of the prefixes that it shares with its two neighbours: one
// item of look-ahead is all the builder needs, and splits, collapses and extensions need no case
// of their own.
//
// # Parts
//
// The ranges of one trie can be built side by side, each by its own builder: [Builder.EndPart]
// leaves the top of a range, which [Builder.AddPart] adds to the trie that joins them. Any ranges
// will do that are each all keys below some prefix, of whatever lengths: the joined trie has the
// same root and rows as one built in one go. [Updater.UpdatePart] and [Updater.JoinParts] do the
// same with the changed children of a root.
//
// # Structure and hashing
//
// The sizes of all nodes are known before any hash is: a reference is 33 bytes or an embedded node
// without hashes in it. So a closed node leaves a gap in its parent's encoding, waits until its
// children have filled theirs, and joins a queue of nodes with the same number of Keccak blocks.
// The queues run in groups over all tries of a builder, each hash written straight into the
// parent's encoding. Leaves of one block, most nodes by far, have a smaller ring of their own.
// [Builder.Flush] runs what is left. The pool of nodes is bounded; where it
// runs out, the queues are drained.
//
// # Errors
//
// Errors belong to one trie. A trie that fails (keys out of order, an empty value, a failing Sink
// or Reader, rows that contradict each other) gives its error at End or Update, or, where a Sink
// fails after that, at Flush and [Builder.Err]; every other trie of the same builder is unharmed.
// Rows that a failed trie has already given to the Sink are void: the caller drops them by the tag.
package trie
