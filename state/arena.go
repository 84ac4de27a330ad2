package state

const (
	arenaBlock = 64 << 10
)

// arena copies bytes to where they stay.
type arena struct {
	block []byte // the free part of the newest block
}

// copy returns a copy of b.
func (a *arena) copy(b []byte) []byte {
	c := a.alloc(len(b))
	copy(c, b)
	return c
}

// alloc returns n bytes.
func (a *arena) alloc(n int) []byte {
	if n > len(a.block) {
		if n > arenaBlock/4 {
			return make([]byte, n)
		}
		a.block = make([]byte, arenaBlock)
	}
	c := a.block[:n:n]
	a.block = a.block[n:]
	return c
}

// free forgets the blocks.
func (a *arena) free() { a.block = nil }
