package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestSlotRowIsRLPOfTheTrimmedValue(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i := range 5000 {
		var h common.Hash
		r.Read(h[r.Intn(32):])
		if i < 256 {
			h = common.Hash{31: byte(i)}
		}
		if h == (common.Hash{}) {
			continue
		}
		want := mustRLP(t, common.TrimLeftZeroes(h[:]))
		if got := EncodeSlot(h); !bytes.Equal(got, want) {
			t.Fatalf("%x: row %x, want %x", h, got, want)
		}
		if got, err := DecodeSlot(want); err != nil || got != h {
			t.Fatalf("%x: %x, %v", want, got, err)
		}
	}
	if EncodeSlot(common.Hash{}) != nil {
		t.Error("value zero has a row")
	}
}

func TestDecodeSlotRefusesOtherEncodings(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":               "",
		"zero":                  "\x80",
		"a zero byte":           "\x00",
		"leading zero":          "\x82\x00\x01",
		"short value as string": "\x81\x7f",
		"33 bytes":              "\xa1" + string(make([]byte, 33)),
		"bytes behind":          "\x01\x01",
		"cut off":               "\x82\x01",
		"a list":                "\xc1\x01",
		"long form":             "\xb8\x01\x80",
	} {
		if _, err := DecodeSlot([]byte(b)); !errors.Is(err, ErrBadSlot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeSlot(f *testing.F) {
	f.Add([]byte{0x81, 0x80})
	f.Add([]byte{0x82, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeSlot(b)
		if err == nil && !bytes.Equal(EncodeSlot(h), b) {
			t.Fatalf("%x encodes as %x", b, EncodeSlot(h))
		}
	})
}

// BenchmarkCheckOfASlotRow is what a read of a slot pays for being told damage at once.
func BenchmarkCheckOfASlotRow(b *testing.B) {
	for _, n := range []int{1, 20, 32} {
		row := EncodeSlot(common.BytesToHash(bytes.Repeat([]byte{0x9a}, n)))
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := splitSlot(row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
