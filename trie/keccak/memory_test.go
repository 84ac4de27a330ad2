package keccak_test

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

func TestShortLivedBuffersAreHashed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // moves stacks and frees what nothing holds
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(6, 6))
		h := keccak.NewLanes(lanes)
		for range 200 {
			deep(t, r.IntN(30), func() {
				var ms []keccak.Message
				for range lanes + r.IntN(3) {
					ms = append(ms, message(r, r.IntN(600), r.IntN(8)))
				}
				hashes(t, h, ms)
			})
		}
	})
}

// deep runs f further down the stack, which has to grow for it.
func deep(t *testing.T, n int, f func()) {
	var pad [512]byte
	if n == 0 {
		f()
		return
	}
	pad[n] = byte(n)
	deep(t, n-1, f)
	if pad[n] != byte(n) {
		t.Error("the stack was written to")
	}
}

// TestHashesGoIntoOtherMessages hashes as a trie does: the hashes of children lie side by side in
// their parent's buffer, whose own hash is asked for in a later call.
func TestHashesGoIntoOtherMessages(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(7, 7))
		h := keccak.NewLanes(lanes)
		for range 50 {
			parents := make([]keccak.Message, lanes)
			var children []keccak.Message
			for i := range parents {
				parents[i] = message(r, 17*32, r.IntN(32))
				for c := range 16 {
					child := message(r, r.IntN(200), r.IntN(32))
					child.Out = (*[32]byte)(parents[i].Data[1+33*c : 33+33*c])
					children = append(children, child)
				}
			}
			before := make([][]byte, lanes)
			for i, p := range parents {
				before[i] = append(before[i], p.Data...)
			}
			hashes(t, h, children)
			for i, p := range parents {
				for at := range p.Data {
					if (at%33 == 0 || at >= 16*33) && p.Data[at] != before[i][at] {
						t.Fatalf("byte %d of a parent was written", at)
					}
				}
			}
			hashes(t, h, parents)
		}
	})
}

// TestHashesGoIntoPadding has the hash of a message right behind it, where its padding is read.
func TestHashesGoIntoPadding(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		r := rand.New(rand.NewPCG(8, 8))
		for n := range 300 {
			var ms []keccak.Message
			for range 2 * lanes {
				buf := message(r, n+keccak.PaddedLen(n)+32, 0).Data
				ms = append(ms, keccak.Message{Data: buf[:n], Out: (*[32]byte)(buf[n : n+32])})
			}
			hashes(t, keccak.NewLanes(lanes), ms)
		}
	})
}

func TestAHasherKeepsNoMessage(t *testing.T) {
	eachWidth(t, func(t *testing.T, lanes int) {
		h := keccak.NewLanes(lanes)
		freed := make(chan struct{}, 8)
		func() {
			ms := make([]keccak.Message, lanes+2)
			for i := range ms {
				buf := new([4 * keccak.Rate]byte)
				if i%2 == 0 {
					runtime.SetFinalizer(buf, func(*[4 * keccak.Rate]byte) { freed <- struct{}{} })
				}
				ms[i] = keccak.Message{Data: buf[:136*(i%3)], Out: new([32]byte)}
			}
			h.Hash(ms)
		}()
		for range (lanes + 3) / 2 {
			for ok := false; !ok; {
				runtime.GC()
				select {
				case <-freed:
					ok = true
				default:
					runtime.Gosched()
				}
			}
		}
		runtime.KeepAlive(h)
	})
}

func TestHashingInLanesAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	slots, out := make([]common.Hash, 100), make([]common.Hash, 100)
	eachWidth(t, func(t *testing.T, lanes int) {
		h := keccak.NewLanes(lanes)
		b := keccak.NewBatch(keccak.NewLanes(lanes))
		var ms []keccak.Message
		for range 3*lanes + 1 {
			ms = append(ms, message(r, r.IntN(700), 0))
		}
		if n := testing.AllocsPerRun(100, func() {
			h.Hash(ms)
			for i := range slots {
				b.Add(slots[i][:], &out[i])
			}
			b.Flush()
		}); n != 0 {
			t.Errorf("%v allocations a run", n)
		}
	})
}

func TestHashingKeysAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	slots, addrs := make([]common.Hash, 100), make([]common.Address, 100)
	out := make([]common.Hash, 100)
	if n := testing.AllocsPerRun(100, func() {
		keccak.SumSlots(out, slots)
		keccak.SumAddresses(out, addrs)
	}); n >= 1 {
		t.Errorf("%v allocations a run", n)
	}
}

// FuzzHash hashes messages cut from the input, of lengths from the input, on all widths.
func FuzzHash(f *testing.F) {
	f.Add([]byte{}, []byte("balsa"))
	f.Add([]byte{0, 135, 0, 136, 1, 15, 1, 16, 0, 1}, make([]byte, 300))
	f.Add([]byte{4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0}, make([]byte, 1100))
	f.Fuzz(func(t *testing.T, lengths, data []byte) {
		for _, lanes := range keccak.Widths() {
			var ms []keccak.Message
			for l := lengths; len(l) >= 2 && len(ms) < 40; l = l[2:] {
				n := min(int(binary.BigEndian.Uint16(l))%2048, len(data))
				at := (len(data) - n) / (1 + len(ms))
				room := keccak.PaddedLen(n) - int(l[0]>>7) // some without room
				buf := append(make([]byte, 0, room), data[at:at+n]...)
				ms = append(ms, keccak.Message{Data: buf[:n:max(room, n)], Out: new([32]byte)})
			}
			hashes(t, keccak.NewLanes(lanes), ms)
		}
	})
}
