package keccak_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/crypto/sha3"
)

// reference is x/crypto's hash.
func reference(data []byte) (out [32]byte) {
	h := sha3.NewLegacyKeccak256()
	h.Write(data)
	h.Sum(out[:0])
	return out
}

// eachWidth runs a test for each number of lanes that the machine has.
func eachWidth(t *testing.T, test func(t *testing.T, lanes int)) {
	for _, lanes := range []int{8, 4, 1} {
		t.Run(fmt.Sprint(lanes, " lanes"), func(t *testing.T) {
			if keccak.NewLanes(lanes).Lanes() != lanes {
				t.Skipf("this machine has no %d lanes", lanes)
			}
			test(t, lanes)
		})
	}
}

// message makes a random message at some offset of a buffer that is full of other bytes.
func message(r *rand.Rand, n, offset int) keccak.Message {
	buf := make([]byte, offset+keccak.PaddedLen(n))
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	return keccak.Message{Data: buf[offset : offset+n], Out: new([32]byte)}
}

// hashes wants each hash of a call to be x/crypto's, and the messages as they were.
func hashes(t *testing.T, h keccak.Hasher, ms []keccak.Message) {
	t.Helper()
	want := make([][32]byte, len(ms))
	for i, m := range ms {
		want[i] = reference(m.Data)
	}
	h.Hash(ms)
	for i, m := range ms {
		if *m.Out != want[i] {
			t.Fatalf("%d lanes: message %d of %d, of %d bytes: %x, want %x",
				h.Lanes(), i, len(ms), len(m.Data), *m.Out, want[i])
		}
		if got := reference(m.Data); got != want[i] {
			t.Fatalf("%d lanes: message %d of %d changed", h.Lanes(), i, len(ms))
		}
	}
}

func TestEveryLengthIsHashedAsByXCrypto(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(1, 1))
		h := keccak.NewLanes(lanes)
		for n := range 1001 {
			var same, near []keccak.Message
			for l := range lanes {
				same = append(same, message(r, n, r.IntN(32)))
				near = append(near, message(r, n/136*136+(n+l*7)%136, r.IntN(32)))
			}
			hashes(t, h, same)
			hashes(t, h, near)
		}
	})
}

func TestEveryGroupSizeAndMixedLengthsAreHashed(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(2, 2))
		h := keccak.NewLanes(lanes)
		for size := range 3*lanes + 1 {
			for range 50 {
				longest := []int{33, 136, 300, 600, 2000}[r.IntN(5)]
				var ms []keccak.Message
				for range size {
					ms = append(ms, message(r, r.IntN(longest), r.IntN(32)))
				}
				hashes(t, h, ms)
			}
		}
	})
}

func TestEveryOffsetIsHashed(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(3, 3))
		h := keccak.NewLanes(lanes)
		for offset := range 64 {
			var ms []keccak.Message
			for range lanes {
				ms = append(ms, message(r, 500, offset))
			}
			hashes(t, h, ms)
		}
	})
}

func TestMessagesWithoutRoomForPaddingAreHashed(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(4, 4))
		var ms []keccak.Message
		for range 3 * lanes {
			m := message(r, r.IntN(300), 0)
			m.Data = m.Data[: len(m.Data) : r.IntN(20)+len(m.Data)]
			ms = append(ms, m)
		}
		ms = append(ms, keccak.Message{Out: new([32]byte)})
		hashes(t, keccak.NewLanes(lanes), ms)
	})
}

func TestKeysAreHashed(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for n := range 40 {
		addrs, slots, codes := make([]common.Address, n), make([]common.Hash, n), make([][]byte, n)
		for i := range n {
			addrs[i][i%20], slots[i][i%32] = byte(r.Uint32()), byte(r.Uint32())
			codes[i] = message(r, r.IntN(2000), 0).Data
			codes[i] = codes[i][:len(codes[i]):len(codes[i])]
		}
		byAddr, bySlot, byCode := make([]common.Hash, n+1), make([]common.Hash, n), make([]common.Hash, n)
		keccak.SumAddresses(byAddr, addrs)
		keccak.SumSlots(bySlot, slots)
		keccak.SumAll(byCode, codes)
		for i := range n {
			if byAddr[i] != reference(addrs[i][:]) || bySlot[i] != reference(slots[i][:]) ||
				byCode[i] != reference(codes[i]) {
				t.Fatalf("%d of %d: a wrong hash", i, n)
			}
		}
		if byAddr[n] != (common.Hash{}) {
			t.Fatal("written beyond the messages")
		}
	}
}
