package classic_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"pgregory.net/rapid"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/classic"
	"github.com/balsa-sync/balsa/trie/trietest"
)

// rows gives a trie whose records package trie wrote.
type rows struct {
	*trietest.Trie
	leavesRead int
	damage     func(path []byte, r *classic.Record) (there bool)
}

func (s *rows) Branch(prefix []byte) (path []byte, r classic.Record, ok bool, err error) {
	p, b, ok, err := s.FirstBranch(pathOf(prefix))
	if err != nil || !ok {
		return nil, r, false, err
	}
	for i := range p.Len {
		path = append(path, p.Nibble(i))
	}
	r = classic.Record{Mask: b.Mask, Sub: b.Sub, Refs: b.Refs}
	if s.damage != nil {
		ok = s.damage(path, &r)
	}
	return path, r, ok, nil
}

func (s *rows) Leaf(prefix []byte) (common.Hash, []byte, bool, error) {
	s.leavesRead++
	return s.FirstLeaf(pathOf(prefix))
}

func pathOf(nibbles []byte) (p trie.Path) {
	for _, x := range nibbles {
		p = p.Child(x)
	}
	return p
}

// closeKeys fork at both ends and in the middle, so that there are extensions, deep branches and
// embedded nodes; a few are like hashes.
func closeKeys() *rapid.Generator[common.Hash] {
	return rapid.Custom(func(t *rapid.T) (key common.Hash) {
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			return crypto.Keccak256Hash([]byte{rapid.Byte().Draw(t, "n")})
		}
		key[0] = rapid.SampledFrom([]byte{0x00, 0x01, 0xf0}).Draw(t, "first")
		key[15] = rapid.SampledFrom([]byte{0x00, 0x80}).Draw(t, "middle")
		key[30] = rapid.SampledFrom([]byte{0x00, 0x10}).Draw(t, "late")
		key[31] = rapid.SampledFrom([]byte{0x00, 0x01, 0x02, 0x13, 0xff}).Draw(t, "last")
		return key
	})
}

func values() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.ByteRange(1, 0x7f), 1, 1),
		rapid.SliceOfN(rapid.ByteRange(0x81, 0xff), 1, 40),
	)
}

// gethRoot is go-ethereum's root of the leaves.
func gethRoot(t interface{ Fatal(...any) }, leaves *trietest.Trie) common.Hash {
	g := gethtrie.NewEmpty(nil)
	for _, key := range leaves.Keys() {
		if err := g.Update(key[:], leaves.Get(key)); err != nil {
			t.Fatal(err)
		}
	}
	return g.Hash()
}

// draw makes a trie with up to n keys.
func draw(t *rapid.T, n int) (*rows, common.Hash) {
	s := &rows{Trie: trietest.New()}
	for range rapid.IntRange(0, n).Draw(t, "keys") {
		s.SetLeaf(closeKeys().Draw(t, "key"), values().Draw(t, "value"))
	}
	root, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

// drawChanges makes the new values of some keys, nil of those that go.
func drawChanges(t *rapid.T, s *rows) map[common.Hash][]byte {
	after := map[common.Hash][]byte{}
	if rapid.IntRange(0, 9).Draw(t, "all go") == 0 {
		for _, key := range s.Keys() {
			after[key] = nil
		}
		return after
	}
	for range rapid.IntRange(0, 12).Draw(t, "changes") {
		var key common.Hash
		if keys := s.Keys(); len(keys) > 0 && rapid.Bool().Draw(t, "of a key") {
			key = rapid.SampledFrom(keys).Draw(t, "there")
		} else {
			key = closeKeys().Draw(t, "key")
		}
		after[key] = nil
		if rapid.Bool().Draw(t, "set") {
			after[key] = values().Draw(t, "value")
		}
	}
	return after
}

func sortedKeys(m map[common.Hash][]byte) []common.Hash {
	var keys []common.Hash
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, common.Hash.Cmp)
	return keys
}

