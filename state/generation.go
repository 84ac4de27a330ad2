package state

import (
	"bytes"
	"encoding/binary"
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
	arenaChunkBytes = 256 << 10
	maxArenaChunks  = 12288 // 3 GB: more than the largest layer takes
	firstTableSlots = 1 << 10

	// A record is one version of one row: a head, the key and the value, at a multiple of
	// recordAlign bytes.
	recordAlign = 8
	recordHead  = 16
	// maxGenerationVal is the length of the longest value. The one above stands for a deleted row.
	maxGenerationVal = 1<<16 - 2
	deletedLen       = maxGenerationVal + 1
)

// generation holds the rows written in a span of commits, each with the number (seq) of its
// commit, in a hash table from whole keys to their versions, newest first. One goroutine writes;
// any number read, without locks: whatever a slot of the table leads to was complete before the
// slot was set, and never changes. There are no pointers per row, and no row is ever moved.
type generation struct {
	table atomic.Pointer[slotTable]
	arena [maxArenaChunks]*[arenaChunkBytes]byte
	// runs give the order of the rows in the key spaces that are searched in.
	runs [numSeekSpaces]runList
	// blocks has what is not in the table: rows too large for it, and few.
	blocks blockRows

	// The writer's own.
	commits int    // in it
	place   uint32 // of the record added last
	keys    int    // distinct keys
	pos     int    // bytes of arena given out
	last    uint64 // the newest commit
}

// slotTable is an open-addressing table. A slot has half of the key's hash in its upper half, and
// the place of its newest record in its lower one: bytes of arena / recordAlign. Zero is free.
type slotTable struct {
	slots []atomic.Uint64
}

// record is a record's head, its key and its value.
type record []byte

// A head is: seq 8 bytes, the place of the version before or 0 in 4, length of value 2, of key 1.
func (r record) seq() uint64   { return binary.LittleEndian.Uint64(r) }
func (r record) prev() uint32  { return binary.LittleEndian.Uint32(r[8:]) }
func (r record) vlen() int     { return int(binary.LittleEndian.Uint16(r[12:])) }
func (r record) klen() int     { return int(r[14]) }
func (r record) deleted() bool { return r.vlen() == deletedLen }
func (r record) key() []byte   { return r[recordHead : recordHead+r.klen()] }

func (r record) value() []byte {
	from := recordHead + r.klen()
	to := from + r.vlen()
	return r[from:to:to]
}

// size is the record's length in the arena.
func (r record) size() int {
	n := recordHead + r.klen()
	if !r.deleted() {
		n += r.vlen()
	}
	return alignRecord(n)
}

func alignRecord(n int) int { return (n + recordAlign - 1) &^ (recordAlign - 1) }

func newGeneration() *generation { return newGenerationOf(firstTableSlots) }

// newGenerationOf returns a generation whose table has room for half as many keys as slots, a power
// of two, before it grows.
func newGenerationOf(slots int) *generation {
	g := &generation{pos: recordAlign} // place 0 means none
	g.table.Store(&slotTable{slots: make([]atomic.Uint64, slots)})
	return g
}

// keySeed makes the hash of a key; it has no bearing on any result.
var keySeed = maphash.MakeSeed()

// hashKey is the hash that generations file a key under.
func hashKey(key []byte) uint32 { return uint32(maphash.Bytes(keySeed, key)) }

// record returns the record at a place, and whatever lies behind it in its chunk.
func (g *generation) record(place uint32) record {
	pos := uint64(place) * recordAlign
	return g.arena[pos/arenaChunkBytes][pos%arenaChunkBytes:]
}

// get returns the newest version of the row not after commit seq. The value stays valid and
// unchanged.
func (g *generation) get(hash uint32, key []byte, seq uint64) ([]byte, rowState) {
	for _, place := g.find(g.table.Load(), hash, key); place != 0; {
		r := g.record(place)
		switch {
		case r.seq() > seq:
			place = r.prev()
			continue
		case r.deleted():
			return nil, rowDeleted
		}
		return r.value(), rowPresent
	}
	return nil, rowUnknown
}

