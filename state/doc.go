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
//
// Flat state is the truth. Leaves and extensions have no rows: they follow from the flat rows and
// from the paths of the branch rows.
//
// # A block
//
// Commit has three steps, as separate functions: the log (header, number, raw access list), the
// overlay (the rows become the newest in memory) and the checkpoint (flat rows, branch rows, code,
// reverse diff and cursor). There is a checkpoint at every block, so log and checkpoint travel in
// one atomic, synced batch: after a crash the store is exactly at the last block it holds, and
// every acknowledged block is in it (invariant I1). Commit compares the cursor that the caller
// expects with the one that stands, and writes nothing where they differ.
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
// Rows written lately are kept in memory, in generations, until the tables that Pebble has written
// hold them too; the branch rows among them stay longer, in a cache, because upper rows are written
// again and again. A Reader looks there first, by the whole key, and reads the rest from tables
// alone: seeks in Pebble's memtables would double the cost of a read. A search for the first row
// below a path may fall between the two; it then goes through an iterator that sees everything.
//
// # Damage at the end of the log
//
// Each log but the last is read strictly when a store opens: whatever is wrong in it is ErrCorrupt.
// In the last log a crash may have left a torn write, so reading ends where a chunk does not fit
// its checksum, unless a later chunk records that the log was synced beyond that place: then it is
// ErrCorrupt too. The chunk that was synced last has no such witness. If the medium damages that
// one, long after its sync, it looks like a torn write, and the store opens with the cursor of an
// older block. That is no breach of I1, which is about crashes, and the state is whole: it is that
// of the older block, and the blocks after it are applied again, from the network or from files.
//
// # Failure
//
// When Pebble can no longer write its log or its manifest it calls Logger.Fatalf or panics, and
// gives up its locks or keeps them, as it happens. Here no such error reaches Pebble: the file
// system handed to it parks the goroutine that met the error, for good, and the store counts as
// failed. Options.OnFatal is called once; every later write returns ErrStoreFailed; what was
// acknowledged stays readable. The way on is to end the process and open the store again. Until
// then the directory stays locked.
package state
