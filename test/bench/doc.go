// Package bench measures Balsa beside go-ethereum, on one machine, in one process, on the same
// state: what a block costs, and what building all tries from flat rows costs.
//
// # Blocks
//
// The state has plain accounts and contracts with storage, as many as Sizes says. A block changes
// 1,000 balances and 10 slots in each of 200 contracts (other families: see Family). Both sides
// get the block as the bytes of its access list and the state root to reach, check the list,
// apply it, and keep the result on disk.
//
//	go test -run '^$' -bench Blocks -benchtime 1x -cpu 1 -timeout 60m -v ./test/bench
//
// -cpu is the number of cores both sides may use. The defaults are small, for a look; the sizes
// that claims are about are
//
//	BALSA_BENCH_ACCOUNTS=1000000 BALSA_BENCH_CONTRACTS=10000 BALSA_BENCH_SLOTS=100
//	BALSA_BENCH_BLOCKS=300
//
// with BALSA_BENCH_DIR on a real disk. All variables: see SizesFromEnv.
//
// # Peers
//
// go-ethereum has two ways to apply an access list without executing the block, and both are run:
//
//   - "statedb": core/state.StateDB.ApplyBlockAccessList and Commit over the path database, as
//     its parallel block processing does. The last 128 blocks and a buffer stay in memory; what
//     they cost to write shows in the columns "close" and "in all".
//   - "snap": flat rows and trie nodes of each block in one batch, as its snap/2 catch-up does
//     with the tries kept up to date. That function is not exported, so the peer here is written
//     anew over the same exported parts: package trie and core/rawdb.
//
// Neither waits for the disk; nor does Balsa where BALSA_BENCH_NOSYNC is set.
//
// The sides alternate by segments of some blocks, with a garbage collection before each. After a
// segment the run waits until the process has gone quiet, so that one side's compactions do not
// fall on the next; that time is the column "settle". "in all" is an average block with its share
// of settling and of the close, where statedb writes what it has kept in memory.
//
// # Tries
//
//	go test -run '^$' -bench Tries -benchtime 1x -cpu 2 -timeout 30m -v ./test/bench
//
// One flat state, distributed like mainnet's (package mainnetshape), is built by go-ethereum's
// triedb.GenerateTrie, as its snap/2 sync ends, and by balsa.Rebuild, in turn, for some rounds. The
// defaults are 300,000 accounts and 2 M slots; all variables: see FlatSizesFromEnv.
//
// Both are measured from opening a database that has the flat rows, with the right storage roots,
// in compacted tables and in the page cache, to having closed it with everything on the disk: both
// sync what they have written, go-ethereum once at the end, as GenerateTrie itself never does,
// Balsa each table and the step that makes them the state. go-ethereum starts without trie nodes,
// on a copy; Balsa's new rows take the place of the old ones. Both check the state root against
// StackTrie's. go-ethereum writes every node, Balsa the branches.
package bench
