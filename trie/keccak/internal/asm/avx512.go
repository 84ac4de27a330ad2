package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// octet builds Keccak on eight lanes of AVX-512: word i of the eight states is one register, of
// lane l its 64 bits from 64*l on. All 25 words stay in registers, with seven for everything else.
//
// A round renames registers instead of moving words: at says which register holds a word. The loop
// has two rounds, and brings them back at its end; all 24 in a row would take 17 KB of code, which
// is as fast alone and slower among other code.
type octet struct {
	*program
	constants, padding Mem

	at   [stateLen]int
	free []int
}

var octetRegisters = [32]reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

const (
	octetWord  = 64             // bytes of one word of eight states
	octetFrame = 18 * octetWord // the words that a block changes, and its last word

	xor3 = 0x96 // ternary functions: a^b^c
	chi3 = 0xd2 // a^(^b&c)
)

// avx512 is the file of the eight-lane kernel.
func avx512() *program {
	o := &octet{program: newProgram()}
	o.constants = o.roundConstants("constants8", 1)
	o.padding = o.paddingTables("padding8")
	o.hash()
	return o.program
}

// home says that word i is in register i.
func (o *octet) home() {
	o.free = o.free[:0]
	for i := range octetRegisters {
		if i < stateLen {
			o.at[i] = i
		} else {
			o.put(i)
		}
	}
}

func (o *octet) take() int {
	r := o.free[0]
	o.free = o.free[1:]
	return r
}

func (o *octet) put(r int) { o.free = append(o.free, r) }

// z is a register by its number.
func z(r int) reg.VecPhysical { return octetRegisters[r] }

// theta takes registers and makes D in them: each column's parity added to the next but one's,
// rotated by one.
func (o *octet) theta() (d [5]int) {
	var c [5]int
	for x := range c {
		c[x] = o.take()
		o.VPXORQ(z(o.at[x]), z(o.at[x+5]), z(c[x]))
	}
	for x := range c {
		o.VPTERNLOGQ(U8(xor3), z(o.at[x+10]), z(o.at[x+15]), z(c[x]))
	}
	for x := range c {
		o.VPXORQ(z(o.at[x+20]), z(c[x]), z(c[x]))
	}
	used := [5]int{}
	for _, x := range []int{0, 2, 4, 1, 3} { // an order that frees parities early
		left, right := (x+4)%5, (x+1)%5
		d[x] = o.take()
		o.VPROLQ(U8(1), z(c[right]), z(d[x]))
		o.VPXORQ(z(c[left]), z(d[x]), z(d[x]))
		for _, i := range []int{left, right} {
			if used[i]++; used[i] == 2 {
				o.put(c[i])
			}
		}
	}
	return d
}

// row adds D to the words that become row y, and rotates them.
func (o *octet) row(y int, d [5]int) (b [5]int) {
	for x := range b {
		i := from[5*y+x]
		b[x] = o.at[i]
		o.VPXORQ(z(d[i%5]), z(b[x]), z(b[x]))
	}
	for x := range b {
		if i := from[5*y+x]; rot[i] != 0 {
			o.VPROLQ(U8(rot[i]), z(b[x]), z(b[x]))
		}
	}
	return b
}

// round is a whole round.
func (o *octet) round(constant Mem) {
	d := o.theta()
	var after [stateLen]int
	for y := range 5 {
		b := o.row(y, d)
		if y == 4 {
			for x := range d {
				o.put(d[x])
			}
		}
		t0, t1 := o.take(), o.take()
		o.VMOVDQA64(z(b[0]), z(t0))
		o.VMOVDQA64(z(b[1]), z(t1))
		in := [7]int{b[0], b[1], b[2], b[3], b[4], t0, t1}
		for x := range b {
			o.VPTERNLOGQ(U8(chi3), z(in[x+2]), z(in[x+1]), z(b[x]))
			after[5*y+x] = b[x]
		}
		if y == 0 {
			o.VPXORQ_BCST(constant, z(b[0]), z(b[0]))
		}
		o.put(t0)
		o.put(t1)
	}
	o.at = after
}

