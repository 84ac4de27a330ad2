package mainnetshape

import "math/bits"

// permutation is a random order of the numbers below size, without a table: a Feistel network over
// the next even power of two, walked until it comes out below size.
type permutation struct {
	size uint64
	half uint // bits of each half
	keys [4]uint64
}

func newPermutation(size, seed uint64) permutation {
	p := permutation{size: size, half: uint(bits.Len64(size)+1) / 2}
	for i := range p.keys {
		p.keys[i] = mix(seed + uint64(i+1)*0x9e3779b97f4a7c15)
	}
	return p
}

// at is the number at place i; both are below size.
func (p *permutation) at(i uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	for {
		left, right := i>>p.half, i&mask
		for _, k := range p.keys {
			left, right = right, left^mix(right^k)&mask
		}
		if i = left<<p.half | right; i < p.size {
			return i
		}
	}
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on
// every bit of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
