// Package conformance holds Balsa against facts that other programs produced: test vectors,
// recorded network packets, blocks and states of public chains. Its tests find them in the folder
// that BALSA_TESTDATA names ([Dir]) and skip where it is not set; what go-ethereum's module
// carries, such as the genesis states, needs no folder.
//
// No expected value here comes from Balsa: each is in the data, in a block header, or is a block
// hash that the chain is known by.
package conformance
