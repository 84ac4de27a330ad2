package trie_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

func TestVerifyProofRefusesAnyOtherProof(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range shapes {
		p := s.draw(t, rng, 60)
		for _, key := range p.Keys()[:20] {
			proof, err := trie.Prove(p, key)
			if err != nil {
				t.Fatal(err)
			}
			for what, bad := range spoiled(rng, proof) {
				if v, err := trie.VerifyProof(p.root, key, bad); !isBadProof(err) || v != nil {
					t.Errorf("%s, key %x, %s: got %x, %v", s.name, key, what, v, err)
				}
			}
			if _, err := trie.VerifyProof(common.Hash{1}, key, proof); !isBadProof(err) {
				t.Errorf("%s, key %x, another root: got %v", s.name, key, err)
			}
		}
	}
}

// spoiled returns proofs that differ from a good one in one respect.
func spoiled(rng *rand.Rand, proof [][]byte) map[string][][]byte {
	copied := func() [][]byte {
		c := make([][]byte, len(proof))
		for i := range proof {
			c[i] = bytes.Clone(proof[i])
		}
		return c
	}
	flip := copied()
	raw := flip[rng.IntN(len(flip))]
	raw[rng.IntN(len(raw))] ^= 1 << rng.IntN(8)
	short := copied()
	short[len(short)-1] = short[len(short)-1][:len(short[len(short)-1])-1]
	long := copied()
	long[0] = append(long[0], 0)
	out := map[string][][]byte{
		"none":             nil,
		"a flipped bit":    flip,
		"a byte too few":   short,
		"a byte too many":  long,
		"the last missing": copied()[:len(proof)-1],
		"the first again":  append(copied(), proof[0]),
		"an empty node":    append(copied(), nil),
		"behind a node":    append([][]byte{proof[len(proof)-1]}, proof...),
	}
	if len(proof) > 1 {
		out["the first missing"] = copied()[1:]
		swap := copied()
		swap[0], swap[1] = swap[1], swap[0]
		out["swapped"] = swap
	}
	return out
}

// list is the RLP of a list of items that are RLP already.
func list(items ...[]byte) []byte {
	var head []byte
	raw := bytes.Join(items, nil)
	switch payload := len(raw); {
	case payload <= 55:
		head = []byte{0xc0 + byte(payload)}
	case payload < 256:
		head = []byte{0xf8, byte(payload)}
	default:
		head = []byte{0xf9, byte(payload >> 8), byte(payload)}
	}
	return append(head, raw...)
}

func TestVerifyProofDecodesNodesStrictly(t *testing.T) {
	var (
		str = func(b ...byte) []byte {
			raw, _ := rlp.EncodeToBytes(b)
			return raw
		}
		hash    = str(bytes.Repeat([]byte{7}, 32)...)
		nothing = []byte{0x80}
		full    = func(children map[int][]byte, value []byte) []byte {
			items := make([][]byte, 17)
			for i := range items {
				items[i] = nothing
			}
			for x, c := range children {
				items[x] = c
			}
			items[16] = value
			return list(items...)
		}
		evenLeaf = append([]byte{0x20}, make([]byte, 32)...)
		two      = map[int][]byte{1: hash, 2: hash}
	)
	key := common.Hash{} // its nibbles are all zero
	good := map[string][]byte{
		"a leaf":               list(str(evenLeaf...), str(1)),
		"a leaf of 60 bytes":   list(str(evenLeaf...), str(bytes.Repeat([]byte{9}, 60)...)),
		"a branch":             full(two, nothing),
		"an extension past us": list(str(0x11), hash),
	}
	for what, raw := range good {
		if _, err := trie.VerifyProof(crypto.Keccak256Hash(raw), key, [][]byte{raw}); err != nil {
			t.Errorf("%s is refused: %v", what, err)
		}
	}
	longForm := append([]byte{0xf8, 0x23}, good["a leaf"][1:]...) // 35 bytes fit the short form
	bad := map[string][]byte{
		"no bytes":                        {},
		"a string":                        str(1, 2, 3),
		"an empty list":                   {0xc0},
		"a list of one":                   list(hash),
		"a list of three":                 list(str(evenLeaf...), str(1), str(1)),
		"a list of sixteen":               list(bytes.Repeat(nothing, 16)),
		"trailing bytes":                  append(bytes.Clone(good["a leaf"]), 0x80),
		"a truncated list":                good["a leaf"][:20],
		"the long form for a short list":  longForm,
		"a byte below 0x80 with a header": list(str(evenLeaf...), []byte{0x81, 0x05}),
		"a leaf without a value":          list(str(evenLeaf...), nothing),
		"a leaf whose value is a list":    list(str(evenLeaf...), []byte{0xc1, 0x01}),
		"a leaf a nibble short":           list(str(append([]byte{0x30}, evenLeaf[2:]...)...), str(1)),
		"a leaf a nibble long":            list(str(append([]byte{0x30}, evenLeaf[1:]...)...), str(1)),
		"an empty path":                   list(nothing, str(1)),
		"a path that is a list":           list([]byte{0xc0}, str(1)),
		"unknown flags":                   list(str(append([]byte{0x40}, evenLeaf[1:]...)...), str(1)),
		"padding in an even path":         list(str(append([]byte{0x21}, evenLeaf[1:]...)...), str(1)),
		"an extension of no nibbles":      list(str(0x00), hash),
		"an extension of 64 nibbles":      list(str(make([]byte, 33)...), hash),
		"an extension above nothing":      list(str(0x11), nothing),
		"an extension above 31 bytes":     list(str(0x11), str(make([]byte, 31)...)),
		"an extension above a leaf": list(str(0x11),
			list(str(append([]byte{0x30}, evenLeaf[2:]...)[:10]...), str(1))),
		"a branch of one child":        full(map[int][]byte{1: hash}, nothing),
		"a branch of none":             full(nil, nothing),
		"a branch with a value":        full(two, str(1)),
		"a branch with a short hash":   full(map[int][]byte{1: str(make([]byte, 31)...), 2: hash}, nothing),
		"a branch with a long hash":    full(map[int][]byte{1: str(make([]byte, 33)...), 2: hash}, nothing),
		"a branch with a byte":         full(map[int][]byte{1: {5}, 2: hash}, nothing),
		"an embedded node of 32 bytes": full(map[int][]byte{1: list(make([]byte, 31)), 2: hash}, nothing),
		"an embedded node of nothing":  full(map[int][]byte{1: {0xc0}, 2: hash}, nothing),
		"an embedded leaf too high":    full(map[int][]byte{1: list(str(0x35), str(1)), 2: hash}, nothing),
	}
	for what, raw := range bad {
		v, err := trie.VerifyProof(crypto.Keccak256Hash(raw), key, [][]byte{raw})
		if !isBadProof(err) || v != nil {
			t.Errorf("%s (%x): got %x, %v", what, raw, v, err)
		}
	}
}

