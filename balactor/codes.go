package balactor

import (
	"hash/maphash"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// hashCodes sets the code hashes of targets: each code of the block is hashed once, however many
// accounts get it, and all of them together, in lanes.
func hashCodes(targets []messages.AccountTarget) {
	var (
		codes [][]byte
		of    []int32 // the code of each account with one
		seed  maphash.Seed
		known map[uint64]int32
	)
	for i := range targets {
		code := targets[i].Code
		if len(code) == 0 {
			continue
		}
		if known == nil {
			seed, known = maphash.MakeSeed(), map[uint64]int32{}
		}
		sum := maphash.Bytes(seed, code)
		at, ok := known[sum]
		if !ok || string(codes[at]) != string(code) {
			at = int32(len(codes))
			codes = append(codes, code)
			known[sum] = at
		}
		of = append(of, at)
	}
	if len(codes) == 0 {
		return
	}
	hashes := make([]common.Hash, len(codes))
	keccak.SumAll(hashes, codes)
	for i := range targets {
		if len(targets[i].Code) > 0 {
			targets[i].CodeHash = hashes[of[0]]
			of = of[1:]
		}
	}
}
