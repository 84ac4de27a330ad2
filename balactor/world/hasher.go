package world

import (
	"hash"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/crypto/sha3"
)

// Hasher makes keys and code hashes: Keccak-256. It is used by one goroutine at a time.
type Hasher interface {
	Sum(data []byte) common.Hash
	// SumSlots hashes each of in to the same place of out.
	SumSlots(out, in []common.Hash)
	// SumAll hashes each of in to the same place of out.
	SumAll(out []common.Hash, in [][]byte)
}

// scalar hashes one message after the other.
type scalar struct {
	sponge interface {
		hash.Hash
		io.Reader
	}
	out common.Hash
}

// NewScalar returns a Hasher over golang.org/x/crypto, one message at a time.
func NewScalar() Hasher {
	s := &scalar{}
	s.sponge = sha3.NewLegacyKeccak256().(interface {
		hash.Hash
		io.Reader
	})
	return s
}

func (s *scalar) Sum(data []byte) common.Hash {
	s.sponge.Reset()
	s.sponge.Write(data)
	s.sponge.Read(s.out[:])
	return s.out
}

func (s *scalar) SumSlots(out, in []common.Hash) {
	for i := range in {
		out[i] = s.Sum(in[i][:])
	}
}

func (s *scalar) SumAll(out []common.Hash, in [][]byte) {
	for i := range in {
		out[i] = s.Sum(in[i])
	}
}
