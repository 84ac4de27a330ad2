// Package genesisfile reads the state that a store starts from: a genesis file as go-ethereum
// takes it, or an alloc (accounts by address) with the header of the block whose state it is.
//
// Files may be compressed with gzip. Accounts are read one by one, and what other readers would
// let pass is an error here: an address that comes twice in different spellings, a storage key or
// value longer than 32 bytes, a balance above 256 bits.
package genesisfile
