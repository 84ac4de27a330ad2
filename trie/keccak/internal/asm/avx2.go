package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quad builds Keccak on four lanes of AVX2: word i of the four states is one register, of lane l
// its 64 bits from 64*l on.
//
// Sixteen registers do not hold 25 words. The states are in memory, two copies that the rounds
// read and write in turn, and a round goes row by row through what it writes: five words, each
// read, with theta's D added as it is, and rotated; chi; then the row is written, and added to the
// column parities C that the next round's D are made of. So each word is read once and written
// once a round, and D, C, a row and one register for everything else are just sixteen. The loads
// and stores are for free: the four vector units are what limits the speed.
type quad struct {
	*program
	constants, rotations, padding Mem

	d, c, b [5]reg.VecPhysical
	t       reg.VecPhysical
}

func newQuad() *quad {
	return &quad{
		program: newProgram(),
		d:       [5]reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4},
		c:       [5]reg.VecPhysical{reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9},
		b:       [5]reg.VecPhysical{reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14},
		t:       reg.Y15,
	}
}

// avx2 is the file of the four-lane kernel.
func avx2() *program {
	q := newQuad()
	q.constants = q.roundConstants("constants4", 4)
	q.padding = q.paddingTables("padding4")
	q.rotations = q.table("rotations4") // shuffles that rotate words by 8 and by 56 bits
	for _, n := range []int{1, 7} {
		for i := range 32 {
			q.AppendDatum(U8(i&8 | (i-n)&7))
		}
	}
	q.hash()
	return q.program
}

const (
	quadWord  = 32 // bytes of one word of four states
	quadState = stateLen * quadWord
)

// word addresses word i of the states at m.
func (q *quad) word(m Mem, i int) Mem { return m.Offset(quadWord * i) }

// theta makes D of C: each column's parity added to the next but one, rotated by one.
func (q *quad) theta() {
	for x := range 5 {
		left, right := q.c[(x+4)%5], q.c[(x+1)%5]
		q.VPSRLQ(U8(63), right, q.t)
		q.VPADDQ(right, right, q.d[x])
		q.VPXOR(left, q.t, q.t)
		q.VPXOR(q.t, q.d[x], q.d[x])
	}
}

// rotate rotates words to the left: AVX2 has no instruction for it but for whole bytes.
func (q *quad) rotate(n int, v reg.VecPhysical) {
	switch n {
	case 0:
	case 1: // there are more units for additions than for shifts
		q.VPSRLQ(U8(63), v, q.t)
		q.VPADDQ(v, v, v)
		q.VPOR(q.t, v, v)
	case 8:
		q.VPSHUFB(q.rotations, v, v)
	case 56:
		q.VPSHUFB(q.rotations.Offset(32), v, v)
	default:
		q.VPSLLQ(U8(n), v, q.t)
		q.VPSRLQ(U8(64-n), v, v)
		q.VPOR(q.t, v, v)
	}
}

// row reads what becomes a row after rho and pi.
func (q *quad) row(src Mem, y int) {
	for x := range 5 {
		i := from[5*y+x]
		q.VPXOR(q.word(src, i), q.d[i%5], q.b[x])
		q.rotate(rot[i], q.b[x])
	}
}

// chi makes the word of column x out of the row in b.
func (q *quad) chi(x int, out reg.VecPhysical) {
	q.VPANDN(q.b[(x+2)%5], q.b[(x+1)%5], out)
	q.VPXOR(q.b[x], out, out)
}

// round needs C of src, and leaves C of dst.
func (q *quad) round(src, dst, constant Mem) {
	q.theta()
	for n, y := range []int{0, 2, 4, 1, 3} {
		q.row(src, y)
		for x := range 5 {
			out := q.t
			if n == 0 {
				out = q.c[x]
			}
			q.chi(x, out)
			if y == 0 && x == 0 {
				q.VPXOR(constant, out, out)
			}
			q.VMOVDQA(out, q.word(dst, 5*y+x))
			if n > 0 {
				q.VPXOR(out, q.c[x], q.c[x])
			}
		}
	}
}

// lastRound makes only the four words of the hash, in C.
func (q *quad) lastRound(src, constant Mem) {
	q.theta()
	q.row(src, 0)
	for x := range 4 {
		q.chi(x, q.c[x])
	}
	q.VPXOR(constant, q.c[0], q.c[0])
}

// transpose makes four words of four lanes of four lanes of four words, or the other way round.
func (q *quad) transpose(in, out [4]reg.VecPhysical, t [4]reg.VecPhysical) {
	q.VPUNPCKLQDQ(in[1], in[0], t[0])
	q.VPUNPCKHQDQ(in[1], in[0], t[1])
	q.VPUNPCKLQDQ(in[3], in[2], t[2])
	q.VPUNPCKHQDQ(in[3], in[2], t[3])
	q.VPERM2I128(U8(0x20), t[2], t[0], out[0])
	q.VPERM2I128(U8(0x20), t[3], t[1], out[1])
	q.VPERM2I128(U8(0x31), t[2], t[0], out[2])
	q.VPERM2I128(U8(0x31), t[3], t[1], out[3])
}

// The general registers of hash.
var (
	quadData    = [4]reg.GPPhysical{reg.R8, reg.R9, reg.R10, reg.R11}
	quadPadding = [4]reg.GPPhysical{reg.R12, reg.R13, reg.RAX, reg.RBX}

	quadMessages = reg.RSI
	quadBlocks   = reg.RDI // that are left
	quadEnd      = reg.RCX // the bit that ends the padding, 0 if the block has none
	quadA        = reg.R14
)

