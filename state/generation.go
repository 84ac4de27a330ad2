package state

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"
)

// rowState is what the rows written lately say about a key.
type rowState byte

const (
	rowUnknown rowState = iota // not written lately
	rowDeleted
	rowPresent
)

const (
	arenaChunkBytes  = 256 << 10
	maxArenaChunks   = 4096 // 1 GB
	entryChunkLen    = 4096
	maxEntryChunks   = 4096 // 16 M rows
	firstTableSlots  = 1 << 10
	deletedLen       = 1<<16 - 1 // value length that stands for a deleted row
	maxGenerationVal = 1<<16 - 2
)

// generation holds the rows written in a span of commits, each with the number (seq) of its
// commit, in a hash table from whole keys to their versions, newest first. One goroutine writes;
// any number read, without locks: whatever a table slot leads to was complete before the slot was
// set, and never changes. Memory holds no pointers per row, and is never moved.
type generation struct {
	table   atomic.Pointer[slotTable]
	entries [maxEntryChunks]*[entryChunkLen]genEntry
	arena   [maxArenaChunks]*[arenaChunkBytes]byte

	// The writer's own.
	count int    // entries, the unused entry 0 among them
	keys  int    // distinct keys
	pos   int    // bytes of arena given out
	last  uint64 // the newest commit
}

// slotTable is an open-addressing table of entry numbers; 0 is a free slot.
type slotTable struct {
	slots []atomic.Uint32
}

// genEntry is one version of one row.
type genEntry struct {
	seq  uint64
	hash uint32 // upper half of the key's hash
	low  uint32 // lower half: the first slot to try
	prev uint32 // the entry with the version before, or 0
	pos  uint32 // of the key in the arena, the value behind it
	vlen uint16
	klen uint8
}

func newGeneration() *generation {
	g := &generation{count: 1}
	g.table.Store(&slotTable{slots: make([]atomic.Uint32, firstTableSlots)})
	return g
}

// keySeed makes the hash of a key; it has no bearing on any result.
var keySeed = maphash.MakeSeed()

func hashKey(key []byte) uint64 { return maphash.Bytes(keySeed, key) }

func (g *generation) entry(i uint32) *genEntry {
	return &g.entries[i/entryChunkLen][i%entryChunkLen]
}

func (g *generation) key(e *genEntry) []byte {
	off := e.pos % arenaChunkBytes
	return g.arena[e.pos/arenaChunkBytes][off : off+uint32(e.klen)]
}

func (g *generation) value(e *genEntry) []byte {
	off := e.pos%arenaChunkBytes + uint32(e.klen)
	end := off + uint32(e.vlen)
	return g.arena[e.pos/arenaChunkBytes][off:end:end]
}

// get returns the newest version of the row not after commit seq. The value stays valid and
// unchanged.
func (g *generation) get(hash uint64, key []byte, seq uint64) ([]byte, rowState) {
	_, i := g.find(g.table.Load(), hash, key)
	for ; i != 0; i = g.entry(i).prev {
		e := g.entry(i)
		switch {
		case e.seq > seq:
			continue
		case e.vlen == deletedLen:
			return nil, rowDeleted
		}
		return g.value(e), rowPresent
	}
	return nil, rowUnknown
}

// find returns the key's slot and newest entry, or a free slot and 0.
func (g *generation) find(t *slotTable, hash uint64, key []byte) (slot, entry uint32) {
	mask := uint32(len(t.slots) - 1)
	for slot = uint32(hash) & mask; ; slot = (slot + 1) & mask {
		i := t.slots[slot].Load()
		if i == 0 {
			return slot, 0
		}
		if e := g.entry(i); e.hash == uint32(hash>>32) && bytes.Equal(g.key(e), key) {
			return slot, i
		}
	}
}

// put adds a version of a row: value, or its deletion. It reports false where the generation is
// full; nothing is added then. Only the writer calls it.
func (g *generation) put(key, value []byte, deleted bool, seq uint64) bool {
	pos, ok := g.reserve(len(key) + len(value))
	if !ok || len(value) > maxGenerationVal || g.count == maxEntryChunks*entryChunkLen {
		return false
	}
	hash := hashKey(key)
	t := g.table.Load()
	slot, prev := g.find(t, hash, key)
	if g.count%entryChunkLen == 0 || g.count == 1 {
		g.entries[g.count/entryChunkLen] = new([entryChunkLen]genEntry)
	}
	i := uint32(g.count)
	g.count++
	e := g.entry(i)
	*e = genEntry{
		seq: seq, hash: uint32(hash >> 32), low: uint32(hash), prev: prev, pos: uint32(pos),
		vlen: uint16(len(value)), klen: uint8(len(key)),
	}
	copy(g.key(e), key)
	if deleted {
		e.vlen = deletedLen
	} else {
		copy(g.value(e), value)
	}
	g.last = seq
	t.slots[slot].Store(i)
	if prev == 0 {
		if g.keys++; 2*g.keys > len(t.slots) {
			g.grow(t)
		}
	}
	return true
}

// reserve finds n bytes of arena that do not straddle chunks.
func (g *generation) reserve(n int) (pos int, ok bool) {
	pos = g.pos
	if pos%arenaChunkBytes+n > arenaChunkBytes {
		pos += arenaChunkBytes - pos%arenaChunkBytes
	}
	chunk := pos / arenaChunkBytes
	if n > arenaChunkBytes || chunk >= maxArenaChunks {
		return 0, false
	}
	if g.arena[chunk] == nil {
		g.arena[chunk] = new([arenaChunkBytes]byte)
	}
	g.pos = pos + n
	return pos, true
}

// grow doubles the table. Readers go on with the old one, which has all they may see.
func (g *generation) grow(old *slotTable) {
	t := &slotTable{slots: make([]atomic.Uint32, 2*len(old.slots))}
	mask := uint32(len(t.slots) - 1)
	for j := range old.slots {
		i := old.slots[j].Load()
		if i == 0 {
			continue
		}
		slot := g.entry(i).low & mask
		for t.slots[slot].Load() != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot].Store(i)
	}
	g.table.Store(t)
}

// bytes is the memory that the rows take.
func (g *generation) bytes() int { return g.pos + g.count*32 }
