package hashbench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"golang.org/x/crypto/sha3"

	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// group is how many messages are handed over at once.
const group = 64

// longBlocks is the length of the message that tells what a permutation costs.
const longBlocks = 64

// messageSizes are a key, a small leaf, a full branch, and a message of longBlocks.
var messageSizes = []int{32, 100, 532, longBlocks*keccak.Rate - 1}

// messages makes a group of random messages.
func messages(size int) []keccak.Message {
	rng := rand.New(rand.NewPCG(4, uint64(size)))
	ms := make([]keccak.Message, group)
	for i := range ms {
		data := make([]byte, size, keccak.PaddedLen(size))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		ms[i] = keccak.Message{Data: data, Out: new([32]byte)}
	}
	return ms
}

func measureMessage(ctx context.Context, o *Options, lanes []int, size int) (Message, error) {
	o.Progress(fmt.Sprintf("messages of %d bytes", size))
	m := Message{Bytes: size, Blocks: keccak.PaddedLen(size) / keccak.Rate}
	groups := max(o.Hashes/group, 1)
	if m.Blocks == longBlocks {
		groups = max(groups/longBlocks, 1)
	}
	ms := messages(size)
	peer := sha3.NewLegacyKeccak256()
	want := make([][32]byte, group)
	sides := []measure.Side{{Name: "x/crypto", Run: func(context.Context) (measure.Sample, error) {
		return measure.Run(func() error {
			for range groups {
				for i := range ms {
					peer.Reset()
					peer.Write(ms[i].Data)
					peer.Sum(want[i][:0])
				}
			}
			return nil
		})
	}}}
	for _, n := range lanes {
		h := keccak.NewLanes(n)
		sides = append(sides, measure.Side{
			Name: fmt.Sprintf("%d lanes", n),
			Run: func(context.Context) (measure.Sample, error) {
				return hashGroups(h, ms, want, groups)
			},
		})
	}
	samples, err := measure.Alternate(ctx, o.Rounds, sides...)
	if err != nil {
		return m, err
	}
	each := 1e9 / float64(groups*group)
	m.XCrypto = measure.Of(samples[0].OneCore()).Times(each)
	for i, n := range lanes {
		s := samples[1+i]
		ns := measure.Of(s.OneCore()).Times(each)
		m.Lanes = append(m.Lanes, MessageLanes{
			Lanes: n, NS: ns, PermutationNS: ns.Times(1 / float64(m.Blocks)),
			Ratio:  measure.Ratio(samples[0].OneCore(), s.OneCore()),
			Allocs: measure.Of(s.Allocs()).Median * 1000 / float64(groups*group),
		})
	}
	return m, nil
}

// hashGroups measures a hasher, and checks it where the peer has hashed before.
func hashGroups(h keccak.Hasher, ms []keccak.Message, want [][32]byte, groups int) (
	measure.Sample, error) {
	s, err := measure.Run(func() error {
		for range groups {
			h.Hash(ms)
		}
		return nil
	})
	for i := range ms {
		if want[i] != ([32]byte{}) && *ms[i].Out != want[i] {
			return s, fmt.Errorf("%w: %x, x/crypto has %x", errDiffers, *ms[i].Out, want[i])
		}
	}
	return s, err
}
