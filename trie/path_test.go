package trie_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

func TestPathsAreTheirNibbles(t *testing.T) {
	key := common.HexToHash("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	for n := range 65 {
		p := trie.PathOf(key, n)
		var q trie.Path
		for i := range n {
			if got := p.Nibble(i); got != byte(i%16) {
				t.Errorf("path of %d: nibble %d is %x", n, i, got)
			}
			q = q.Child(byte(i % 16))
		}
		if p != q || p.Len != n {
			t.Errorf("path of %d: %v, child by child %v", n, p, q)
		}
		if want := key.Hex()[2 : 2+n]; n > 0 && p.String() != want {
			t.Errorf("path of %d: %v, want %v", n, p, want)
		}
		if !p.HasKey(&key) || n > 0 && p.HasKey(&common.MaxHash) {
			t.Errorf("path of %d: keys below it are wrong", n)
		}
		for m := range 65 {
			if got := trie.PathOf(key, m).HasPrefix(p); got != (m >= n) {
				t.Errorf("path of %d has prefix of %d: %v", m, n, got)
			}
		}
	}
	if got := (trie.Path{}).String(); got != "root" {
		t.Errorf("the root is %q", got)
	}
	if trie.PathOf(key, 3).HasPrefix(trie.PathOf(common.MaxHash, 1)) {
		t.Error("a path has a prefix that it does not begin with")
	}
}

func TestPathsSortDepthFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 30))
	var paths []trie.Path
	for range 300 {
		key := common.Hash{byte(r.IntN(3)), byte(r.IntN(3)) << 4}
		paths = append(paths, trie.PathOf(key, r.IntN(5)))
	}
	slices.SortFunc(paths, trie.Path.Compare)
	nibbles := func(p trie.Path) []byte {
		var n []byte
		for i := range p.Len {
			n = append(n, p.Nibble(i))
		}
		return n
	}
	byNibbles := func(a, b trie.Path) int { return slices.Compare(nibbles(a), nibbles(b)) }
	if !slices.IsSortedFunc(paths, byNibbles) {
		t.Error("the order is not that of the nibbles")
	}
}
