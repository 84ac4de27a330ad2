package keccak_test

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/balsa-sync/balsa/trie/keccak"
)

// TestNothingIsReadBeyondTheRoom has messages whose room ends where memory ends.
func TestNothingIsReadBeyondTheRoom(t *testing.T) {
	page := os.Getpagesize()
	eachWidth(t, func(t *testing.T, lanes int) {
		pages := make([][]byte, lanes)
		for l := range pages {
			mem, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE,
				syscall.MAP_ANON|syscall.MAP_PRIVATE)
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Munmap(mem)
			if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
				t.Fatal(err)
			}
			pages[l] = mem[:page:page]
		}
		r := rand.New(rand.NewPCG(10, 10))
		h := keccak.NewLanes(lanes)
		for n := range 600 {
			ms := make([]keccak.Message, lanes)
			for l := range ms {
				room := keccak.PaddedLen(n)
				data := pages[l][page-room:][: n : room-r.IntN(2)]
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				ms[l] = keccak.Message{Data: data, Out: new([32]byte)}
			}
			hashes(t, h, ms)
		}
	})
}