// lastRound makes only the four words of the hash, in the registers that it returns.
func (o *octet) lastRound(constant Mem) (out [4]int) {
	d := o.theta()
	b := o.row(0, d)
	t := d[0] // D is used up
	o.VMOVDQA64(z(b[0]), z(t))
	in := [6]int{b[0], b[1], b[2], b[3], b[4], t}
	for x := range out {
		o.VPTERNLOGQ(U8(chi3), z(in[x+2]), z(in[x+1]), z(b[x]))
		out[x] = b[x]
	}
	o.VPXORQ_BCST(constant, z(out[0]), z(out[0]))
	return out
}

// restore moves the words home.
func (o *octet) restore() {
	for i := range o.at {
		if o.at[i] == i {
			continue
		}
		for j := range o.at {
			if o.at[j] == i { // another word is there
				t := o.take()
				o.VMOVDQA64(z(i), z(t))
				o.at[j] = t
				o.put(i)
			}
		}
		o.VMOVDQA64(z(o.at[i]), z(i))
		for n, r := range o.free {
			if r == i {
				o.free[n] = o.at[i]
			}
		}
		o.at[i] = i
	}
}

// The general registers of hash.
var (
	octetMessages  = reg.RSI
	octetBlocks    = reg.RDI // that are left
	octetOffset    = reg.RBX // of the block in the messages
	octetEnd       = reg.RCX // the bit that ends the padding, 0 if the block has none
	octetWhole     = reg.R9  // the constant 136
	octetOnes      = reg.R11
	octetZero      = reg.R12
	octetPaddingAt = reg.R13 // the padding tables, for no message bytes
	octetStack     = Mem{Base: reg.R14}
)

// load loads a block of message l: its first words into register l, the next into 8+l, and its
// last into the frame. Of the message only bytes that it has are read, but for the last word.
func (o *octet) load(l int) {
	at, rest, pad, t := reg.R8, reg.RDX, reg.R10, reg.RAX
	o.MOVQ(field(octetMessages, l, 0), at)
	o.ADDQ(octetOffset, at)
	o.MOVQ(field(octetMessages, l, lenAt), rest)
	o.SUBQ(octetOffset, rest)
	o.CMPQ(rest, octetWhole)
	o.CMOVQGT(octetWhole, rest)
	o.MOVQ(octetPaddingAt, pad)
	o.SUBQ(rest, pad)

	o.BZHIQ(rest, octetOnes, t)
	o.KMOVQ(t, reg.K1)
	o.SUBQ(Imm(64), rest)
	o.CMOVQLT(octetZero, rest)
	o.BZHIQ(rest, octetOnes, t)
	o.KMOVQ(t, reg.K2)
	o.VMOVDQU8_Z(Mem{Base: at}, reg.K1, z(l))
	o.VMOVDQU8_Z(Mem{Base: at, Disp: 64}, reg.K2, z(8+l))
	o.VPXORQ(Mem{Base: pad, Disp: padAt}, z(l), z(l))
	o.VPXORQ(Mem{Base: pad, Disp: padAt + 64}, z(8+l), z(8+l))

	o.MOVQ(Mem{Base: at, Disp: 128}, t)
	o.ANDQ(Mem{Base: pad, Disp: 128}, t)
	o.XORQ(Mem{Base: pad, Disp: 128 + padAt}, t)
	o.XORQ(octetEnd, t)
	o.MOVQ(t, octetStack.Offset(17*octetWord+8*l))
}

// transpose makes, in the registers from in on, eight words of eight lanes of eight lanes of eight
// words. It needs eight more registers.
func (o *octet) transpose(in int, t [8]int) {
	for p := 0; p < 8; p += 2 {
		o.VPUNPCKLQDQ(z(in+p+1), z(in+p), z(t[p]))
		o.VPUNPCKHQDQ(z(in+p+1), z(in+p), z(t[p+1]))
	}
	const even, odd = 0x88, 0xdd // quarters of both operands
	for odds := range 2 {        // t has two lanes' even words, or odd ones, in each quarter
		a, b, c, d := t[odds], t[2+odds], t[4+odds], t[6+odds]
		q := in + 4*odds
		o.VSHUFI64X2(U8(even), z(b), z(a), z(q))
		o.VSHUFI64X2(U8(odd), z(b), z(a), z(q+1))
		o.VSHUFI64X2(U8(even), z(d), z(c), z(q+2))
		o.VSHUFI64X2(U8(odd), z(d), z(c), z(q+3))
	}
	for odds := range 2 {
		q := in + 4*odds
		o.VSHUFI64X2(U8(even), z(q+2), z(q), z(t[odds]))
		o.VSHUFI64X2(U8(odd), z(q+2), z(q), z(t[4+odds]))
		o.VSHUFI64X2(U8(even), z(q+3), z(q+1), z(t[2+odds]))
		o.VSHUFI64X2(U8(odd), z(q+3), z(q+1), z(t[6+odds]))
	}
}

