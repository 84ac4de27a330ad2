package bal

import (
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// Hash returns the Keccak-256 of an encoded list, which the block's header holds as its block
// access list hash (EIP-7928, "Block Structure Modification").
func Hash(raw []byte) common.Hash { return keccak.Sum(raw) }
