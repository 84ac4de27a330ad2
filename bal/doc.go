// Package bal reads and writes block access lists (EIP-7928): the record, carried beside every
// block since Amsterdam, of all accounts and slots the block touched and of the values it left.
//
// Decode takes the RLP of a list to an [AccessList] and accepts exactly one encoding of each list
// and only lists that obey every rule that can be told from the list, the block's gas limit and
// its number of transactions. [AccessList.PostState] reduces a list to what the block leaves
// behind. [Hash] is what the block's header commits to. [Encode] is the inverse of Decode.
//
// # Shape
//
// EIP-7928, section "RLP Data Structures"; every level is an RLP list:
//
//	access list     = [account, ...]                      ascending address
//	account         = [address, storage_changes, storage_reads,
//	                   balance_changes, nonce_changes, code_changes]
//	storage_changes = [[slot, [[index, value], ...]], ...] ascending slot, then index
//	storage_reads   = [slot, ...]                          ascending slot
//	balance_changes = [[index, balance], ...]              ascending index
//	nonce_changes   = [[index, nonce], ...]                ascending index
//	code_changes    = [[index, code], ...]                 ascending index
//
// An address is a string of 20 bytes, a code a string of at most [MaxCodeSize]. The rest are
// integers, so their leading zeros are cut off: slot, value and balance have at most 32 bytes,
// a nonce 8, a block access index 4. Older texts of the EIP give slots and values as 32-byte
// strings and the index 2 bytes; go-ethereum and Ethereum's fixtures have what stands here.
//
// A block access index is 0 before the first transaction, i at the i-th of n transactions, and
// n + 1 after the last.
//
// # What is not checked
//
// That a list is well formed, and even that the state root derived from it is the header's, does
// not show that the block's transactions produce it: accounts or reads too many or too few, and
// values between the first and the last of a block, leave the root as it is. Only executing the
// block can tell.
//
// The package is pure: it keeps no state, starts no goroutine and reads no clock.
package bal
