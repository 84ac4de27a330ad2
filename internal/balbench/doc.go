// Package balbench measures the block phase: what Balsa takes to apply a block access list, beside
// go-ethereum and beside itself.
//
// A State is generated (Shape says of what size), its root is computed by go-ethereum's StackTrie,
// and each contestant gets a store of it: a base store is made once and cloned, tables by hard
// links. A Family makes the access lists of a chain of blocks on that state. They are made
// directly, not executed: both sides start from the list and the header, as a node does that
// trusts the root.
//
// # One run
//
// All contestants go through the same blocks, a segment each in turn. A round is one segment of
// everybody; every second round runs backwards, so that no contestant always has the same one
// before it. Before each segment there is a garbage collection and a wait until the process is
// quiet, so that one side's compactions do not fall on the next. What settling after a segment
// took is told apart, a block's share of it.
//
// A ratio is taken round by round (how many times as long the one side took for the segment that
// both had) and told as the median with its extremes. Where a path has two contestants, their
// ratio is the control: what lies within its range is noise.
//
// # Roots
//
// The headers' roots are go-ethereum's (StateDB over its path database), which applies each
// segment first and is timed as it does. Where it is left out, for states or families that it is
// too slow for, a scout gives them: an engine of its own store whose root for a header without one
// is taken from the rejection. Contestants get the finished headers, and one that comes to another
// root rejects the block, which fails the run.
package balbench
