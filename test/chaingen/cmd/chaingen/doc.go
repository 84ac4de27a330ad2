// Command chaingen makes a sample chain and writes it to files:
//
//	chaingen -family mix -seed 1 -blocks 300 -size 12 -out DIR
//
// DIR then has genesis.json, in geth's format, and payloads.jsonl.gz, one engine_newPayloadV5
// request a line; with -headers also headers.jsonl.gz, one {"header","blockAccessList"} a line.
// The same flags give the same content on any machine.
//
// Exit codes: 0 done, 1 failed, 2 bad usage.
package main