// absorb adds a block to the state at a, or makes the state of the first block, and leaves its C.
func (q *quad) absorb(a Mem, first bool) {
	rows := [4]reg.VecPhysical(q.d[:4])
	for w := 0; w < words-1; w += 4 {
		q.load(rows, w)
		q.transpose(rows, rows, [4]reg.VecPhysical(q.b[:4]))
		for i, v := range rows {
			q.add(a, w+i, v, first)
		}
	}
	// The last word is the last of the last four.
	q.load(rows, words-4)
	q.VPUNPCKHQDQ(rows[1], rows[0], rows[0])
	q.VPUNPCKHQDQ(rows[3], rows[2], rows[2])
	q.VPERM2I128(U8(0x31), rows[2], rows[0], rows[0])
	q.VMOVQ(quadEnd, reg.X15)
	q.VPBROADCASTQ(reg.X15, q.t)
	q.VPXOR(q.t, rows[0], rows[0])
	q.add(a, words-1, rows[0], first)
	if first {
		q.VPXOR(q.t, q.t, q.t)
	}
	for w := words; w < stateLen; w++ {
		if first {
			q.VMOVDQA(q.t, q.word(a, w))
		} else {
			q.VPXOR(q.word(a, w), q.c[w%5], q.c[w%5])
		}
	}
}

// load loads four words of each message from word w on.
func (q *quad) load(rows [4]reg.VecPhysical, w int) {
	for l, v := range rows {
		q.VMOVDQU(Mem{Base: quadData[l], Disp: 8 * w}, v)
		q.VPAND(Mem{Base: quadPadding[l], Disp: 8 * w}, v, v)
		q.VPXOR(Mem{Base: quadPadding[l], Disp: 8*w + padAt}, v, v)
	}
}

// add adds to word w of the state at a, and the result to its C.
func (q *quad) add(a Mem, w int, v reg.VecPhysical, first bool) {
	if !first {
		q.VPXOR(q.word(a, w), v, v)
	}
	q.VMOVDQA(v, q.word(a, w))
	if c := q.c[w%5]; w < 5 {
		q.VMOVDQA(v, c)
	} else {
		q.VPXOR(v, c, c)
	}
}

// pads counts a block, and points to its padding tables.
func (q *quad) pads(blocksArg Mem, name string) {
	q.LEAQ(q.padding, reg.RDX)
	for _, p := range quadPadding {
		q.MOVQ(reg.RDX, p)
	}
	q.XORL(reg.ECX, reg.ECX)
	q.DECQ(quadBlocks)
	q.JNE(LabelRef(name))
	// The messages end in this block. What they have in it is what the blocks before leave.
	q.MOVQ(blocksArg, reg.RDX)
	q.IMUL3Q(I32(rate), reg.RDX, reg.RDX)
	for l, p := range quadPadding {
		q.ADDQ(reg.RDX, p)
		q.SUBQ(field(quadMessages, l, lenAt), p)
	}
	q.MOVQ(U64(1<<63), quadEnd)
	q.Label(name)
}

// hash is the kernel.
func (q *quad) hash() {
	msArg, blocksArg := q.messageFunc("hash4", 4)
	frame := q.AllocLocal(2*quadState + quadWord)
	q.MOVQ(msArg, quadMessages)
	q.MOVQ(blocksArg, quadBlocks)
	for l, d := range quadData {
		q.MOVQ(field(quadMessages, l, 0), d)
	}
	// The copies are aligned, so that no word lies in two cache lines.
	a, b := Mem{Base: quadA}, Mem{Base: quadA, Disp: quadState}
	q.LEAQ(frame.Offset(quadWord-1), quadA)
	q.ANDQ(I32(-quadWord), quadA)

	q.pads(blocksArg, "first")
	q.absorb(a, true)
	q.JMP(LabelRef("permute"))
	q.Label("next")
	for _, d := range quadData {
		q.ADDQ(I32(rate), d)
	}
	q.pads(blocksArg, "following")
	q.absorb(a, false)

	q.Label("permute")
	rc := reg.RDX
	q.LEAQ(q.constants, rc)
	q.LEAQ(q.constants.Offset((rounds-2)*quadWord), reg.RAX)
	q.align(32)
	q.Label("rounds")
	q.round(a, b, Mem{Base: rc})
	q.round(b, a, Mem{Base: rc, Disp: quadWord})
	q.ADDQ(I32(2*quadWord), rc)
	q.CMPQ(rc, reg.RAX)
	q.JB(LabelRef("rounds"))
	q.JA(LabelRef("next"))
	q.TESTQ(quadBlocks, quadBlocks)
	q.JNE(LabelRef("rounds"))
	q.round(a, b, Mem{Base: rc})
	q.lastRound(b, Mem{Base: rc, Disp: quadWord})
	q.squeeze()
	q.VZEROUPPER()
	q.RET()
}

// squeeze writes the hashes.
func (q *quad) squeeze() {
	in, out := [4]reg.VecPhysical(q.c[:4]), [4]reg.VecPhysical(q.d[:4])
	q.transpose(in, out, [4]reg.VecPhysical(q.b[:4]))
	for l, v := range out {
		q.MOVQ(field(quadMessages, l, outAt), quadData[l])
		q.VMOVDQU(v, Mem{Base: quadData[l]})
	}
}