func TestStoredTriesWithChangesGiveGethsRoots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, root := draw(t, 25)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			after := drawChanges(t, s)
			tr, err := classic.Open(root, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range rapid.Permutation(sortedKeys(after)).Draw(t, "order") {
				if err := tr.Change(key, s.Get(key), after[key]); err != nil {
					t.Fatal(err)
				}
				if got, err := tr.Get(key); err != nil || !bytes.Equal(got, after[key]) {
					t.Fatalf("%x is %x, %v; want %x", key, got, err, after[key])
				}
			}
			got, err := tr.Hash()
			if err != nil {
				t.Fatal(err)
			}
			for key, value := range after {
				s.SetLeaf(key, value)
			}
			if want := gethRoot(t, s.Trie); got != want {
				t.Fatalf("root of %d keys: got %x, go-ethereum has %x", s.Len(), got, want)
			}
			if root, err = s.Build(); err != nil || root != got {
				t.Fatalf("package trie has %x, %v; got %x", root, err, got)
			}
			for _, key := range s.Keys() {
				if got, err := tr.Get(key); err != nil || !bytes.Equal(got, s.Get(key)) {
					t.Fatalf("%x is %x, %v; want %x", key, got, err, s.Get(key))
				}
			}
		}
	})
}

func TestAStoredTrieWithoutChangesKeepsItsRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, root := draw(t, 25)
		tr, err := classic.Open(root, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range s.Keys() {
			if err := tr.Change(key, s.Get(key), s.Get(key)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := tr.Hash(); err != nil || got != root {
			t.Fatalf("got %x, %v; want %x", got, err, root)
		}
	})
}

func TestAChangeThatBeginsElsewhereIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, root := draw(t, 25)
		tr, err := classic.Open(root, s)
		if err != nil {
			t.Fatal(err)
		}
		key := closeKeys().Draw(t, "key")
		if keys := s.Keys(); len(keys) > 0 && rapid.Bool().Draw(t, "of a key") {
			key = rapid.SampledFrom(keys).Draw(t, "there")
		}
		before := values().Draw(t, "before")
		if bytes.Equal(before, s.Get(key)) {
			before = nil
		}
		var after []byte
		if rapid.Bool().Draw(t, "set") {
			after = values().Draw(t, "after")
		}
		if err := tr.Change(key, before, after); !errors.Is(err, classic.ErrStale) {
			t.Fatalf("%x from %x, which is %x: %v", key, before, s.Get(key), err)
		}
		if _, err := tr.Hash(); !errors.Is(err, classic.ErrStale) {
			t.Fatalf("afterwards: %v", err)
		}
	})
}

// Whatever is wrong with a record, the trie says so or did not need it: it never has another root.
func TestDamagedRecordsAreNeverPassedOver(t *testing.T) {
	faults := 0
	rapid.Check(t, func(t *rapid.T) {
		s, root := draw(t, 25)
		after := drawChanges(t, s)
		at := rapid.IntRange(0, 6).Draw(t, "which record")
		kind := rapid.IntRange(0, 5).Draw(t, "damage")
		bit := rapid.IntRange(0, 1<<12).Draw(t, "bit")
		s.damage = func(_ []byte, r *classic.Record) bool {
			if at--; at != -1 {
				return true
			}
			return damaged(r, kind, bit)
		}
		var got common.Hash
		tr, err := classic.Open(root, s)
		if err == nil {
			for _, key := range sortedKeys(after) {
				if err = tr.Change(key, s.Get(key), after[key]); err != nil {
					break
				}
			}
			if err == nil {
				got, err = tr.Hash()
			}
		}
		if at < 0 && err == nil && kind < 5 {
			t.Fatalf("damage %d of a record that was read shows nowhere", kind)
		}
		if err != nil {
			faults++
			if !errors.Is(err, classic.ErrContradiction) {
				t.Fatal(err)
			}
			return
		}
		for key, value := range after {
			s.SetLeaf(key, value)
		}
		if want := gethRoot(t, s.Trie); got != want {
			t.Fatalf("root %x, go-ethereum has %x", got, want)
		}
	})
	if faults == 0 {
		t.Error("no damage was met")
	}
}

