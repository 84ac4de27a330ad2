package trie_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
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

// str is the RLP of a byte string.
func str(b ...byte) []byte {
	raw, err := rlp.EncodeToBytes(b)
	if err != nil {
		panic(err)
	}
	return raw
}

var (
	aHash   = str(bytes.Repeat([]byte{7}, 32)...)
	nothing = str()
	// keyZero is the hex-prefix path of the key 00..00 from the root, as a leaf has it.
	keyZero = append([]byte{0x20}, make([]byte, 32)...)
)

// keyed is a leaf or an extension whose path has another first byte than keyZero, and ends so many
// bytes earlier.
func keyed(flags byte, fewer int, item []byte) []byte {
	return list(str(append([]byte{flags}, keyZero[1+fewer:]...)...), item)
}

// full is a branch with two children, hashes where none are given.
func full(child, value []byte) []byte {
	items := bytes.Repeat(nothing, 16)
	if child == nil {
		child = aHash
	}
	return list(items[:1], child, aHash, items[3:], value)
}

func TestVerifyProofDecodesNodesStrictly(t *testing.T) {
	leaf := keyed(0x20, 0, str(1))
	for what, raw := range map[string][]byte{
		"a leaf":               leaf,
		"a leaf of 60 bytes":   keyed(0x20, 0, str(bytes.Repeat([]byte{9}, 60)...)),
		"a branch":             full(nil, nothing),
		"an extension past us": list(str(0x11), aHash),
	} {
		proof := [][]byte{raw}
		if _, err := trie.VerifyProof(crypto.Keccak256Hash(raw), common.Hash{}, proof); err != nil {
			t.Errorf("%s is refused: %v", what, err)
		}
	}
	longForm := append([]byte{0xf8}, leaf...) // the length fits into the first byte
	longForm[1] = byte(len(leaf) - 1)
	for _, c := range []struct {
		what string
		raw  []byte
		want string // in the error
	}{
		{"no bytes", nil, "unexpected EOF"},
		{"a string", str(1, 2, 3), "expected List"},
		{"an empty list", list(), "neither 2 nor 17"},
		{"a list of one", list(aHash), "neither 2 nor 17"},
		{"a list of three", list(aHash, aHash, aHash), "neither 2 nor 17"},
		{"a list of sixteen", list(bytes.Repeat(nothing, 16)), "neither 2 nor 17"},
		{"trailing bytes", append(bytes.Clone(leaf), 0x80), "trailing bytes"},
		{"a truncated list", leaf[:20], "exceeds"},
		{"the long form for a short list", longForm, "non-canonical"},
		{"a byte with a header", keyed(0x20, 0, []byte{0x81, 5}), "non-canonical"},
		{"a leaf without a value", keyed(0x20, 0, nothing), "without a value"},
		{"a leaf whose value is a list", keyed(0x20, 0, list(str(1))), "without a value"},
		{"a leaf a nibble short", keyed(0x30, 1, str(1)), "not 32 bytes"},
		{"a leaf a nibble long", keyed(0x30, 0, str(1)), "not 32 bytes"},
		{"an empty path", list(nothing, str(1)), "flags"},
		{"a path that is a list", list(list(), str(1)), "expected String"},
		{"unknown flags", keyed(0x40, 0, str(1)), "flags"},
		{"padding in an even path", keyed(0x21, 0, str(1)), "padding"},
		{"an extension of no nibbles", list(str(0), aHash), "no nibbles"},
		{"an extension of 64 nibbles", keyed(0x00, 0, aHash), "past the key's end"},
		{"an extension above nothing", list(str(0x11), nothing), "above nothing"},
		{"an extension above 31 bytes", list(str(0x11), str(make([]byte, 31)...)), "neither a hash"},
		{"an extension above a leaf", keyed(0x00, 2, list(str(0x20, 0, 0), str(1))), "no branch"},
		{"a branch of one child", full(nothing, nothing), "fewer than two"},
		{"a branch with a value", full(nil, str(1)), "with a value"},
		{"a branch with a short hash", full(str(make([]byte, 31)...), nothing), "neither a hash"},
		{"a branch with a long hash", full(str(make([]byte, 33)...), nothing), "neither a hash"},
		{"a branch with a byte", full([]byte{5}, nothing), "neither a hash"},
		{"an embedded node of 32 bytes", full(list(make([]byte, 31)), nothing), "neither a hash"},
		{"an embedded node of nothing", full(list(), nothing), "neither 2 nor 17"},
		{"an embedded leaf too high", full(list(str(0x35), str(1)), nothing), "not 32 bytes"},
	} {
		v, err := trie.VerifyProof(crypto.Keccak256Hash(c.raw), common.Hash{}, [][]byte{c.raw})
		if !isBadProof(err) || v != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s (%x): got %x, %v", c.what, c.raw, v, err)
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
