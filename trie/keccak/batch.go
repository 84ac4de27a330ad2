package keccak

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// Batch hashes messages that come one by one, in groups as large as its Hasher has lanes: those
// shorter than a block are copied, so that they need no room for padding and may be reused at once.
// A Batch is not safe for concurrent use, and allocates nothing after its first messages.
type Batch struct {
	h       Hasher
	ms      []Message
	buffers [][Rate]byte
}

// NewBatch returns a Batch over a Hasher, of which it is the only user; nil means New().
func NewBatch(h Hasher) *Batch {
	if h == nil {
		h = New()
	}
	group := max(h.Lanes(), 1)
	return &Batch{h: h, ms: make([]Message, 0, group), buffers: make([][Rate]byte, group)}
}

// Add adds a message. Its hash is in out after the next Flush, or before. Data of Rate bytes and
// more must not change until then; shorter data may.
func (b *Batch) Add(data []byte, out *common.Hash) {
	if len(data) < Rate {
		buf := &b.buffers[len(b.ms)]
		data = buf[:copy(buf[:], data)]
	}
	b.ms = append(b.ms, Message{Data: data, Out: (*[32]byte)(out)})
	if len(b.ms) == cap(b.ms) {
		b.Flush()
	}
}

// Flush hashes what was added.
func (b *Batch) Flush() {
	b.h.Hash(b.ms)
	clear(b.ms)
	b.ms = b.ms[:0]
}

var batches = sync.Pool{New: func() any { return NewBatch(nil) }}

// SumAll writes the Keccak-256 of each message of in to the same place of out, which must be at
// least as long. It is safe for concurrent use, and allocates nothing in steady state.
func SumAll(out []common.Hash, in [][]byte) {
	out = out[:len(in)]
	b := batches.Get().(*Batch)
	for i, data := range in {
		b.Add(data, &out[i])
	}
	b.finish()
}

// SumAddresses does as SumAll for addresses: the hashes are accounts' keys in the state trie.
func SumAddresses(out []common.Hash, in []common.Address) {
	out = out[:len(in)]
	b := batches.Get().(*Batch)
	for i := range in {
		b.Add(in[i][:], &out[i])
	}
	b.finish()
}

// SumSlots does as SumAll for slots: the hashes are their keys in a storage trie.
func SumSlots(out, in []common.Hash) {
	out = out[:len(in)]
	b := batches.Get().(*Batch)
	for i := range in {
		b.Add(in[i][:], &out[i])
	}
	b.finish()
}

// finish flushes a pooled batch and gives it back.
func (b *Batch) finish() {
	b.Flush()
	batches.Put(b)
}