// damaged changes a record, and reports whether it is still there.
func damaged(r *classic.Record, kind, bit int) bool {
	r.Refs = bytes.Clone(r.Refs)
	switch kind {
	case 0:
		return false
	case 1:
		r.Refs[bit/8%len(r.Refs)] ^= 1 << (bit % 8)
	case 2:
		r.Refs = r.Refs[:len(r.Refs)-1]
	case 3:
		r.Refs = append(r.Refs, byte(bit))
	case 4:
		r.Mask ^= 1 << (bit % 16)
	case 5: // shows only where the child is asked for
		r.Sub ^= 1 << (bit % 16)
	}
	return true
}

func TestDamagedLeavesAreNeverPassedOver(t *testing.T) {
	key := func(i byte) common.Hash { return crypto.Keccak256Hash([]byte{i}) }
	for name, damage := range map[string]func(*rows){
		"another value": func(s *rows) { s.SetLeaf(key(1), []byte{2}) },
		"none":          func(s *rows) { s.SetLeaf(key(1), nil) },
	} {
		s := &rows{Trie: trietest.New()}
		s.SetLeaf(key(1), []byte{1})
		s.SetLeaf(key(2), []byte{1})
		root, err := s.Build()
		if err != nil {
			t.Fatal(err)
		}
		damage(s)
		tr, err := classic.Open(root, s)
		if err != nil {
			t.Fatal(err)
		}
		// The removal leaves the damaged leaf alone, and so reads it.
		err = tr.Change(key(2), []byte{1}, nil)
		if !errors.Is(err, classic.ErrContradiction) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARootThatTheSourceDoesNotHaveIsRefused(t *testing.T) {
	s := &rows{Trie: trietest.New()}
	for i := range byte(5) {
		if _, err := classic.Open(common.Hash{1}, s); !errors.Is(err, classic.ErrContradiction) {
			t.Errorf("%d leaves: %v", i, err)
		}
		if _, err := classic.Open(types.EmptyRootHash, s); err != nil {
			t.Errorf("the empty root: %v", err)
		}
		s.SetLeaf(crypto.Keccak256Hash([]byte{i}), []byte{1})
		if _, err := s.Build(); err != nil {
			t.Fatal(err)
		}
	}
}

var errSource = errors.New("the disk is gone")

type failing struct{ classic.Source }

func (failing) Branch([]byte) ([]byte, classic.Record, bool, error) {
	return nil, classic.Record{}, false, errSource
}

func TestASourcesErrorIsTheTries(t *testing.T) {
	if _, err := classic.Open(common.Hash{1}, failing{}); !errors.Is(err, errSource) {
		t.Error(err)
	}
}

// A leaf that a change touches is known by the value that it begins with, and is not read.
func TestTouchedLeavesAreNotRead(t *testing.T) {
	s := &rows{Trie: trietest.New()}
	for i := range 1000 {
		s.SetLeaf(crypto.Keccak256Hash([]byte(fmt.Sprint(i))), []byte{1, 2})
	}
	root, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := classic.Open(root, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		key := crypto.Keccak256Hash([]byte(fmt.Sprint(i)))
		if err := tr.Change(key, []byte{1, 2}, []byte{3, 4}); err != nil {
			t.Fatal(err)
		}
		s.SetLeaf(key, []byte{3, 4})
	}
	if got, err := tr.Hash(); err != nil || got != gethRoot(t, s.Trie) {
		t.Errorf("root %x, %v", got, err)
	}
	if s.leavesRead != 0 {
		t.Errorf("%d leaves read", s.leavesRead)
	}
}
