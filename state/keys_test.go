package state

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

func TestBranchKeysSortDepthFirst(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var base common.Hash
	r.Read(base[:])
	var ps []trie.Path
	for range 500 {
		k := base
		r.Read(k[r.Intn(32):])
		ps = append(ps, trie.PathOf(k, r.Intn(65)))
	}
	slices.SortFunc(ps, func(a, b trie.Path) int {
		return bytes.Compare(appendBranchKey(nil, &base, &a), appendBranchKey(nil, &base, &b))
	})
	for i := range ps {
		key := appendBranchKey(nil, nil, &ps[i])
		if p, err := parsePath(key[1:]); err != nil || p != ps[i] {
			t.Fatalf("%v parses as %v, %v", ps[i], p, err)
		}
		if i > 0 && ps[i-1].Compare(ps[i]) > 0 {
			t.Fatalf("%v before %v", ps[i-1], ps[i])
		}
	}
}

func TestParsePathRefusesWhatIsNoPath(t *testing.T) {
	for _, b := range [][]byte{{16}, {0, 255}, make([]byte, 65)} {
		if p, err := parsePath(b); err == nil {
			t.Errorf("%x is %v", b, p)
		}
	}
}

func TestKeysAreThoseOfTheDesign(t *testing.T) {
	h := common.Hash{0: 0xab, 31: 0xcd}
	p := trie.PathOf(h, 3)
	number := "\x00\x00\x00\x00\x00\x00\x01\x02"
	for want, got := range map[string][]byte{
		"a" + string(h[:]):                  appendHashKey(nil, spaceAccount, &h),
		"s" + string(h[:]) + string(h[:]):   appendSlotKey(nil, &h, &h),
		"A\x0a\x0b\x00":                     appendBranchKey(nil, nil, &p),
		"S" + string(h[:]) + "\x0a\x0b\x00": appendBranchKey(nil, &h, &p),
		"h" + number + string(h[:]):         appendNumberHashKey(nil, spaceHeader, 258, &h),
	} {
		if string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
