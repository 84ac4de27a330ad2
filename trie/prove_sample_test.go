package trie_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
)

// provable is one trie twice: as rows and leaves, and as go-ethereum's.
type provable struct {
	*trietest.Trie
	geth *gethtrie.Trie
	root common.Hash
}

// newProvable takes leaves into both tries and compares the roots.
func newProvable(t testing.TB, leaves map[common.Hash][]byte) *provable {
	t.Helper()
	p := &provable{Trie: trietest.New(), geth: gethtrie.NewEmpty(nil)}
	for key, value := range leaves {
		p.SetLeaf(key, value)
		if err := p.geth.Update(key[:], value); err != nil {
			t.Fatal(err)
		}
	}
	root, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	p.root = p.geth.Hash()
	if root != p.root {
		t.Fatalf("root of %d leaves: got %x, go-ethereum has %x", len(leaves), root, p.root)
	}
	return p
}

// gethProof is go-ethereum's proof of a key; it gives no node for an empty trie.
func (p *provable) gethProof(t testing.TB, key common.Hash) [][]byte {
	t.Helper()
	var list trienode.ProofList
	if err := p.geth.Prove(key[:], &list); err != nil {
		t.Fatal(err)
	}
	nodes := make([][]byte, len(list))
	for i := range list {
		nodes[i] = list[i]
	}
	return nodes
}

// from returns the index of the first leaf at or behind key.
func (p *provable) from(key common.Hash) int {
	i, _ := slices.BinarySearchFunc(p.Keys(), key, common.Hash.Cmp)
	return i
}

// proofDB gives nodes to go-ethereum's verifiers.
func proofDB(nodes [][]byte) *trienode.ProofSet {
	db := trienode.NewProofSet()
	for _, raw := range nodes {
		_ = db.Put(crypto.Keccak256(raw), raw) // a map: never fails
	}
	return db
}

// shape makes keys and values of one kind.
type shape struct {
	name  string
	key   func(*rand.Rand) common.Hash
	value func(*rand.Rand) []byte
}

// shapes are the kinds of tries that proofs are tried on.
var shapes = []shape{
	{"hashed keys, account-sized values", randomKey, valueOf(70, 110)},
	{"hashed keys, slot-sized values", randomKey, valueOf(1, 33)},
	{"long shared prefixes, tiny values", clusteredKey, valueOf(1, 2)},
	{"long shared prefixes, account-sized values", clusteredKey, valueOf(70, 110)},
	{"keys that part in the last nibbles, tiny values", lastNibblesKey, valueOf(1, 2)},
	{"keys that part in the last nibbles, mixed values", lastNibblesKey, valueOf(1, 40)},
	{"one first nibble, slot-sized values", oneNibbleKey, valueOf(1, 33)},
}

func randomKey(rng *rand.Rand) (k common.Hash) {
	for i := range k {
		k[i] = byte(rng.Uint32())
	}
	return k
}

func oneNibbleKey(rng *rand.Rand) common.Hash {
	k := randomKey(rng)
	k[0] = k[0]&0x0f | 0x70
	return k
}

// clusteredKey has two possible nibbles at a few depths and zeros or f elsewhere.
func clusteredKey(rng *rand.Rand) (k common.Hash) {
	if rng.IntN(4) == 0 {
		k = common.MaxHash
	}
	for _, i := range [...]int{0, 1, 9, 17, 30, 31} {
		if rng.IntN(2) == 0 {
			k[i] ^= byte(rng.IntN(3)) << (4 * rng.IntN(2))
		}
	}
	return k
}

// lastNibblesKey has a few first nibbles and otherwise differs in the last three only.
func lastNibblesKey(rng *rand.Rand) (k common.Hash) {
	k[0] = byte(rng.IntN(3)) << 4
	k[30] = byte(rng.IntN(2))
	k[31] = byte(rng.Uint32())
	return k
}

func valueOf(least, below int) func(*rand.Rand) []byte {
	return func(rng *rand.Rand) []byte {
		return bytes.Repeat([]byte{byte(1 + rng.IntN(127))}, least+rng.IntN(below-least))
	}
}

// draw makes a trie of about n leaves of this shape.
func (s *shape) draw(t testing.TB, rng *rand.Rand, n int) *provable {
	leaves := make(map[common.Hash][]byte, n)
	for range n {
		leaves[s.key(rng)] = s.value(rng)
	}
	return newProvable(t, leaves)
}

// near returns a key beside k: the next or the one before, or one that parts from it somewhere.
func near(rng *rand.Rand, k common.Hash) common.Hash {
	switch rng.IntN(4) {
	case 0:
		return next(k)
	case 1:
		return previous(k)
	default:
		i := rng.IntN(len(k))
		k[i] ^= 1 << rng.IntN(8)
		return k
	}
}

// next is the key behind k, k itself for ff..ff.
func next(k common.Hash) common.Hash {
	if k == common.MaxHash {
		return k
	}
	for i := len(k) - 1; ; i-- {
		if k[i]++; k[i] != 0 {
			return k
		}
	}
}

// previous is the key before k, k itself for 00..00.
func previous(k common.Hash) common.Hash {
	if k == (common.Hash{}) {
		return k
	}
	for i := len(k) - 1; ; i-- {
		if k[i]--; k[i] != 0xff {
			return k
		}
	}
}