// find returns the key's slot and the place of its newest record, or a free slot and 0.
func (g *generation) find(t *slotTable, hash uint32, key []byte) (slot, place uint32) {
	mask := uint32(len(t.slots) - 1)
	for slot = hash & mask; ; slot = (slot + 1) & mask {
		s := t.slots[slot].Load()
		if s == 0 {
			return slot, 0
		}
		if uint32(s>>32) == hash && bytes.Equal(g.record(uint32(s)).key(), key) {
			return slot, uint32(s)
		}
	}
}

// put adds a version of a row: value, or its deletion. It reports false where the generation is
// full; nothing is added then. Only the writer calls it.
func (g *generation) put(key, value []byte, deleted bool, seq uint64) bool {
	return g.add(hashKey(key), key, value, deleted, seq)
}

func (g *generation) add(hash uint32, key, value []byte, deleted bool, seq uint64) bool {
	if deleted {
		value = nil
	}
	pos, ok := g.reserve(alignRecord(recordHead + len(key) + len(value)))
	if !ok || len(value) > maxGenerationVal {
		return false
	}
	place := uint32(pos / recordAlign)
	t := g.table.Load()
	slot, prev := g.find(t, hash, key)
	r := g.record(place)
	binary.LittleEndian.PutUint64(r, seq)
	binary.LittleEndian.PutUint32(r[8:], prev)
	r[14] = byte(len(key))
	vlen := len(value)
	if deleted {
		vlen = deletedLen
	}
	binary.LittleEndian.PutUint16(r[12:], uint16(vlen))
	copy(r[recordHead+copy(r[recordHead:], key):], value)
	g.last, g.place = seq, place
	t.slots[slot].Store(uint64(hash)<<32 | uint64(place))
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
	t := &slotTable{slots: make([]atomic.Uint64, 2*len(old.slots))}
	mask := uint32(len(t.slots) - 1)
	for j := range old.slots {
		s := old.slots[j].Load()
		if s == 0 {
			continue
		}
		slot := uint32(s>>32) & mask
		for t.slots[slot].Load() != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot].Store(s)
	}
	g.table.Store(t)
}

// runCost is what a row takes in a run.
const runCost = 12

// bytes is the memory that the rows, the table and the runs take.
func (g *generation) bytes() int {
	return g.pos + 8*len(g.table.Load().slots) + runCost*g.keys + g.blocks.bytes()
}

// room is what is left for records, at least.
func (g *generation) room() int { return maxArenaChunks*arenaChunkBytes - g.pos }

// absorb adds the newest version of every branch row of a generation later than all in g. It
// reports false where g is full; g is then of no more use.
func (g *generation) absorb(later *generation, pace func()) bool {
	from := later.table.Load()
	for j := range from.slots {
		s := from.slots[j].Load()
		if s == 0 {
			continue
		}
		r, hash := later.record(uint32(s)), uint32(s>>32)
		key := r.key()
		if key[0] != spaceAccountBranch && key[0] != spaceStorageBranch {
			continue
		}
		pace()
		ok := true
		if !r.deleted() {
			ok = g.add(hash, key, r.value(), false, r.seq())
		} else if _, known := g.find(g.table.Load(), hash, key); known != 0 {
			ok = g.add(hash, key, nil, true, r.seq())
		}
		if !ok {
			return false
		}
	}
	return true
}

// newestRows returns a generation with the newest versions of the rows that were added last, about
// as many bytes as given.
func (g *generation) newestRows(size int) *generation {
	t := g.table.Load()
	var rows []uint64 // as slots have them, oldest first
	for pos := recordAlign; pos < g.pos; {
		place := uint32(pos / recordAlign)
		r := g.record(place)
		if len(r) < recordHead || r.klen() == 0 { // the rest of a chunk
			pos += arenaChunkBytes - pos%arenaChunkBytes
			continue
		}
		pos += r.size()
		hash := hashKey(r.key())
		if _, newest := g.find(t, hash, r.key()); newest == place && !r.deleted() {
			rows = append(rows, uint64(hash)<<32|uint64(place))
		}
	}
	first := len(rows)
	for first > 0 && size > 0 {
		first--
		size -= g.record(uint32(rows[first])).size()
	}
	n := newGeneration()
	for _, s := range rows[first:] {
		r := g.record(uint32(s))
		n.add(uint32(s>>32), r.key(), r.value(), false, r.seq())
	}
	return n
}
