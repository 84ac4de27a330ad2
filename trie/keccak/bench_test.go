package keccak_test

import (
	"fmt"
	"testing"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// BenchmarkHash has, for each number of lanes, ns a message of several lengths; one lane is
// x/crypto. 32 bytes are a slot, 100 an account's leaf, 532 a full branch (four permutations). It
// reports ns a permutation too, which is all but absorbing.
func BenchmarkHash(b *testing.B) {
	for _, lanes := range keccak.Widths() {
		for _, n := range []int{32, 100, 532} {
			b.Run(fmt.Sprintf("lanes=%d/bytes=%d", lanes, n), func(b *testing.B) {
				h := keccak.NewLanes(lanes)
				ms := make([]keccak.Message, 64)
				for i := range ms {
					data := make([]byte, n, keccak.PaddedLen(n))
					ms[i] = keccak.Message{Data: data, Out: new([32]byte)}
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < b.N; i += len(ms) {
					h.Hash(ms)
				}
				perMessage := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				b.ReportMetric(perMessage/float64(n/keccak.Rate+1), "ns/permutation")
			})
		}
	}
}

// BenchmarkHashOfFew tells from how many messages on a kernel with idle lanes is faster.
func BenchmarkHashOfFew(b *testing.B) {
	for _, lanes := range keccak.Widths() {
		for n := 1; n <= lanes; n++ {
			b.Run(fmt.Sprintf("lanes=%d/messages=%d", lanes, n), func(b *testing.B) {
				h := keccak.NewLanes(lanes)
				var ms []keccak.Message
				for range n {
					data := make([]byte, 100, keccak.Rate)
					ms = append(ms, keccak.Message{Data: data, Out: new([32]byte)})
				}
				for b.Loop() {
					h.Hash(ms)
				}
			})
		}
	}
}

func BenchmarkSumSlots(b *testing.B) {
	in, out := make([]common.Hash, 1000), make([]common.Hash, 1000)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(in) {
		keccak.SumSlots(out, in)
	}
}
