package mainnetshape

import (
	"fmt"
	"math"
	"sort"
)

// sizes gives the number of slots of each trie by its rank, the largest first.
type sizes struct {
	huge    [HugeTries]uint64
	middle  uint64 // tries of ranks HugeTries to HugeTries+middle-1
	twos    uint64 // tries of two slots, behind those; the rest have one
	storage uint64

	// The middle's power law: P(size > x) falls as x^-exponent, from leastMiddle to top.
	exponent float64
	top      float64
	more     uint64 // slots that every trie of the middle has besides,
	oneMore  uint64 // and ranks of the middle that have one on top of that
}

// solveSteps bound the search for the exponent: it is known to the last bit long before.
const solveSteps = 60

func newSizes(s Shape) (*sizes, error) {
	small := uint64(math.Round(SmallShare * float64(s.Storage)))
	ones := uint64(math.Round(singleShare * float64(small)))
	z := &sizes{storage: s.Storage, twos: small - ones, middle: s.Storage - small - HugeTries}
	perSlot := float64(s.Slots) / MainnetSlots
	largest, least := MainnetLargest*perSlot, mainnetHuge*perSlot
	fall := math.Log(largest/least) / math.Log(HugeTries)
	left := s.Slots - ones - 2*z.twos
	for k := range z.huge {
		z.huge[k] = uint64(math.Round(largest * math.Pow(float64(k+1), -fall)))
		if z.huge[k] < leastMiddle || z.huge[k] > left {
			return nil, fmt.Errorf("%w: %+v: a huge trie of %d slots", ErrBadShape, s, z.huge[k])
		}
		left -= z.huge[k]
	}
	mean := float64(left) / float64(z.middle)
	z.top = min(max(least, 4*mean), largest)
	return z, z.solve(left)
}

// solve finds the exponent with which the middle has the wanted number of slots in all.
func (z *sizes) solve(want uint64) error {
	low, high := -8.0, 8.0 // the sum falls as the exponent rises; at high it is not too large
	for range solveSteps {
		z.exponent = (low + high) / 2
		sum := z.middleSum()
		if sum > want {
			low = z.exponent
			continue
		}
		high = z.exponent
		if want-sum < z.middle {
			break
		}
	}
	z.exponent = high
	sum := z.middleSum()
	if sum > want {
		return fmt.Errorf("%w: %d slots in %d tries of the middle", ErrBadShape, want, z.middle)
	}
	z.more, z.oneMore = (want-sum)/z.middle, (want-sum)%z.middle
	return nil
}

func (z *sizes) middleSum() (sum uint64) {
	for i := range z.middle {
		sum += z.quantile(i)
	}
	return sum
}

// quantile is the size of rank i of the middle, by the power law alone.
func (z *sizes) quantile(i uint64) uint64 {
	u := (float64(i) + 0.5) / float64(z.middle) // share of the tries that are larger
	if math.Abs(z.exponent) < 1e-9 {
		return uint64(z.top * math.Pow(leastMiddle/z.top, u))
	}
	// x^-a runs linearly from top^-a to least^-a.
	a := -z.exponent
	lo, hi := math.Pow(z.top, a), math.Pow(leastMiddle, a)
	return max(leastMiddle, uint64(math.Pow(lo+u*(hi-lo), 1/a)))
}

// of is the number of slots of the trie of a rank.
func (z *sizes) of(rank uint64) uint64 {
	if rank < HugeTries {
		return z.huge[rank]
	}
	rank -= HugeTries
	if rank < z.middle {
		n := z.quantile(rank) + z.more
		if rank < z.oneMore {
			n++
		}
		return n
	}
	if rank < z.middle+z.twos {
		return 2
	}
	return 1
}

// firstBelow is the first rank whose trie, like all behind it, has fewer than n slots.
func (z *sizes) firstBelow(n uint64) uint64 {
	// The huge ones first: at a small scale they are not all larger than the middle.
	i := HugeTries + sort.Search(int(z.storage-HugeTries), func(i int) bool {
		return z.of(HugeTries+uint64(i)) < n
	})
	return uint64(i)
}