// absorb adds a block to the state, or makes the state of the first block.
func (o *octet) absorb(first bool) {
	if !first {
		for i := range words {
			o.VMOVDQU64(z(i), octetStack.Offset(octetWord*i))
		}
	}
	for l := range 8 {
		o.load(l)
	}
	t := [8]int{25, 26, 27, 28, 29, 30, 31, words - 1}
	for in := 0; in < words-1; in += 8 {
		o.transpose(in, t)
		for i, r := range t {
			if first {
				o.VMOVDQA64(z(r), z(in+i))
			} else {
				o.VPXORQ(octetStack.Offset(octetWord*(in+i)), z(r), z(in+i))
			}
		}
	}
	last := words - 1
	o.VMOVDQU64(octetStack.Offset(17*octetWord), z(last))
	if !first {
		o.VPXORQ(octetStack.Offset(octetWord*last), z(last), z(last))
		return
	}
	for i := words; i < stateLen; i++ {
		o.VPXORQ(z(i), z(i), z(i))
	}
}

// count counts a block and sets the bit that ends the padding, if the block has one.
func (o *octet) count() {
	o.MOVQ(U64(1<<63), octetEnd)
	o.DECQ(octetBlocks)
	o.CMOVQNE(octetZero, octetEnd)
}

// hash is the kernel.
func (o *octet) hash() {
	msArg, blocksArg := o.messageFunc("hash8", 8)
	frame := o.AllocLocal(octetFrame + octetWord)
	o.MOVQ(msArg, octetMessages)
	o.MOVQ(blocksArg, octetBlocks)
	o.LEAQ(frame.Offset(octetWord-1), octetStack.Base) // aligned: no word in two cache lines
	o.ANDQ(I32(-octetWord), octetStack.Base)
	o.LEAQ(o.padding.Offset(rate), octetPaddingAt)
	o.MOVQ(I32(rate), octetWhole)
	o.MOVQ(I32(-1), octetOnes)
	o.XORQ(octetZero, octetZero)
	o.XORQ(octetOffset, octetOffset)
	o.count()
	o.absorb(true)
	o.JMP(LabelRef("permute"))
	o.Label("next")
	o.ADDQ(octetWhole, octetOffset)
	o.count()
	o.absorb(false)

	o.Label("permute")
	rc, n := reg.RDX, reg.RAX
	constant := Mem{Base: rc}
	o.LEAQ(o.constants, rc)
	o.MOVQ(I32((rounds-2)/2), n)
	o.align(64)
	o.Label("rounds")
	o.home()
	o.round(constant)
	o.round(constant.Offset(8))
	o.restore()
	o.ADDQ(Imm(16), rc)
	o.DECQ(n)
	o.JNE(LabelRef("rounds"))

	o.home()
	o.round(constant)
	o.TESTQ(octetBlocks, octetBlocks)
	o.JEQ(LabelRef("last"))
	at, free := o.at, append([]int(nil), o.free...)
	o.round(constant.Offset(8))
	o.restore()
	o.JMP(LabelRef("next"))
	o.Label("last")
	o.at, o.free = at, free
	o.squeeze(o.lastRound(constant.Offset(8)))
	o.VZEROUPPER()
	o.RET()
}

// squeeze writes the hashes, whose four words are in the registers given.
func (o *octet) squeeze(in [4]int) {
	var t []int // registers that are free
	for r := 0; len(t) < 4; r++ {
		if r != in[0] && r != in[1] && r != in[2] && r != in[3] {
			t = append(t, r)
		}
	}
	for half := range 2 {
		o.VPUNPCKLQDQ(z(in[2*half+1]), z(in[2*half]), z(t[2*half]))
		o.VPUNPCKHQDQ(z(in[2*half+1]), z(in[2*half]), z(t[2*half+1]))
	}
	for l := range 8 {
		o.MOVQ(field(octetMessages, l, outAt), reg.R8)
		for half := range 2 {
			to := Mem{Base: reg.R8, Disp: 16 * half}
			o.VEXTRACTI32X4(U8(l/2), z(t[2*half+l%2]), to)
		}
	}
}
