//go:build amd64 && !purego

package keccak

import "golang.org/x/sys/cpu"

// kernels are the lanes of the kernels that the processor has the instructions for, descending.
func kernels() []int {
	var lanes []int
	if cpu.X86.HasAVX2 {
		lanes = append(lanes, 4)
	}
	return lanes
}

// runKernel hashes as many messages as a kernel has lanes, all of the same number of blocks and
// with room for padding.
func runKernel(ms []Message, blocks int) {
	if len(ms) == 4 {
		hash4((*[4]Message)(ms), blocks)
	}
}

// hash4 hashes messages that take the same number of blocks, in AVX2. It reads each up to its
// padded length, and ignores what is behind its length.
//
//go:noescape
func hash4(ms *[4]Message, blocks int)
