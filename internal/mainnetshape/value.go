package mainnetshape

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// Shares of the lengths of slot values, in percent: flags and small counters; amounts, times and
// numbers; packed fields; addresses; hashes, strings and balances of tokens with 18 decimals.
const (
	oneByte    = 30
	upTo9      = 40
	upTo19     = 10
	twenty     = 12
	codedShare = 10 // of the accounts without storage, the percentage that has code
)

// valueLen draws a length in bytes.
func valueLen(rng *rand.Rand) int {
	switch p := rng.IntN(100); {
	case p < oneByte:
		return 1
	case p < oneByte+upTo9:
		return 2 + rng.IntN(8)
	case p < oneByte+upTo9+upTo19:
		return 10 + rng.IntN(10)
	case p < oneByte+upTo9+upTo19+twenty:
		return 20
	}
	return 32
}

// appendValue appends the row of a random slot value: its RLP without leading zeros.
func appendValue(dst []byte, rng *rand.Rand) []byte {
	n := valueLen(rng)
	first := byte(1 + rng.IntN(255))
	if n > 1 || first >= 0x80 {
		dst = append(dst, 0x80+byte(n))
	}
	dst = append(dst, first)
	for n--; n >= 8; n -= 8 {
		dst = binary.BigEndian.AppendUint64(dst, rng.Uint64())
	}
	rest := rng.Uint64()
	for ; n > 0; n-- {
		dst, rest = append(dst, byte(rest)), rest>>8
	}
	return dst
}

// codeCount is the number of distinct codes: what is built does not depend on them.
const codeCount = 256

// code is the i-th code.
func code(i int) []byte {
	return binary.BigEndian.AppendUint64([]byte("code of the benchmark's state, number "), uint64(i))
}

func codeHashes() (h [codeCount]common.Hash) {
	for i := range h {
		h[i] = keccak.Sum(code(i))
	}
	return h
}

// randomAccount draws an account; its storage root is that of no storage. Contracts have nonce 1
// and mostly no balance, the others have sent up to 65,535 transactions and hold up to 1,000 ether
// or so; the account is never empty.
func (s *State) randomAccount(rng *rand.Rand, storage bool) state.Account {
	a := state.NewAccount()
	contract := storage || rng.IntN(100) < codedShare
	if contract {
		a.Nonce, a.CodeHash = 1, s.codes[rng.IntN(codeCount)]
	} else {
		a.Nonce = rng.Uint64() >> (48 + rng.IntN(16))
	}
	if !contract || rng.IntN(4) == 0 {
		a.Balance.SetUint64(1 + rng.Uint64()>>rng.IntN(60))
		a.Balance.Lsh(&a.Balance, uint(rng.IntN(7)))
	}
	return a
}
