// Package telemetry is what a process shows of itself: traces over OTLP and structured logs.
//
// It is the only importer of the OpenTelemetry SDK; everyone else speaks to the OpenTelemetry API
// with the names of this package. Setup sets no global: what it makes is handed on by value.
//
// Nothing here can hold up the engine: spans queue in a bounded queue that drops when it is full,
// a collector that is not there costs one warning and a count, and Shutdown ends by a deadline.
//
// A block's spans:
//
//	block.apply                 balsa.block.number, .hash, balsa.accounts, balsa.slots
//	├── bal.decode              strict decoding, structural rules, post-state
//	├── bal.warmup × jobs       reads of the parent's accounts and slots
//	├── storage.roots × jobs    storage tries of the accounts that the block changed
//	├── account.root            account trie, state root
//	└── state.commit            log, rows, cursor
package telemetry
