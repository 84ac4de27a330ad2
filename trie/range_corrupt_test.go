package trie_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

func isErr(err, want error) bool { return errors.Is(err, want) }

func (a *answer) clone() *answer {
	c := &answer{start: a.start, keys: slices.Clone(a.keys)}
	for _, v := range a.values {
		c.values = append(c.values, bytes.Clone(v))
	}
	for _, raw := range a.proof {
		c.proof = append(c.proof, bytes.Clone(raw))
	}
	return c
}

// corruption changes an answer in one way; it may leave it as it is where it cannot.
type corruption struct {
	name  string
	spoil func(rng *rand.Rand, p *provable, a *answer)
}

// insertLeaf puts a leaf where its key belongs.
func (a *answer) insertLeaf(key common.Hash, value []byte) {
	i, found := slices.BinarySearchFunc(a.keys, key, common.Hash.Cmp)
	if found {
		return
	}
	a.keys = slices.Insert(a.keys, i, key)
	a.values = slices.Insert(a.values, i, value)
}

func (a *answer) dropLeaf(i int) {
	a.keys = slices.Delete(a.keys, i, i+1)
	a.values = slices.Delete(a.values, i, i+1)
}

var corruptions = []corruption{
	{"nothing", func(*rand.Rand, *provable, *answer) {}},
	{"a bit of a node", func(rng *rand.Rand, _ *provable, a *answer) {
		raw := a.proof[rng.IntN(len(a.proof))]
		raw[rng.IntN(len(raw))] ^= 1 << rng.IntN(8)
	}},
	{"a bit of a key", func(rng *rand.Rand, _ *provable, a *answer) {
		if len(a.keys) > 0 {
			a.keys[rng.IntN(len(a.keys))][rng.IntN(32)] ^= 1 << rng.IntN(8)
		}
	}},
	{"a bit of a value", func(rng *rand.Rand, _ *provable, a *answer) {
		if len(a.values) > 0 {
			v := a.values[rng.IntN(len(a.values))]
			v[rng.IntN(len(v))] ^= 1 << rng.IntN(8)
		}
	}},
	{"a leaf dropped", func(rng *rand.Rand, _ *provable, a *answer) {
		if len(a.keys) > 0 {
			a.dropLeaf(rng.IntN(len(a.keys)))
		}
	}},
	{"the first leaf dropped", func(_ *rand.Rand, _ *provable, a *answer) {
		if len(a.keys) > 0 {
			a.dropLeaf(0)
		}
	}},
	{"the last leaf dropped", func(_ *rand.Rand, _ *provable, a *answer) {
		if len(a.keys) > 0 {
			a.dropLeaf(len(a.keys) - 1)
		}
	}},
	{"all leaves dropped", func(_ *rand.Rand, _ *provable, a *answer) {
		a.keys, a.values = nil, nil
	}},
	{"a foreign leaf", func(rng *rand.Rand, p *provable, a *answer) {
		near := near(rng, p.Keys()[rng.IntN(p.Len())])
		a.insertLeaf(near, []byte{1})
	}},
	{"a foreign leaf beside one of the range", func(rng *rand.Rand, _ *provable, a *answer) {
		if len(a.keys) > 0 {
			a.insertLeaf(near(rng, a.keys[rng.IntN(len(a.keys))]), []byte{1})
		}
	}},
	{"a leaf of the trie behind the range", func(rng *rand.Rand, p *provable, a *answer) {
		key := p.Keys()[rng.IntN(p.Len())]
		a.insertLeaf(key, p.Get(key))
	}},
	{"leaves swapped", func(rng *rand.Rand, _ *provable, a *answer) {
		if n := len(a.keys); n > 1 {
			i, j := rng.IntN(n), rng.IntN(n)
			a.keys[i], a.keys[j] = a.keys[j], a.keys[i]
		}
	}},
	{"values swapped", func(rng *rand.Rand, _ *provable, a *answer) {
		if n := len(a.keys); n > 1 {
			i, j := rng.IntN(n), rng.IntN(n)
			a.values[i], a.values[j] = a.values[j], a.values[i]
		}
	}},
	{"a node dropped", func(rng *rand.Rand, _ *provable, a *answer) {
		i := rng.IntN(len(a.proof))
		a.proof = slices.Delete(a.proof, i, i+1)
	}},
	{"all nodes dropped", func(_ *rand.Rand, _ *provable, a *answer) { a.proof = nil }},
	{"nodes shuffled", func(rng *rand.Rand, _ *provable, a *answer) {
		rng.Shuffle(len(a.proof), func(i, j int) {
			a.proof[i], a.proof[j] = a.proof[j], a.proof[i]
		})
	}},
	{"a node too many", func(rng *rand.Rand, p *provable, a *answer) {
		a.proof = append(a.proof, []byte{0xc0}, bytes.Clone(a.proof[0]))
	}},
	{"another start", func(rng *rand.Rand, _ *provable, a *answer) {
		a.start = near(rng, a.start)
	}},
	{"start at zero", func(_ *rand.Rand, _ *provable, a *answer) { a.start = common.Hash{} }},
	{"start at the first key", func(_ *rand.Rand, _ *provable, a *answer) {
		if len(a.keys) > 0 {
			a.start = a.keys[0]
		}
	}},
}

