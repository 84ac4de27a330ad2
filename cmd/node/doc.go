// Command node, built as balsa, keeps an Ethereum state from block access lists.
//
//	balsa init --datadir DIR genesis.json
//	balsa import --datadir DIR state.leaves
//	balsa export --datadir DIR state.leaves
//	balsa rebuild --datadir DIR
//	balsa replay --datadir DIR payloads.jsonl.gz
//	balsa soak --datadir DIR payloads.jsonl.gz
//	balsa verify --datadir DIR
//	balsa status --datadir DIR --json
//	balsa fixtures DIR
//	balsa bench storage --scale 1/1000
//	balsa bench hash
//
// What a command found goes to standard output; logs and progress go to standard error. Each flag
// has a twin in the environment: --log.format is BALSA_LOG_FORMAT.
//
// Exit codes:
//
//	0  done
//	1  failed, or interrupted: run the same command again to go on
//	2  bad usage: an unknown command or flag, a missing argument or file
//	3  verification failed: a state root differs, the store contradicts itself, or a soak did not
//	   pass
//	4  the store cannot be used: missing, locked, foreign, of another schema, damaged, unfinished,
//	   or its directory is refused by the file system (no rights, read-only, no space, a bad path)
package main
