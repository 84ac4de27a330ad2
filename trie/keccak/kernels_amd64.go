//go:build amd64 && !purego

package keccak

import "golang.org/x/sys/cpu"

// kernels are the lanes of the kernels that the processor has the instructions for, descending.
func kernels() []int {
	x := &cpu.X86
	var lanes []int
	if x.HasAVX512F && x.HasAVX512BW && x.HasBMI2 {
		lanes = append(lanes, 8)
	}
	if x.HasAVX2 {
		lanes = append(lanes, 4)
	}
	return lanes
}

// runKernel hashes as many messages as a kernel has lanes, all of the same number of blocks and
// with room for padding.
func runKernel(ms []Message, blocks int) {
	switch len(ms) {
	case 8:
		hash8((*[8]Message)(ms), blocks)
	case 4:
		hash4((*[4]Message)(ms), blocks)
	}
}

// hash4 hashes messages that take the same number of blocks, in AVX2. It reads each up to its
// padded length, and ignores what is behind its length.
//
//go:noescape
func hash4(ms *[4]Message, blocks int)

// hash8 does the same for eight messages, in AVX-512.
//
//go:noescape
func hash8(ms *[8]Message, blocks int)
