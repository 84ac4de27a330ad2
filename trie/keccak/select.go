package keccak

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
)

// LanesVariable is the environment variable with the largest number of lanes that New gives. It
// is for tests, comparisons and machines whose wide instructions are slow: hashes do not depend on
// it. New ignores a value that [LanesLimit] refuses.
const LanesVariable = "BALSA_KECCAK_LANES"

// LanesLimit reads a value of the environment variable: a number of lanes of at least 1, or
// nothing for no limit, which is the widest kernel's number.
func LanesLimit(value string) (int, error) {
	if value == "" {
		return maxLanes, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return maxLanes, fmt.Errorf("%s=%q: not a number of lanes (1, 4, 8)", LanesVariable, value)
	}
	return n, nil
}

// defaultLanes is read once, so that one process does not mix.
var defaultLanes = sync.OnceValue(func() int {
	n, _ := LanesLimit(os.Getenv(LanesVariable))
	return n
})

// Widths are the numbers of lanes that this machine can hash on, descending; the last is 1.
func Widths() []int { return slices.Clone(widths()) }

var widths = sync.OnceValue(func() []int {
	var usable []int
	for _, lanes := range kernels() {
		if passes(lanes, runKernel) {
			usable = append(usable, lanes)
		}
	}
	return append(usable, 1)
})

// passes tells whether a kernel hashes messages of one to three blocks as x/crypto does.
func passes(lanes int, run func(ms []Message, blocks int)) bool {
	for blocks := 1; blocks <= 3; blocks++ {
		var ms, want [maxLanes]Message
		for l := range ms {
			data := make([]byte, PaddedLen(blocks*Rate-1))
			for i := range data {
				data[i] = byte(i*(l+3) + blocks)
			}
			end := blocks*Rate - 1 - l*19 // within the last block, its first and last byte too
			ms[l] = Message{Data: data[:max(end, (blocks-1)*Rate)], Out: new([32]byte)}
			want[l] = Message{Data: ms[l].Data, Out: new([32]byte)}
		}
		(&scalar{newSponge()}).Hash(want[:lanes])
		run(ms[:lanes], blocks)
		for l := range lanes {
			if *ms[l].Out != *want[l].Out {
				return false
			}
		}
	}
	return true
}