// TestCorruptRangesAreRefused spoils true answers and compares with go-ethereum and with the trie
// itself. What is accepted must be true of the trie. What go-ethereum accepts must be accepted. It
// may refuse what is accepted here, because it wants nodes that nothing hangs on: the range itself
// proves what lies below them (TestRangeNeedsNoNodeWhollyInside).
func TestCorruptRangesAreRefused(t *testing.T) {
	refused := make(map[string]int)
	lenient := make(map[string]int)
	for _, s := range shapes {
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 3))
			p := s.draw(t, rng, 1+rng.IntN(30))
			start := p.Keys()[rng.IntN(p.Len())]
			if rng.IntN(2) == 0 {
				start = near(rng, start)
			}
			good := p.answer(t, start, 1+rng.IntN(p.Len()))
			for _, c := range corruptions {
				a := good.clone()
				c.spoil(rng, p, a)
				more, err := a.verify(p.root)
				gethMore, gethErr := a.verifyGeth(p.root)
				if err != nil && !isBadProof(err) {
					t.Fatalf("%s, seed %d, %s: got %v", s.name, seed, c.name, err)
				}
				if err == nil && !p.isTrue(a, more) {
					t.Fatalf("%s, seed %d, %s: accepted what is false (more %v)",
						s.name, seed, c.name, more)
				}
				if gethErr == nil && (err != nil || more != gethMore) {
					t.Fatalf("%s, seed %d, %s: got %v, %v, go-ethereum accepts (more %v)",
						s.name, seed, c.name, more, err, gethMore)
				}
				if err != nil {
					refused[c.name]++
				} else if gethErr != nil {
					lenient[c.name]++
				}
			}
		}
	}
	for _, c := range corruptions {
		harmless := c.name == "nothing" || c.name == "nodes shuffled" || c.name == "a node too many"
		if harmless != (refused[c.name] == 0) {
			t.Errorf("%s: refused %d times", c.name, refused[c.name])
		}
		t.Logf("%-40s refused %4d, accepted against go-ethereum %4d",
			c.name, refused[c.name], lenient[c.name])
	}
}

func TestRangeNeedsNoNodeWhollyInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	p := shapes[0].draw(t, rng, 200)
	// The leaves from 00..00 on: the path to 00..00 lies inside the range, below the root.
	a := p.answer(t, common.Hash{}, 150)
	a.proof = p.gethProof(t, a.lastKey())
	if more, err := a.verify(p.root); !more || err != nil {
		t.Errorf("with the nodes on the path to the last key alone: %v, %v", more, err)
	}
	if _, err := a.verifyGeth(p.root); err == nil {
		t.Error("go-ethereum needs no path to the start any more: say so in VerifyRange")
	}
	for i := range a.proof {
		less := a.clone()
		less.proof = slices.Delete(less.proof, i, i+1)
		if _, err := less.verify(p.root); !isBadProof(err) {
			t.Errorf("without node %d on the path to the last key: %v", i, err)
		}
	}
}

// TestFalseRangesOfTinyTries tries every claim about every part of small tries: each subset of
// a few keys as the leaves, each start, with the nodes of the whole trie as the proof.
func TestFalseRangesOfTinyTries(t *testing.T) {
	candidates := []common.Hash{
		{}, {31: 0x01}, {0: 0x10}, {0: 0x10, 31: 0x10}, common.MaxHash,
	}
	values := [][]byte{{1}, bytes.Repeat([]byte{2}, 40)}
	subset := func(mask int, value []byte) (keys []common.Hash, leaves [][]byte) {
		for i, k := range candidates {
			if mask>>i&1 == 1 {
				keys, leaves = append(keys, k), append(leaves, value)
			}
		}
		return keys, leaves
	}
	accepted := 0
	for _, value := range values {
		for held := 1; held < 1<<len(candidates); held++ {
			leaves := make(map[common.Hash][]byte)
			keys, vs := subset(held, value)
			for i := range keys {
				leaves[keys[i]] = vs[i]
			}
			p := newProvable(t, leaves)
			proof := allNodes(t, p, candidates)
			for claimed := range 1 << len(candidates) {
				for _, start := range candidates {
					a := &answer{start: start, proof: proof}
					a.keys, a.values = subset(claimed, value)
					more, err := a.verify(p.root)
					if err == nil {
						accepted++
					}
					first := len(a.keys) == 0 || start.Cmp(a.keys[0]) <= 0
					truth := p.isTrue(a, true) || p.isTrue(a, false)
					if first && truth != (err == nil) || err == nil && !p.isTrue(a, more) {
						t.Fatalf("trie %x, claim %x from %x: got %v, %v", keys, a.keys, start,
							more, err)
					}
				}
			}
		}
	}
	if accepted == 0 {
		t.Fatal("no claim was accepted")
	}
}

// allNodes returns the nodes on the paths to all keys.
func allNodes(t *testing.T, p *provable, keys []common.Hash) (nodes [][]byte) {
	for _, k := range keys {
		for _, raw := range p.gethProof(t, k) {
			if !slices.ContainsFunc(nodes, func(b []byte) bool { return bytes.Equal(b, raw) }) {
				nodes = append(nodes, raw)
			}
		}
	}
	return nodes
}

// FuzzVerifyRange takes any bytes as two nodes of a proof, the hash of the first as the root, and
// one leaf at most: nothing may panic, and every refusal is an ErrBadProof.
func FuzzVerifyRange(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 3))
	for _, s := range shapes {
		p := s.draw(f, rng, 20)
		key := p.Keys()[p.Len()/2]
		a := p.answer(f, key, 1)
		f.Add(a.proof[0], a.proof[len(a.proof)-1], key[:], key[:], p.Get(key))
		f.Add(a.proof[0], []byte{}, key[:], []byte{}, []byte{})
	}
	f.Fuzz(func(t *testing.T, first, second, start, key, value []byte) {
		a := &answer{start: common.BytesToHash(start), proof: [][]byte{first, second}}
		if len(key) > 0 {
			a.keys, a.values = []common.Hash{common.BytesToHash(key)}, [][]byte{value}
		}
		root := crypto.Keccak256Hash(first)
		if _, err := a.verify(root); err != nil && !isBadProof(err) {
			t.Fatalf("got %v", err)
		}
	})
}
