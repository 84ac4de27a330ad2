package keccak_test

import (
	"bytes"
	"encoding/hex"
	"sync"
	"testing"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/crypto"
)

func TestSumOfKnownMessages(t *testing.T) {
	// From the Keccak team's known answers for the original padding; the first is also the code
	// hash of an account without code.
	for msg, want := range map[string]string{
		"":     "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
		"\xcc": "eead6dbfc7340a56caedc044696a168870549a6a7f6f56961e84a54bd9970b8a",
	} {
		if got := keccak.Sum([]byte(msg)); hex.EncodeToString(got[:]) != want {
			t.Errorf("hash of %x: %x, want %s", msg, got, want)
		}
	}
}

func TestSumConcatenates(t *testing.T) {
	msg := bytes.Repeat([]byte("balsa"), 100)
	want := crypto.Keccak256Hash(msg)
	if got := keccak.Sum(msg[:7], nil, msg[7:200], msg[200:]); got != want {
		t.Errorf("hash of parts: %x, want %x", got, want)
	}
}

func TestHasherHashesAnyGroup(t *testing.T) {
	h := keccak.New()
	if h.Lanes() < 1 {
		t.Errorf("%d lanes", h.Lanes())
	}
	var ms []keccak.Message
	for n := range 600 {
		data := make([]byte, n, keccak.PaddedLen(n))
		for i := range data {
			data[i] = byte(i * n)
		}
		ms = append(ms, keccak.Message{Data: data, Out: new([32]byte)})
	}
	h.Hash(nil)
	h.Hash(ms[:1])
	h.Hash(ms)
	for n, m := range ms {
		if want := crypto.Keccak256Hash(m.Data); *m.Out != want {
			t.Errorf("hash of %d bytes: %x, want %x", n, *m.Out, want)
		}
	}
}

func TestPaddedLenIsTheNextBlock(t *testing.T) {
	for n, want := range map[int]int{0: 136, 1: 136, 135: 136, 136: 272, 271: 272, 272: 408} {
		if got := keccak.PaddedLen(n); got != want {
			t.Errorf("padded length of %d: %d, want %d", n, got, want)
		}
	}
}

func TestSumIsSafeForConcurrentUse(t *testing.T) {
	msg := bytes.Repeat([]byte{7}, 300)
	want := crypto.Keccak256Hash(msg)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if got := keccak.Sum(msg); got != want {
					t.Errorf("hash %x, want %x", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestHashingAllocatesNothing(t *testing.T) {
	h := keccak.New()
	ms := []keccak.Message{{Data: make([]byte, 100, 136), Out: new([32]byte)}}
	msg := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		h.Hash(ms)
		*ms[0].Out = keccak.Sum(msg, msg)
	}); n >= 1 {
		t.Errorf("%v allocations a run", n)
	}
}