func TestVerifyProofWantsShortNodesEmbedded(t *testing.T) {
	// An extension to the last nibble, then a branch of two leaves: short enough to be embedded.
	leaf := []byte{0xc2, 0x20, 0x01}
	branch := list(leaf, leaf, bytes.Repeat([]byte{0x80}, 15))
	if len(branch) >= 32 {
		t.Fatalf("the branch has %d bytes", len(branch))
	}
	path, err := rlp.EncodeToBytes(append([]byte{0x10}, make([]byte, 31)...))
	if err != nil {
		t.Fatal(err)
	}
	embedded := list(path, branch)
	value, err := trie.VerifyProof(crypto.Keccak256Hash(embedded), common.Hash{}, [][]byte{embedded})
	if err != nil || !bytes.Equal(value, []byte{1}) {
		t.Fatalf("embedded: got %x, %v", value, err)
	}
	ref, err := rlp.EncodeToBytes(crypto.Keccak256(branch))
	if err != nil {
		t.Fatal(err)
	}
	hashed := list(path, ref)
	_, err = trie.VerifyProof(crypto.Keccak256Hash(hashed), common.Hash{}, [][]byte{hashed, branch})
	if !isBadProof(err) {
		t.Errorf("a short node by its hash: got %v", err)
	}
}

func TestVerifyProofBoundsTheNumberOfNodes(t *testing.T) {
	proof := make([][]byte, 1<<16)
	if _, err := trie.VerifyProof(common.Hash{1}, common.Hash{}, proof); !isBadProof(err) {
		t.Errorf("got %v", err)
	}
}

// FuzzVerifyProof takes any bytes as the nodes of a proof whose hashes are right: nothing may
// panic, and what go-ethereum refuses is refused.
func FuzzVerifyProof(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range shapes {
		p := s.draw(f, rng, 30)
		proof, err := trie.Prove(p, p.Keys()[0])
		if err != nil {
			f.Fatal(err)
		}
		for _, raw := range proof {
			f.Add(raw, p.Keys()[0][:])
		}
	}
	f.Fuzz(func(t *testing.T, raw, k []byte) {
		key, root := common.BytesToHash(k), crypto.Keccak256Hash(raw)
		value, err := trie.VerifyProof(root, key, [][]byte{raw})
		if err != nil {
			if !isBadProof(err) {
				t.Fatalf("got %v", err)
			}
			return
		}
		want, err := gethtrie.VerifyProof(root, key[:], proofDB([][]byte{raw}))
		if root != trie.EmptyRoot && (err != nil || !bytes.Equal(value, want)) {
			t.Fatalf("accepted %x, go-ethereum says %x, %v", value, want, err)
		}
	})
}

func TestMutatedNodesNeverPassWhereGethRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, s := range shapes {
		p := s.draw(t, rng, 30)
		for range 800 {
			key := p.Keys()[rng.IntN(p.Len())]
			proof, err := trie.Prove(p, key)
			if err != nil {
				t.Fatal(err)
			}
			// Some node of a proof, changed, as the root of a trie of its own.
			raw := bytes.Clone(proof[rng.IntN(len(proof))])
			for range 1 + rng.IntN(3) {
				raw[rng.IntN(len(raw))] = byte(rng.Uint32())
			}
			root := crypto.Keccak256Hash(raw)
			value, err := trie.VerifyProof(root, key, [][]byte{raw})
			if err != nil {
				if !isBadProof(err) {
					t.Fatalf("%x: got %v", raw, err)
				}
				continue
			}
			want, err := gethtrie.VerifyProof(root, key[:], proofDB([][]byte{raw}))
			if err != nil || !bytes.Equal(value, want) {
				t.Fatalf("%x: accepted %x, go-ethereum says %x, %v", raw, value, want, err)
			}
		}
	}
}
