package mainnetshape

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
)

// keys makes uniformly distributed keys in ascending order. Their first eight bytes are the order
// statistics of as many random numbers, the rest is random.
type keys struct {
	rng  *rand.Rand
	at   uint64 // the first eight bytes of the last key
	left uint64 // keys to come
}

// next moves to the next key, of which there must be one left.
func (k *keys) next(key *common.Hash) {
	// The least of n numbers that are uniform below r is r(1 - u^(1/n)) for a uniform u, and
	// -ln u is exponential.
	room := math.MaxUint64 - k.at
	share := -math.Expm1(-k.rng.ExpFloat64() / float64(k.left))
	gap := uint64(float64(room>>1)*share) << 1 // half of it, as the whole of 2^64 is no uint64
	k.left--
	// Never the same number twice, and never so far that those to come have no room.
	k.at += min(max(gap, 1), room-k.left)
	binary.BigEndian.PutUint64(key[:8], k.at)
	for i := 8; i < len(key); i += 8 {
		binary.BigEndian.PutUint64(key[i:], k.rng.Uint64())
	}
}
