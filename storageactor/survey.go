package storageactor

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/trie"
)

// surveyor finds prefixes that have all keys of a trie below them, none with many more leaves than
// a part aims at. It looks at what is there: it goes down from the prefix that all keys share, and
// on where a child is still too large, so that it is right for any distribution of keys. Sizes are
// estimated from the density of the first keys below a child, as hashes are spread evenly; where
// they are not, a part turns out larger, and whoever builds it hands it back to be surveyed again.
type surveyor struct {
	cursor cursor
	leaves int // that a part aims at
	most   int // parts
	parts  []sizedPath
}

// sizedPath is a prefix with the number of leaves that seem to be below it.
type sizedPath struct {
	path   trie.Path
	leaves int
}

// sampleKeys is how many keys are read to estimate how many there are: the estimate is then off by
// an eighth, as a rule.
const sampleKeys = 64

// split finds the parts below p: at least two, but where there are fewer than two keys.
func (s *surveyor) split(p trie.Path) error {
	first, ok, err := s.first(p.Key, p)
	if err != nil || !ok {
		return err
	}
	depth, err := s.shared(p, first)
	if err != nil {
		return err
	}
	if depth == 2*common.HashLength {
		s.parts = append(s.parts, sizedPath{p, 1})
		return nil
	}
	branch := trie.PathOf(first, depth)
	for x := range byte(16) {
		child := branch.Child(x)
		n, err := s.size(child)
		switch {
		case err != nil:
			return err
		case n > s.leaves && len(s.parts) < s.most && child.Len < 2*common.HashLength:
			if err := s.split(child); err != nil {
				return err
			}
		case n > 0:
			s.parts = append(s.parts, sizedPath{child, n})
		}
	}
	return nil
}

// first is the first key at or behind from, if it lies below p.
func (s *surveyor) first(from common.Hash, p trie.Path) (common.Hash, bool, error) {
	s.cursor.seek(&from)
	key, _, ok, err := s.cursor.next()
	if err != nil || !ok || !p.HasKey(key) {
		return common.Hash{}, false, err
	}
	return *key, true, nil
}

// shared is the number of nibbles that all keys below p share with the first of them, 64 where
// there is no other: bisection by whether a key lies behind all that share so many.
func (s *surveyor) shared(p trie.Path, first common.Hash) (int, error) {
	low, high := p.Len, 2*common.HashLength // low: all share so many
	for low < high {
		mid := (low + high + 1) / 2
		behind := successor(lastBelow(trie.PathOf(first, mid)))
		beyond := false
		if behind != (common.Hash{}) {
			var err error
			if _, beyond, err = s.first(behind, p); err != nil {
				return 0, err
			}
		}
		if beyond {
			high = mid - 1
		} else {
			low = mid
		}
	}
	return low, nil
}

// size is how many keys there seem to be below p.
func (s *surveyor) size(p trie.Path) (int, error) {
	s.cursor.seek(&p.Key)
	n := 0
	for {
		key, _, ok, err := s.cursor.next()
		if err != nil || !ok || !p.HasKey(key) {
			return n, err
		}
		if n++; n == sampleKeys {
			return estimate(n, key, p.Len), nil
		}
	}
}

// lastBelow is the highest key below p.
func lastBelow(p trie.Path) common.Hash {
	k := p.Key
	for i := (p.Len + 1) / 2; i < len(k); i++ {
		k[i] = 0xff
	}
	if p.Len&1 != 0 {
		k[p.Len/2] |= 0x0f
	}
	return k
}

// estimate is how many keys there seem to be below a prefix of so many nibbles, of which the n-th
// is key, where keys are spread evenly.
func estimate(n int, key *common.Hash, nibbles int) int {
	var window [9]byte
	copy(window[:], key[min(nibbles/2, common.HashLength):])
	at := binary.BigEndian.Uint64(window[:8])
	if nibbles&1 != 0 {
		at = at<<4 | uint64(window[8]>>4)
	}
	share := (float64(at) + 1) / (1 << 64)
	return int(min(float64(n)/share, maxEstimate))
}

// maxEstimate bounds estimates where keys crowd at the low end of a range.
const maxEstimate = 1 << 40
