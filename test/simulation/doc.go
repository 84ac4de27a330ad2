// Package simulation runs Balsa's real actors, over the real store, in a world where nothing
// happens by itself: one seed gives the workload, the order in which messages are delivered, and
// what fails when. The same seed gives the same run, to the last message (I8).
//
// # What is real
//
// The supervisor, the StorageActor and the BalApplyActor with their children, the kit of package
// actors, package state, Pebble, tries and lists. What is not: the mailboxes, which hand over one
// message at a time (scheduler.go); the clock (clock.go); the disk, which knows what of it was
// synced, and fails at the operation that it is told to (disk.go); and the embedder, which asks and
// keeps books (embedder.go, build.go).
//
// # What is checked
//
// A plain map of accounts and slots stands beside the store, and go-ethereum's StackTrie gives its
// root (world.go). At each quiet point every row of the store is compared with what that map says
// (rows.go), after a crash too; the store may then stand at any block between the last one that was
// acknowledged and the last one that was sent. Each request is answered once faults have stopped,
// within a bound of steps. Where no fault was injected there are no dead letters and no log lines
// of level error, and each block is applied by the first request for it.
//
// # Replaying
//
// A failure prints the command that gives it again. With -trace that command prints a line for each
// step; its legend comes first.
package simulation
