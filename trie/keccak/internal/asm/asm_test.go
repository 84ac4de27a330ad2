package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/balsa-sync/balsa/trie/keccak"
	"golang.org/x/crypto/sha3"
)

// kernels are the functions and the files that have them.
var kernels = []struct {
	function, file string
	lanes          int
}{
	{"hash4", "avx2_amd64.s", 4},
	{"hash8", "avx512_amd64.s", 8},
}

func TestFilesAreCurrent(t *testing.T) {
	for name, build := range files {
		f, err := build().finish()
		if err != nil {
			t.Fatal(err)
		}
		want, err := render(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its program renders to: go generate ./trie/keccak", name)
		}
	}
}

func load(t *testing.T, file string) *machine {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return parse(string(text))
}

// run hashes messages of equal block counts with a kernel in the interpreter. The memory of a
// message ends with its padded length, and nothing but its hash may be written.
func (m *machine) run(function string, ms [][]byte, offset func() uint64) ([][32]byte, error) {
	segments := len(m.segments)
	defer func() { m.segments = m.segments[:segments] }()
	outs := make([][32]byte, len(ms))
	var group []byte
	for i, msg := range ms {
		padded := make([]byte, keccak.PaddedLen(len(msg)))
		for j := range padded {
			padded[j] = 0xa5
		}
		copy(padded, msg)
		for _, word := range []uint64{
			m.add(padded, offset(), true), uint64(len(msg)), uint64(len(padded)),
			m.add(outs[i][:], offset(), false),
		} {
			group = binary.LittleEndian.AppendUint64(group, word)
		}
	}
	for i := range m.vectors { // what is in registers must not matter
		m.vectors[i] = vector{1, 2, 3, 4, 5, 6, 7, ^uint64(0)}
	}
	blocks := len(ms[0])/rate + 1
	err := m.call(function, m.add(group, 8, true), uint64(blocks))
	return outs, err
}

func reference(msg []byte) (out [32]byte) {
	h := sha3.NewLegacyKeccak256()
	h.Write(msg)
	h.Sum(out[:0])
	return out
}

// TestKernelsHashInTheInterpreter runs the files as they are, also those that this machine could
// not run. That the interpreter tells the truth shows where a file runs for real as well, in the
// tests of package keccak, with the same results.
func TestKernelsHashInTheInterpreter(t *testing.T) {
	longest := 1000
	if testing.Short() || raceEnabled {
		longest = 300
	}
	for _, k := range kernels {
		t.Run(k.function, func(t *testing.T) {
			m := load(t, k.file)
			r := rand.New(rand.NewPCG(1, 1))
			// Every length is in some lane of some group, in each with other ones of its class.
			for class := 0; class <= longest/rate; class++ {
				lengths := r.Perm(rate)
				for at := 0; at < rate; at += k.lanes {
					ms := make([][]byte, k.lanes)
					for l := range ms {
						ms[l] = make([]byte, class*rate+lengths[(at+l)%rate])
						for j := range ms[l] {
							ms[l][j] = byte(r.Uint32())
						}
					}
					compare(t, m, k.function, ms, r)
				}
			}
		})
	}
}

func compare(t *testing.T, m *machine, function string, ms [][]byte, r *rand.Rand) {
	t.Helper()
	got, err := m.run(function, ms, func() uint64 { return r.Uint64N(64) })
	if err != nil {
		t.Fatal(err)
	}
	for l, msg := range ms {
		if want := reference(msg); got[l] != want {
			t.Fatalf("lane %d, %d bytes: %x, want %x", l, len(msg), got[l], want)
		}
	}
}
