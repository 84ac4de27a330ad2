// Package endtoend tests the engine as an embedder uses it, and the binary as a user runs it.
//
// Generated chains are applied from their block access lists, rewound and applied again, on real
// file systems and in memory, and the state is compared with go-ethereum's, account by account and
// slot by slot. Blocks written by hand hold each rule of the post-state and each reason to reject
// a list against a state that is written beside them, with the root that go-ethereum gives it.
// Crashes come before every single operation on the disk, and kill -9 in the middle of a replay.
package endtoend
