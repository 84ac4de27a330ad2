package simulation

import (
	"encoding/binary"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Hashes are too far apart for a small state to have deep tries. So keys are taken from where they
// are not: pairs that were found by search, whose hashes share eight nibbles or more, where leaves
// are short enough to be embedded in their parent; and families that share three.
var (
	slotPairs = [][2]uint64{
		{247476, 515151}, {206212, 152389}, {244593, 196554}, {230897, 121908}, {228049, 246446},
		{177240, 114992}, {125299, 50541}, {173781, 15205}, {105566, 40364},
	}
	addressPairs = [][2]uint64{
		{54373, 178188}, {140897, 165729}, {223690, 56303}, {39529, 243908}, {187976, 55686},
		{59926, 66960}, {167009, 195490}, {21607, 149024},
	}
)

// key is something whose hash is a key of a trie.
type key[T any] struct {
	name T
	hash common.Hash
}

var (
	slotPool    = makePool(slotPairs, slotOf)
	addressPool = makePool(addressPairs, addressOf)
	slotHashes  = hashesOf(slotPool)
	addrHashes  = hashesOf(addressPool)
)

func slotOf(n uint64) (s common.Hash, raw []byte) {
	binary.BigEndian.PutUint64(s[24:], n)
	return s, s[:]
}

func addressOf(n uint64) (a common.Address, raw []byte) {
	binary.BigEndian.PutUint64(a[12:], n)
	return a, a[:]
}

// makePool gives keys: the pairs, eight families of hashes that share their first three nibbles,
// and some that have nothing in common.
func makePool[T any](pairs [][2]uint64, of func(uint64) (T, []byte)) (pool []key[T]) {
	add := func(n uint64) {
		name, raw := of(n)
		pool = append(pool, key[T]{name, crypto.Keccak256Hash(raw)})
	}
	for _, p := range pairs {
		add(p[0])
		add(p[1])
	}
	const searched, families, members = 6000, 8, 4
	byPrefix := map[uint16][]uint64{}
	var order []uint16
	for n := range uint64(searched) {
		_, raw := of(n + 1)
		h := crypto.Keccak256(raw)
		p := binary.BigEndian.Uint16(h) >> 4
		if byPrefix[p] = append(byPrefix[p], n+1); len(byPrefix[p]) == members {
			order = append(order, p)
		}
	}
	for _, p := range order[:families] {
		for _, n := range byPrefix[p][:members] {
			add(n)
		}
	}
	for n := range uint64(24) {
		add(1_000_000 + n)
	}
	return pool
}

func hashesOf[T comparable](pool []key[T]) map[T]common.Hash {
	m := make(map[T]common.Hash, len(pool))
	for _, k := range pool {
		m[k.name] = k.hash
	}
	return m
}

// byHash sorts the keys of a map by their hashes.
func byHash[T comparable, V any](m map[T]V, hashes map[T]common.Hash) []T {
	names := make([]T, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b T) int { return hashes[a].Cmp(hashes[b]) })
	return names
}
