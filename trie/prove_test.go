package trie_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

// checkProof compares the proof of one key with go-ethereum's and verifies it with both.
func checkProof(t *testing.T, p *provable, key common.Hash) {
	t.Helper()
	proof, err := trie.Prove(p, key)
	if err != nil {
		t.Fatalf("prove %x: %v", key, err)
	}
	if want := p.gethProof(t, key); p.Len() > 0 && !slices.EqualFunc(proof, want, bytes.Equal) {
		t.Fatalf("proof of %x:\n got %x\nwant %x", key, proof, want)
	}
	value, err := trie.VerifyProof(p.root, key, proof)
	if err != nil || !bytes.Equal(value, p.Get(key)) || (value == nil) != (p.Get(key) == nil) {
		t.Fatalf("verify %x: got %x, %v, want %x", key, value, err, p.Get(key))
	}
	if p.Len() == 0 {
		return // go-ethereum has no proof of an empty trie
	}
	geths, err := gethtrie.VerifyProof(p.root, key[:], proofDB(proof))
	if err != nil || !bytes.Equal(geths, value) {
		t.Fatalf("go-ethereum on the proof of %x: %x, %v", key, geths, err)
	}
}

func TestProofsArePreciselyGeths(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			for seed := range uint64(15) {
				rng := rand.New(rand.NewPCG(seed, 1))
				p := s.draw(t, rng, rng.IntN(40))
				if seed == 14 && s.name == shapes[0].name {
					p = s.draw(t, rng, 1500)
				}
				keys := p.Keys()
				for range 30 {
					checkProof(t, p, s.key(rng))
					if len(keys) > 0 {
						key := keys[rng.IntN(len(keys))]
						checkProof(t, p, key)
						checkProof(t, p, near(rng, key))
					}
				}
				checkProof(t, p, common.Hash{})
				checkProof(t, p, common.MaxHash)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func TestProofOfAnEmptyTrieIsItsOneNode(t *testing.T) {
	proof, err := trie.Prove(trietest.New(), common.Hash{1})
	if err != nil || len(proof) != 1 || !bytes.Equal(proof[0], []byte{0x80}) {
		t.Fatalf("got %x, %v", proof, err)
	}
	for _, proof := range [][][]byte{nil, {}, {{0x80}}} {
		value, err := trie.VerifyProof(trie.EmptyRoot, common.Hash{1}, proof)
		if value != nil || err != nil {
			t.Errorf("proof %x: got %x, %v", proof, value, err)
		}
	}
	for _, proof := range [][][]byte{{{0xc0}}, {{0x80}, {0x80}}, {{}}} {
		if _, err := trie.VerifyProof(trie.EmptyRoot, common.Hash{1}, proof); !isBadProof(err) {
			t.Errorf("proof %x: got %v", proof, err)
		}
	}
}

func isBadProof(err error) bool { return errors.Is(err, trie.ErrBadProof) }

// faulty is a Reader that fails, or denies what the trie has.
type faulty struct {
	*trietest.Trie
	noBranch, noLeaf trie.Path // from this length on
	err              error
	wrongRow         bool
	wrongPath        bool
}

func (f *faulty) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	if f.noBranch.Len > 0 && p.Len >= f.noBranch.Len {
		return trie.Path{}, trie.Branch{}, false, f.err
	}
	if f.wrongPath {
		p = trie.Path{}
	}
	at, b, ok, err := f.Trie.FirstBranch(p)
	if f.wrongRow && at.Len > 0 {
		b.Refs = bytes.Clone(b.Refs)
		b.Refs[5]++
	}
	return at, b, ok, err
}

func (f *faulty) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	if f.noLeaf.Len > 0 && p.Len >= f.noLeaf.Len {
		return common.Hash{}, nil, false, f.err
	}
	return f.Trie.FirstLeaf(p)
}

func TestProveNamesWhatItsReaderLacks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	p := shapes[0].draw(t, rng, 200)
	key := p.Keys()[17]
	broken := errors.New("disk on fire")
	from := trie.Path{Len: 1}
	for _, c := range []struct {
		name string
		r    *faulty
		want error
	}{
		{"a branch is lacking", &faulty{noBranch: from}, trie.ErrMissingNode},
		{"a leaf is lacking", &faulty{noLeaf: from}, trie.ErrMissingNode},
		{"reading branches fails", &faulty{noBranch: from, err: broken}, broken},
		{"reading leaves fails", &faulty{noLeaf: from, err: broken}, broken},
		{"a row contradicts its parent", &faulty{wrongRow: true}, trie.ErrBadBranch},
		{"a row from elsewhere", &faulty{wrongPath: true}, trie.ErrBadBranch},
	} {
		c.r.Trie = p.Trie
		if proof, err := trie.Prove(c.r, key); !errors.Is(err, c.want) || proof != nil {
			t.Errorf("%s: got %d nodes, %v, want %v", c.name, len(proof), err, c.want)
		}
		if proof, err := trie.ProveRange(c.r, p.Keys()[16], key); !errors.Is(err, c.want) {
			t.Errorf("range, %s: got %d nodes, %v, want %v", c.name, len(proof), err, c.want)
		}
	}
}

func TestProofOfTwoEmbeddedLeaves(t *testing.T) {
	// Two keys that differ in the last nibble: extension, then a branch with two embedded leaves.
	a, b := common.Hash{31: 0x10}, common.Hash{31: 0x11}
	p := newProvable(t, map[common.Hash][]byte{a: {1}, b: {2}})
	for _, key := range []common.Hash{a, b, {31: 0x12}, {0: 1}, {31: 0x20}} {
		checkProof(t, p, key)
	}
	proof, err := trie.Prove(p, a)
	if err != nil || len(proof) != 1 {
		t.Fatalf("got %d nodes (%v), want the root alone", len(proof), err)
	}
}

func ExampleVerifyProof() {
	m := trietest.New()
	m.SetLeaf(common.Hash{0: 0x12}, []byte("first"))
	m.SetLeaf(common.Hash{0: 0x34}, []byte("second"))
	root, _ := m.Build()
	proof, _ := trie.Prove(m, common.Hash{0: 0x34})
	value, err := trie.VerifyProof(root, common.Hash{0: 0x34}, proof)
	fmt.Printf("%s %v\n", value, err)
	// Output: second <nil>
}
