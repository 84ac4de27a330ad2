package trie_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethdb"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

// answer is what a peer claims: these are the leaves from start to the last key.
type answer struct {
	start  common.Hash
	keys   []common.Hash
	values [][]byte
	proof  [][]byte
}

// verify asks VerifyRange.
func (a *answer) verify(root common.Hash) (more bool, err error) {
	return trie.VerifyRange(root, a.start, a.keys, a.values, a.proof)
}

// verifyGeth asks go-ethereum, whose panics count as refusals.
func (a *answer) verifyGeth(root common.Hash) (more bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	keys := make([][]byte, len(a.keys))
	for i := range a.keys {
		keys[i] = a.keys[i][:]
	}
	var db ethdb.KeyValueReader
	if len(a.proof) > 0 {
		db = proofDB(a.proof)
	}
	return gethtrie.VerifyRangeProof(root, a.start[:], keys, a.values, db)
}

// last is the end of what the answer claims.
func (a *answer) last() common.Hash {
	if len(a.keys) == 0 || len(a.proof) == 0 {
		return common.MaxHash
	}
	return a.keys[len(a.keys)-1]
}

// isTrue tells from the trie itself whether the claim holds.
func (p *provable) isTrue(a *answer, more bool) bool {
	i, j := p.from(a.start), p.from(next(a.last()))
	if a.last() == common.MaxHash {
		j = p.Len()
	}
	if len(a.proof) == 0 {
		i = 0
	}
	if i > j {
		return false // all leaves lie before the start
	}
	for n, k := range a.keys {
		if !bytes.Equal(p.Get(k), a.values[n]) {
			return false
		}
	}
	return slices.Equal(a.keys, p.Keys()[i:j]) && more == (j < p.Len())
}

// answer gives the n leaves from start on, or as many as there are, with go-ethereum's proof.
func (p *provable) answer(t testing.TB, start common.Hash, n int) *answer {
	t.Helper()
	i := p.from(start)
	a := &answer{start: start, keys: slices.Clone(p.Keys()[i:min(i+n, p.Len())])}
	for _, k := range a.keys {
		a.values = append(a.values, p.Get(k))
	}
	end := start
	if len(a.keys) > 0 {
		end = a.lastKey()
	}
	a.proof = p.gethProof(t, start)
	for _, raw := range p.gethProof(t, end) {
		if !slices.ContainsFunc(a.proof, func(b []byte) bool { return bytes.Equal(b, raw) }) {
			a.proof = append(a.proof, raw)
		}
	}
	return a
}

func (a *answer) lastKey() common.Hash { return a.keys[len(a.keys)-1] }

// checkRange proves and verifies the n leaves from start on.
func checkRange(t *testing.T, p *provable, start common.Hash, n int) {
	t.Helper()
	a := p.answer(t, start, n)
	end := start
	if len(a.keys) > 0 {
		end = a.lastKey()
	}
	ours, err := trie.ProveRange(p, start, end)
	if err != nil || !slices.EqualFunc(ours, a.proof, bytes.Equal) {
		t.Fatalf("nodes from %x to %x:\n got %x (%v)\nwant %x", start, end, ours, err, a.proof)
	}
	if len(a.keys) == 0 && p.from(start) < p.Len() {
		t.Fatal("the test asks for an empty range before the end")
	}
	more, err := a.verify(p.root)
	if err != nil || !p.isTrue(a, more) {
		t.Fatalf("%d leaves from %x to %x of %d: got %v, %v",
			len(a.keys), start, end, p.Len(), more, err)
	}
	if gethMore, err := a.verifyGeth(p.root); err != nil || gethMore != more {
		t.Fatalf("go-ethereum on %d leaves from %x: %v, %v", len(a.keys), start, gethMore, err)
	}
}

