package main

const (
	rate     = 136 // bytes that one permutation absorbs
	words    = rate / 8
	rounds   = 24
	stateLen = 25 // words of 8 bytes; word x+5*y is column x of row y

	messageSize = 32 // of keccak.Message: where it has the length of its Data, and its Out
	lenAt       = 8
	outAt       = 24
)

// iota are the round constants (FIPS 202, section 3.2.5), from their shift register.
var constants = func() (rc [rounds]uint64) {
	lfsr := uint8(1)
	for r := range rc {
		for j := range 7 {
			if lfsr&1 != 0 {
				rc[r] |= 1 << (1<<j - 1)
			}
			carry := lfsr >> 7
			lfsr = lfsr<<1 ^ carry*0x71
		}
	}
	return rc
}()

// rot and from are rho and pi (FIPS 202, sections 3.2.2 and 3.2.3): word i of the state after them
// is word from[i] of the state before, rotated to the left by rot[from[i]] bits.
var rot, from = func() (rot, from [stateLen]int) {
	x, y := 1, 0
	for t := range rounds {
		rot[x+5*y] = (t + 1) * (t + 2) / 2 % 64
		x, y = y, (2*x+3*y)%5
	}
	for x := range 5 {
		for y := range 5 {
			from[y+5*((2*x+3*y)%5)] = x + 5*y
		}
	}
	return rot, from
}()
