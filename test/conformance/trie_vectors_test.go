package conformance_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/test/conformance"
	"github.com/balsa-sync/balsa/trie/classic"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// vector is one case of the ethereum/tests TrieTests: operations and the root behind them.
type vector struct {
	name     string
	ops      []operation
	root     common.Hash
	anyOrder bool // the operations give the root in any order
}

type operation struct{ key, value []byte } // an empty value deletes

// loadVectors reads a file of TrieTests. Operations are a list of pairs, or an object where their
// order does not matter. trietestnextprev.json is left out: it holds no root, it asks a trie with
// raw keys for neighbours, which Balsa answers from flat state.
func loadVectors(t *testing.T, file string) (vs []vector) {
	t.Helper()
	var cases map[string]struct {
		In   json.RawMessage
		Root common.Hash
	}
	if err := json.Unmarshal(conformance.File(t, "trietests", file), &cases); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		v := vector{name: name, root: cases[name].Root, anyOrder: strings.Contains(file, "anyorder")}
		var pairs [][2]*string
		if v.anyOrder {
			var object map[string]string
			if err := json.Unmarshal(cases[name].In, &object); err != nil {
				t.Fatal(err)
			}
			for _, key := range slices.Sorted(maps.Keys(object)) {
				value := object[key]
				pairs = append(pairs, [2]*string{&key, &value})
			}
		} else if err := json.Unmarshal(cases[name].In, &pairs); err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			v.ops = append(v.ops, operation{vectorBytes(t, p[0]), vectorBytes(t, p[1])})
		}
		vs = append(vs, v)
	}
	return vs
}

// vectorBytes reads a string of the vectors: hex behind 0x, else its own bytes.
func vectorBytes(t *testing.T, s *string) []byte {
	t.Helper()
	if s == nil {
		return nil
	}
	if !strings.HasPrefix(*s, "0x") {
		return []byte(*s)
	}
	raw, err := hexutil.Decode(*s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// orders calls f with the operations in every order that must give the root; there are at most
// four operations where the order is free.
func (v *vector) orders(f func(ops []operation)) {
	if !v.anyOrder {
		f(v.ops)
		return
	}
	var permute func(done, rest []operation)
	permute = func(done, rest []operation) {
		if len(rest) == 0 {
			f(done)
		}
		for i := range rest {
			left := slices.Delete(slices.Clone(rest), i, i+1)
			permute(append(slices.Clone(done), rest[i]), left)
		}
	}
	permute(nil, v.ops)
}

// hashed returns the operations with hashed keys, as the secure vectors mean them.
func hashed(ops []operation) []operation {
	out := slices.Clone(ops)
	for i := range out {
		out[i].key = crypto.Keccak256(out[i].key)
	}
	return out
}

func classicRoot(ops []operation) common.Hash {
	tr := classic.New()
	for _, op := range ops {
		tr.Update(op.key, op.value)
	}
	return tr.Hash()
}

// builderRoot builds the trie at once from the leaves that the operations leave.
func builderRoot(t *testing.T, ops []operation) common.Hash {
	t.Helper()
	m := trietest.New()
	for _, op := range ops {
		m.SetLeaf(common.Hash(op.key), op.value)
	}
	root, err := m.Build()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// updaterRoot applies one operation after the other. After each, the rows must be those of a
// build from scratch.
func updaterRoot(t *testing.T, ops []operation) (root common.Hash) {
	t.Helper()
	m := trietest.New()
	for i, op := range ops {
		var err error
		root, err = m.Update(map[common.Hash][]byte{common.Hash(op.key): op.value})
		if err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
		fresh := trietest.New()
		for _, key := range m.Keys() {
			fresh.SetLeaf(key, m.Get(key))
		}
		want, err := fresh.Build()
		if err != nil {
			t.Fatalf("build after operation %d: %v", i, err)
		}
		if root != want || !maps.EqualFunc(m.Rows(), fresh.Rows(), bytes.Equal) {
			t.Fatalf("operation %d: rows or root %x differ from a build's, root %x", i, root, want)
		}
	}
	return root
}

func TestTrieVectors(t *testing.T) {
	roots := 0
	for _, file := range []string{"trietest.json", "trieanyorder.json"} {
		for _, v := range loadVectors(t, file) {
			roots++
			v.orders(func(ops []operation) {
				if got := classicRoot(ops); got != v.root {
					t.Errorf("%s %s: classic root %x, want %x", file, v.name, got, v.root)
				}
			})
		}
	}
	for _, file := range []string{"trietest_secureTrie.json", "trieanyorder_secureTrie.json"} {
		for _, v := range loadVectors(t, file) {
			roots++
			v.orders(func(ops []operation) {
				ops = hashed(ops)
				if got := classicRoot(ops); got != v.root {
					t.Errorf("%s %s: classic root %x, want %x", file, v.name, got, v.root)
				}
				if got := builderRoot(t, ops); got != v.root {
					t.Errorf("%s %s: built root %x, want %x", file, v.name, got, v.root)
				}
				if got := updaterRoot(t, ops); got != v.root {
					t.Errorf("%s %s: updated root %x, want %x", file, v.name, got, v.root)
				}
			})
		}
	}
	if roots != 22 { // 5 + 7 with raw keys, 3 + 7 with hashed ones
		t.Errorf("%d roots, want 22", roots)
	}
}

func TestTrieVectorsWithRaw32ByteKeys(t *testing.T) {
	checked := 0
	for _, v := range loadVectors(t, "trietest.json") {
		if slices.ContainsFunc(v.ops, func(op operation) bool { return len(op.key) != 32 }) {
			continue
		}
		checked++
		if got := builderRoot(t, v.ops); got != v.root {
			t.Errorf("%s: built root %x, want %x", v.name, got, v.root)
		}
		if got := updaterRoot(t, v.ops); got != v.root {
			t.Errorf("%s: updated root %x, want %x", v.name, got, v.root)
		}
	}
	if checked != 1 { // "jeff"
		t.Errorf("%d vectors have 32-byte keys, want 1", checked)
	}
}
