package trie_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
)

// rowOf makes a row: mask, sub, references.
func rowOf(mask, sub uint16, refs ...[]byte) []byte {
	row := []byte{byte(mask), byte(mask >> 8), byte(sub), byte(sub >> 8)}
	return append(row, slices.Concat(refs...)...)
}

var (
	hashRef = append([]byte{0xa0}, bytes.Repeat([]byte{0x5a}, 32)...)
	// The rest of a key as a leaf at depth 63 has it (one nibble), and the value 1.
	leafRef = []byte{0xc2, 0x35, 0x01}
	// An extension of two nibbles above a branch with two such leaves.
	extensionRef = slices.Concat([]byte{0xd7, 0x82, 0x00, 0x12}, branchRef)
	branchRef    = slices.Concat([]byte{0xd3, 0xc2, 0x20, 0x01, 0xc2, 0x20, 0x02}, make80(13))
)

func make80(n int) []byte { return bytes.Repeat([]byte{0x80}, n) }

func TestDecodeBranchTakesWhatAppendToWrites(t *testing.T) {
	for _, row := range [][]byte{
		rowOf(0x8001, 0, hashRef, hashRef),
		rowOf(0xffff, 0xffff, bytes.Repeat(hashRef, 16)),
		rowOf(0x0013, 0x0002, leafRef, hashRef, leafRef),
		rowOf(0x0500, 0x0500, extensionRef, extensionRef),
	} {
		b, err := trie.DecodeBranch(row)
		if err != nil {
			t.Errorf("row %x: %v", row, err)
			continue
		}
		if got := b.AppendTo([]byte{9}); !bytes.Equal(got[1:], row) || b.Len() != len(row) {
			t.Errorf("row %x: written as %x, length %d", row, got[1:], b.Len())
		}
	}
}

func TestBranchRefGivesEachChild(t *testing.T) {
	b, err := trie.DecodeBranch(rowOf(0x8012, 0x0010, leafRef, hashRef, hashRef))
	if err != nil {
		t.Fatal(err)
	}
	want := map[byte][]byte{1: leafRef, 4: hashRef, 15: hashRef}
	for x := range byte(20) {
		if got := b.Ref(x); !bytes.Equal(got, want[x]) {
			t.Errorf("child %d: %x, want %x", x, got, want[x])
		}
	}
	b.Refs = b.Refs[:len(b.Refs)-1]
	if got := b.Ref(15); got != nil {
		t.Errorf("child cut short: %x", got)
	}
}

func TestDecodeBranchRefusesWhatIsNoRow(t *testing.T) {
	cases := map[string][]byte{
		"nothing":                        {},
		"masks cut short":                {3, 0, 0},
		"no child":                       rowOf(0, 0),
		"one child":                      rowOf(4, 0, hashRef),
		"sub of an absent child":         rowOf(3, 4, hashRef, hashRef),
		"a reference too few":            rowOf(7, 0, hashRef, hashRef),
		"a reference too many":           rowOf(3, 0, hashRef, hashRef, hashRef),
		"a byte too many":                rowOf(3, 0, hashRef, hashRef, []byte{0}),
		"reference cut short":            rowOf(3, 0, hashRef, hashRef[:32]),
		"absent child":                   rowOf(3, 0, hashRef, []byte{0x80}),
		"empty list":                     rowOf(3, 0, hashRef, []byte{0xc0}),
		"list of 32 bytes":               rowOf(3, 0, hashRef, append([]byte{0xdf}, make80(31)...)),
		"short string":                   rowOf(3, 0, hashRef, []byte{0x82, 1, 2}),
		"embedded list cut short":        rowOf(3, 0, hashRef, leafRef[:2]),
		"embedded node of one item":      rowOf(3, 0, hashRef, []byte{0xc1, 0x35}),
		"embedded node of three items":   rowOf(3, 0, hashRef, []byte{0xc3, 0x35, 1, 1}),
		"embedded item cut short":        rowOf(3, 0, hashRef, []byte{0xc3, 0x35, 0x82, 1}),
		"embedded item not canonical":    rowOf(3, 0, hashRef, []byte{0xc3, 0x35, 0x81, 1}),
		"embedded item of a long string": rowOf(3, 0, hashRef, []byte{0xc3, 0x35, 0xb8, 1}),
		"embedded path is a list":        rowOf(3, 0, hashRef, []byte{0xc3, 0xc1, 0x35, 1}),
		"embedded path is empty":         rowOf(3, 0, hashRef, []byte{0xc2, 0x80, 1}),
		"embedded path without a flag":   rowOf(3, 0, hashRef, []byte{0xc2, 0x45, 1}),
		"... nor one that says branch":   rowOf(3, 2, hashRef, []byte{0xc2, 0x45, 1}),
		"leaf said to have a row":        rowOf(3, 2, hashRef, leafRef),
		"extension said to have no row":  rowOf(3, 0, hashRef, extensionRef),
		"branch said to have no row":     rowOf(3, 0, hashRef, branchRef),
		"more than any row has":          rowOf(0xffff, 0, bytes.Repeat(hashRef, 17)),
	}
	for name, row := range cases {
		if _, err := trie.DecodeBranch(row); !errors.Is(err, trie.ErrBadBranch) {
			t.Errorf("%s: %v, want %v", name, err, trie.ErrBadBranch)
		}
	}
}

func FuzzDecodeBranch(f *testing.F) {
	f.Add(rowOf(3, 0, hashRef, leafRef))
	f.Add(rowOf(0x8001, 0x8000, hashRef, extensionRef))
	f.Add(rowOf(0xffff, 1, bytes.Repeat(hashRef, 16)))
	f.Fuzz(func(t *testing.T, row []byte) {
		b, err := trie.DecodeBranch(row)
		if err != nil {
			return
		}
		if got := b.AppendTo(nil); !bytes.Equal(got, row) {
			t.Fatalf("row %x is written as %x", row, got)
		}
		var refs []byte
		for x := range byte(16) {
			refs = append(refs, b.Ref(x)...)
		}
		if !bytes.Equal(refs, b.Refs) {
			t.Fatalf("row %x: references one by one are %x", row, refs)
		}
		u := trie.NewBuilder(trie.Options{})
		u.Begin(0)
		if err := u.Subtree(trie.Path{}, b); err != nil {
			t.Fatalf("row %x is no branch: %v", row, err)
		}
		if _, err := u.End(); err != nil {
			t.Fatal(err)
		}
	})
}
