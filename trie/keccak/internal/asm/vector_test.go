package main

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// width is the number of bytes of a vector register by its name.
func width(arg string) uint64 {
	switch arg[0] {
	case 'X':
		return 16
	case 'Y':
		return 32
	case 'Z':
		return 64
	}
	return 0
}

func (m *machine) vectorRegister(name string) *vector { return &m.vectors[number(name[1:])] }

// read reads a vector operand of n bytes.
func (m *machine) read(arg string, n uint64) (v vector) {
	if !isMemory(arg) {
		v = *m.vectorRegister(arg)
		clear(v[n/8:])
		return v
	}
	b := m.at(m.address(arg), n, false)
	for i := range n / 8 {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

// write writes a vector operand of n bytes; what is above them in a register becomes zero.
func (m *machine) write(arg string, v vector, n uint64) {
	if !isMemory(arg) {
		clear(v[n/8:])
		*m.vectorRegister(arg) = v
		return
	}
	b := m.at(m.address(arg), n, true)
	for i := range n / 8 {
		binary.LittleEndian.PutUint64(b[8*i:], v[i])
	}
}

// aligned wants a memory operand on a multiple of n.
func (m *machine) aligned(arg string, n uint64) {
	if isMemory(arg) && m.address(arg)%n != 0 {
		panic("not aligned")
	}
}

// vector runs an instruction on vector registers, if it is one.
func (m *machine) vector(in instruction) bool {
	if in.op == "VZEROUPPER" {
		return true
	}
	last := in.args[len(in.args)-1]
	n := width(last)
	switch in.op {
	case "VMOVDQU", "VMOVDQU64", "VMOVDQA", "VMOVDQA64":
		n = max(n, width(in.args[0]))
		if strings.HasPrefix(in.op, "VMOVDQA") {
			m.aligned(in.args[0], n)
			m.aligned(last, n)
		}
		m.write(last, m.read(in.args[0], n), n)
		return true
	case "VMOVDQU8.Z": // from, mask, to
		m.write(last, m.masked(m.address(in.args[0]), m.masks[number(in.args[1][1:])]), n)
		return true
	case "VEXTRACTI32X4": // quarter, from, to
		v := m.read(in.args[1], 64)
		q := number(in.args[0])
		m.write(last, vector{v[2*q], v[2*q+1]}, 16)
		return true
	case "VMOVQ":
		m.write(last, vector{m.value(in.args[0])}, n)
		return true
	case "VPBROADCASTQ":
		w := m.read(in.args[0], 16)[0]
		m.write(last, vector{w, w, w, w, w, w, w, w}, n)
		return true
	case "VPXORQ.BCST":
		v, c := m.read(in.args[1], n), m.value(in.args[0])
		for i := range v {
			v[i] ^= c
		}
		m.write(last, v, n)
		return true
	}
	if len(in.args) == 3 && !strings.HasPrefix(in.args[0], "$") {
		return m.ofTwo(in.op, in.args, n)
	}
	return m.withNumber(in, n)
}

// masked reads the bytes that have their bits set in the mask; the others are zero.
func (m *machine) masked(addr, mask uint64) (v vector) {
	for i := range uint64(64) {
		if mask>>i&1 != 0 {
			v[i/8] |= uint64(m.at(addr+i, 1, false)[0]) << (8 * (i % 8))
		}
	}
	return v
}

// ofTwo runs what makes words of words: op b, a, to. VEX instructions want no alignment.
func (m *machine) ofTwo(op string, args []string, n uint64) bool {
	a, b := m.read(args[1], n), m.read(args[0], n)
	var v vector
	for i := range v {
		switch op {
		case "VPXOR", "VPXORQ":
			v[i] = a[i] ^ b[i]
		case "VPOR":
			v[i] = a[i] | b[i]
		case "VPAND":
			v[i] = a[i] & b[i]
		case "VPANDN":
			v[i] = ^a[i] & b[i]
		case "VPADDQ":
			v[i] = a[i] + b[i]
		case "VPUNPCKLQDQ":
			v[i] = [2]uint64{a[i&^1], b[i&^1]}[i&1]
		case "VPUNPCKHQDQ":
			v[i] = [2]uint64{a[i|1], b[i|1]}[i&1]
		case "VPSHUFB":
			v[i] = shuffled(a, b[i], i)
		default:
			return false
		}
	}
	m.write(args[2], v, n)
	return true
}

// shuffled is word i of the bytes of a that the bytes of by name, each in its half of 128 bits.
func shuffled(a vector, by uint64, i int) (word uint64) {
	for j := range 8 {
		from := by >> (8 * j) & 0xff
		if from&0x80 == 0 {
			b := a[i&^1+int(from&15)/8] >> (8 * (from & 7)) & 0xff
			word |= b << (8 * j)
		}
	}
	return word
}

// withNumber runs what has a number as its first operand.
func (m *machine) withNumber(in instruction, n uint64) bool {
	k := number(in.args[0])
	last := in.args[len(in.args)-1]
	if len(in.args) == 3 {
		v := m.read(in.args[1], n)
		for i := range v {
			switch in.op {
			case "VPSLLQ":
				v[i] <<= k
			case "VPSRLQ":
				v[i] >>= k
			case "VPROLQ":
				v[i] = bits.RotateLeft64(v[i], int(k))
			default:
				return false
			}
		}
		m.write(last, v, n)
		return true
	}
	a, b, old := m.read(in.args[2], n), m.read(in.args[1], n), m.read(last, n)
	var v vector
	switch in.op {
	case "VPTERNLOGQ":
		for i := range v {
			v[i] = ternary(k, old[i], a[i], b[i])
		}
	case "VPERM2I128":
		both := [8]uint64{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}
		for i := range 4 {
			from := k >> (4 * (i / 2)) & 3
			v[i] = both[2*from+uint64(i%2)]
		}
	case "VSHUFI64X2":
		for q := range 4 {
			from := k >> (2 * q) & 3
			of := []vector{a, a, b, b}[q]
			v[2*q], v[2*q+1] = of[2*from], of[2*from+1]
		}
	default:
		return false
	}
	m.write(last, v, n)
	return true
}

// ternary is the function of three bits that k is the truth table of, a being the highest bit.
func ternary(k, a, b, c uint64) (v uint64) {
	for t := range 8 {
		if k>>t&1 == 0 {
			continue
		}
		term := ^uint64(0)
		for i, w := range []uint64{c, b, a} {
			if t>>i&1 != 0 {
				term &= w
			} else {
				term &^= w
			}
		}
		v |= term
	}
	return v
}
