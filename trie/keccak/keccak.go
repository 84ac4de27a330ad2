package keccak

import (
	"hash"
	"io"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/crypto/sha3"
)

// Rate is the number of message bytes that one permutation absorbs.
const Rate = 136

// Message is one message and the place of its hash.
type Message struct {
	// Data is the message. Its capacity should be at least PaddedLen(len(Data)), or the message is
	// hashed alone. A hasher may pad it in place, so that the bytes between its length and the
	// padded length are undefined afterwards. (Those of this package read them, and write nothing.)
	Data []byte
	// Out receives the hash. It must not overlap the Data of a message of the same call; it may
	// overlap the memory behind Data that is read as its padding.
	Out *[32]byte
}

// Hasher hashes groups of messages. A Hasher is not safe for concurrent use; it holds no
// reference to a message after Hash has returned.
type Hasher interface {
	// Hash writes the Keccak-256 of every message to its Out. Any number of messages, of any
	// lengths, is correct; multiples of Lanes with equal block counts are fast.
	Hash(ms []Message)
	// Lanes is the number of messages that are hashed side by side, at least 1.
	Lanes() int
}

// New returns a Hasher with as many lanes as the machine has and the environment variable
// [LanesVariable] allows.
func New() Hasher { return NewLanes(defaultLanes()) }

// NewLanes returns the widest Hasher that has at most n lanes, with one lane if n is less. It
// does not look at the environment.
func NewLanes(n int) Hasher {
	for _, lanes := range Widths() {
		if lanes > 1 && lanes <= n {
			return newWide(lanes)
		}
	}
	return &scalar{newSponge()}
}

// PaddedLen is the length of a message of n bytes after padding: the next multiple of Rate above n.
func PaddedLen(n int) int { return (n/Rate + 1) * Rate }

// Sum returns the Keccak-256 of the concatenation of data. It is safe for concurrent use.
func Sum(data ...[]byte) common.Hash {
	s := sums.Get().(*sum)
	s.sponge.Reset()
	for _, d := range data {
		s.sponge.Write(d)
	}
	s.sponge.Read(s.out[:])
	h := s.out
	sums.Put(s)
	return h
}

// sponge is the state behind x/crypto's Keccak: Read squeezes without a copy of the state.
type sponge interface {
	hash.Hash
	io.Reader
}

func newSponge() sponge { return sha3.NewLegacyKeccak256().(sponge) }

// sum keeps the hash beside the state, as what a sponge writes to is on the heap.
type sum struct {
	sponge sponge
	out    common.Hash
}

var sums = sync.Pool{New: func() any { return &sum{sponge: newSponge()} }}

type scalar struct{ s sponge }

func (*scalar) Lanes() int { return 1 }

func (h *scalar) Hash(ms []Message) {
	for i := range ms {
		h.one(&ms[i])
	}
}

func (h *scalar) one(m *Message) {
	h.s.Reset()
	h.s.Write(m.Data)
	h.s.Read(m.Out[:])
}
