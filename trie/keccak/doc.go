// Package keccak hashes many messages with Keccak-256 at once, the hash of Ethereum (Yellow
// Paper, appendix G: Keccak with rate 1088 and the original padding 0x01, not that of FIPS 202).
//
// A trie has many nodes whose hashes do not depend on each other. Whoever builds one collects the
// nodes that are ready and hands them over in groups; [Hasher.Lanes] says how many a group should
// have to keep the implementation busy. Messages of one group may differ in length, but those
// that take the same number of 136-byte blocks run together best.
//
//	lanes  needs                              what it is
//	8      amd64 with AVX-512 F, BW, BMI2     avx512_amd64.s
//	4      amd64 with AVX2                    avx2_amd64.s
//	1      anything                           golang.org/x/crypto/sha3
//
// [New] takes the widest that the machine has. [NewLanes] and the environment variable named by
// [LanesVariable] force a lower one; the build tag purego leaves one lane. A kernel is used only
// after it has hashed some messages as x/crypto does, once in a process: if it does not, the next
// lower one is used.
//
// Messages that are scattered, or whose buffers have no room for padding, such as addresses, slots
// and codes, go through a [Batch], or through [SumAddresses], [SumSlots] and [SumAll].
//
// The assembly is written by programs in internal/asm (go generate), whose tests run them in an
// interpreter as well, on machines too that could not run them.
package keccak

//go:generate go run ./internal/asm
