package storageactor

import (
	"math/bits"
	"time"
)

// histogram counts times in buckets that are never wider than a thirty-second of what they count,
// in fixed memory: a bucket for each leading bit and the five bits behind it.
type histogram struct {
	counts [(64 - subBits) << subBits]uint64
	n      uint64
	sum    time.Duration
	max    time.Duration
}

const subBits = 5

func bucketOf(ns uint64) int {
	if ns < 1<<subBits {
		return int(ns)
	}
	shift := bits.Len64(ns) - subBits - 1
	return shift<<subBits + int(ns>>shift)
}

// bucketTop is the highest value of a bucket, in nanoseconds.
func bucketTop(i int) uint64 {
	if i < 2<<subBits {
		return uint64(i)
	}
	shift := i>>subBits - 1
	return (uint64(i&(1<<subBits-1))+1<<subBits+1)<<shift - 1
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(uint64(d))]++
	h.n++
	h.sum += d
	h.max = max(h.max, d)
}

// quantile is the time that a share q of all times does not exceed, as the top of its bucket.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := min(uint64(q*float64(h.n))+1, h.n)
	for i, n := range h.counts {
		if n >= rank {
			return min(time.Duration(bucketTop(i)), h.max)
		}
		rank -= n
	}
	return h.max
}

func (h *histogram) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return h.sum / time.Duration(h.n)
}