func TestRangesAreProvenAsGethDoes(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			for seed := range uint64(15) {
				rng := rand.New(rand.NewPCG(seed, 2))
				p := s.draw(t, rng, 1+rng.IntN(40))
				if seed == 14 && s.name == shapes[0].name {
					p = s.draw(t, rng, 1000)
				}
				for range 20 {
					start := s.key(rng)
					if k := p.Keys()[rng.IntN(p.Len())]; rng.IntN(3) > 0 {
						start = k
						if rng.IntN(2) == 0 {
							start = near(rng, k)
						}
					}
					checkRange(t, p, start, 1+rng.IntN(p.Len()+2))
				}
				first, last := p.Keys()[0], p.Keys()[p.Len()-1]
				checkRange(t, p, common.Hash{}, p.Len()) // all of it
				checkRange(t, p, common.Hash{}, 1)       // the first, with a gap before it
				checkRange(t, p, first, 1)
				checkRange(t, p, last, 1)
				checkRange(t, p, last, 2)
				checkRange(t, p, previous(last), 1)
				if last != common.MaxHash {
					checkRange(t, p, next(last), 5) // behind everything: no leaf
					checkRange(t, p, common.MaxHash, 5)
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func TestRangeWithoutProofIsTheWholeTrie(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, s := range shapes {
		for _, n := range []int{1, 2, 3, 50} {
			p := s.draw(t, rng, n)
			a := p.answer(t, common.Hash{}, p.Len())
			for _, proof := range [][][]byte{nil, {}} {
				a.proof = proof
				if more, err := a.verify(p.root); more || err != nil {
					t.Fatalf("%s, %d leaves: got %v, %v", s.name, n, more, err)
				}
			}
			a.keys, a.values = a.keys[1:], a.values[1:]
			if _, err := a.verify(p.root); !isBadProof(err) {
				t.Fatalf("%s, %d leaves, the first missing: got %v", s.name, n, err)
			}
		}
	}
}

func TestRangeOfAnEmptyTrie(t *testing.T) {
	key, value := []common.Hash{{1}}, [][]byte{{1}}
	for _, c := range []struct {
		name string
		a    answer
		ok   bool
	}{
		{"no leaf, no node", answer{}, true},
		{"no leaf, the empty node", answer{proof: [][]byte{{0x80}}}, true},
		{"no leaf, another node", answer{proof: [][]byte{{0xc0}}}, false},
		{"no leaf, two nodes", answer{proof: [][]byte{{0x80}, {0x80}}}, false},
		{"a leaf", answer{keys: key, values: value}, false},
		{"a leaf, the empty node", answer{keys: key, values: value, proof: [][]byte{{0x80}}}, false},
	} {
		more, err := c.a.verify(trie.EmptyRoot)
		if more || c.ok != (err == nil) || !c.ok && !isBadProof(err) {
			t.Errorf("%s: got %v, %v", c.name, more, err)
		}
	}
	a := answer{proof: [][]byte{{0x80}}}
	if _, err := a.verify(common.Hash{1}); !isBadProof(err) {
		t.Errorf("the empty node for another root: got %v", err)
	}
}

func TestRangeLeavesAreChecked(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	p := shapes[0].draw(t, rng, 50)
	good := p.answer(t, p.Keys()[10], 10)
	if more, err := good.verify(p.root); !more || err != nil {
		t.Fatalf("the good answer: %v, %v", more, err)
	}
	for _, c := range []struct {
		name  string
		spoil func(a *answer)
		want  error
	}{
		{"a key too many", func(a *answer) { a.keys = append(a.keys, common.MaxHash) },
			trie.ErrBadProof},
		{"a value too many", func(a *answer) { a.values = append(a.values, []byte{1}) },
			trie.ErrBadProof},
		{"keys swapped", func(a *answer) { a.keys[3], a.keys[4] = a.keys[4], a.keys[3] },
			trie.ErrKeyOrder},
		{"a key twice", func(a *answer) { a.keys[3] = a.keys[4] }, trie.ErrDuplicateKey},
		{"an empty value", func(a *answer) { a.values[3] = nil }, trie.ErrEmptyValue},
		{"a key below the start", func(a *answer) { a.start = next(a.start) }, trie.ErrBadProof},
		{"too many nodes", func(a *answer) {
			a.proof = append(a.proof, make([][]byte, 1<<16)...)
		}, trie.ErrBadProof},
	} {
		a := good.clone()
		c.spoil(a)
		if _, err := a.verify(p.root); !isBadProof(err) || !isErr(err, c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
		// The rules hold without a proof too.
		a.proof = nil
		if _, err := a.verify(p.root); !isBadProof(err) {
			t.Errorf("%s, without a proof: got %v", c.name, err)
		}
	}
}
