// Package state is the store: the flat state of a chain at one block, the branch rows of its tries,
// and what it takes to go a block forward or back. It is the only package that knows Pebble.
//
// # Rows
//
// One Pebble database holds every key space. Numbers are big endian, so that keys sort by them; a
// nibble path has one byte a nibble and stands last, without a terminator, so that the order of
// keys is the depth-first order of the trie.
//
//	a accountHash             slim account RLP: nonce, balance, storage root, code hash
//	s accountHash slotHash    RLP of the value, leading zeros trimmed; never zero
//	A path                    branch record of the account trie
//	S accountHash path        branch record of a storage trie
//	c codeHash                code
//	h number hash             header RLP
//	n hash                    number
//	b hash                    raw block access list
//	r number hash             reverse diff
//	m name                    schema version, chain id, cursor, phase; the manifest of a build
//	l number                  the log: an entry for each commit that no checkpoint includes
//
// Flat state is the truth. Leaves and extensions have no rows: they follow from the flat rows and
// from the paths of the branch rows.
//
// # A block
//
// The block access list is the redo log. Commit has three steps:
//
//   - the log: one small batch with header and raw access list, `l` with the next number;
//   - the overlay: the layer's rows become the newest in memory, and the cursor moves. The block is
//     acknowledged;
//   - the checkpoint, behind the blocks: after CheckpointBlocks blocks or CheckpointBytes bytes,
//     and on Close, the generation that holds their rows takes no more, and the next one begins.
//     What a key has last in it is written to tables, deletions too, which the database takes in by
//     one ingestion, with the cursor and the number of the last log entry that it includes. There
//     is no state between two checkpoints. The next commit removes the entries from the log.
//
// An acknowledgement means that the block is in the log: on the disk, or with NoSync on its way
// there. What a checkpoint has written is durable in both cases. A crash of the process loses
// nothing of what was synced; with NoSync the last blocks, each as a whole, unless a checkpoint has
// them.
//
// Revert takes the same way: its layer goes on the overlay, and the log says that the block is
// undone. So the log tells the branch that holds, below the last checkpoint too. A checkpoint
// writes what a key has last, so a store after a reorg equals one that never saw the other branch.
//
// Opened after a crash, a store stands at its last checkpoint. Logged lists what the log has beyond
// it, without blocks that were undone again; the owner, who can make layers of access lists,
// commits and reverts all of it again, which logs nothing twice, before the store takes anything
// else (ErrLogged). Then it is exactly at the last block that was acknowledged (invariant I1). A
// store opened read-only stands at the checkpoint.
//
// Blocks do not wait for a checkpoint, unless twice CheckpointBlocks or CheckpointBytes have
// collected while one runs: that bounds memory, at three times CheckpointBytes and a block, and
// what is done again after a crash. A checkpoint waits for compactions where too many tables lie on
// level 0. With CheckpointBlocks 1 every block waits for its own checkpoint.
//
// The log's key space lies beside those of the tables, so that an ingestion meets no key of a
// memtable and forces no flush. What a checkpoint has made superfluous is dropped when a memtable
// is flushed, so nearly nothing of the log comes into tables.
//
// # A build
//
// A Bulk makes a whole state from sorted tables, or all branch rows of a state again. While it is
// open, or was cut off, its manifest stands among the `m` rows:
//
//	mbuild                    format, kind (b or r), chain id, target cursor, source
//	mbt number                a table of branch rows: bytes, rows, first and last key
//	mbr from to               the storage tries of these accounts are finished
//	mbs account               the account's row gets this storage root
//	mbd account               slots without an account, which go
//
// The tables are files of the folder `build`, named after their numbers. Flat rows are in the
// database from the moment their table is full; the phase says that they are no state yet. A table
// of branch rows is synced, and its folder is, before the manifest names it. When a build goes on,
// a file without a row is removed, and a row without its file, or with one that fails its
// checksums, is removed with all ranges that the table has rows of.
//
// Commit first merges tables that overlap, then hands everything to Pebble in one ingestion that
// excises all branch rows and brings the new ones, corrected account rows, deletions of slots,
// header, cursor and phase, and the deletion of the manifest: one edit of Pebble's manifest. A
// crash leaves the store before it, which goes on, or the store behind it.
//
// # Reads
//
// A Snapshot is one consistent state, however many blocks follow. It does not slow writers down,
// but holds on to memory and to files: close it. A Reader is a Snapshot's fast side, for one
// goroutine: it keeps iterators that like to move forward.
//
// Rows written lately are in memory only, in generations, until tables hold them: at most two, and
// the branch rows of earlier ones stay longer, in a cache, because upper rows are written again and
// again. A Reader looks there first, by the whole key, and reads the rest from tables alone: seeks
// in Pebble's memtables would double the cost of a read. Each commit leaves its rows in order, as
// runs; a search for the first row below a path asks those and the tables, and takes the lesser.
// Iterators merge the same two. A generation has every version of a row, each with the number of
// its commit, so that a view sees those of its block. It covers what an ingestion changes below it,
// and is let go only once the next view sees the tables.
//
// # Damage at the end of the log
//
// Each log but the last is read strictly when a store opens: whatever is wrong in it is ErrCorrupt.
// In the last log a crash may have left a torn write, so reading ends where a chunk does not fit
// its checksum, unless a later chunk records that the log was synced beyond that place: then it is
// ErrCorrupt too. The chunk that was synced last has no such witness. If the medium damages that
// one, long after its sync, it looks like a torn write, and the store opens without the block in
// it. That is no breach of I1, which is about crashes, and the state is whole: it is that of the
// block before, and what is missing is applied again, from the network or from files.
//
// # Failure
//
// When Pebble can no longer write its log or its manifest it calls Logger.Fatalf or panics, and
// gives up its locks or keeps them, as it happens. Here no such error reaches Pebble: the file
// system handed to it parks the goroutine that met the error, for good, and the store counts as
// failed. A checkpoint whose tables cannot be written, three times in a row, fails the store as
// well. Options.OnFatal is called once; every later write returns ErrStoreFailed; what was
// acknowledged stays readable, and is in the log or in tables. The way on is to end the process and
// open the store again. Until then the directory stays locked.
package state
