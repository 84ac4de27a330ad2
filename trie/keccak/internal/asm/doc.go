// Command asm writes the assembly of package keccak, from programs built with avo. It is run by
// go generate in trie/keccak. The tests are in the same package: that the files are what the
// programs render to, and that the programs, run by an interpreter instruction by instruction,
// hash as golang.org/x/crypto does, on machines too that cannot run the files.
//
// Nothing imports this package, so that only who generates or tests compiles avo.
package main
