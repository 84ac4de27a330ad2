package main

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// program is one assembly file under construction.
type program struct{ *build.Context }

// command is what the files say they come from.
const command = "go generate ./trie/keccak"

func newProgram() *program {
	p := &program{build.NewContext()}
	p.ConstraintExpr("amd64,!purego")
	return p
}

// finish compiles the program.
func (p *program) finish() (*ir.File, error) {
	f, err := p.Result()
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return f, nil
}

// render gives the text of a compiled program.
func render(f *ir.File) ([]byte, error) {
	return printer.NewGoAsm(printer.Config{Name: command, Pkg: "keccak"}).Print(f)
}

// table begins a read-only table; it is filled with AppendDatum.
func (p *program) table(name string) operand.Mem {
	m := p.StaticGlobal(name)
	p.DataAttributes(attr.RODATA | attr.NOPTR)
	return m
}

// roundConstants is a table with each constant as often as there are lanes.
func (p *program) roundConstants(name string, lanes int) operand.Mem {
	m := p.table(name)
	for _, rc := range constants {
		for range lanes {
			p.AppendDatum(operand.U64(rc))
		}
	}
	return m
}

// bytes appends n equal bytes, a multiple of 8, to the table.
func (p *program) bytes(n int, b uint64) {
	for range n / 8 {
		p.AppendDatum(operand.U64(b * 0x0101010101010101))
	}
}

// paddingTables are read from rate-r bytes behind their begin, r being the message bytes of a
// block, 136 for one without padding: the first is the block's mask, the second (padAt behind the
// first) has the byte 0x01 behind the message.
func (p *program) paddingTables(name string) operand.Mem {
	m := p.table(name)
	p.bytes(rate, 0xff)
	p.bytes(rate, 0)
	p.bytes(rate, 0)
	p.AppendDatum(operand.U64(1))
	p.bytes(rate, 0)
	return m
}

const padAt = 2 * rate

// align aligns what follows in the code.
func (p *program) align(n uint64) {
	p.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(n)}})
}

// messageFunc begins a function of messages, with as many as it has lanes, and their number of
// blocks.
func (p *program) messageFunc(function string, lanes int) (ms, blocks operand.Mem) {
	p.Function(function)
	pkg := types.NewPackage("keccak", "keccak")
	name := types.NewTypeName(token.NoPos, pkg, "Message", nil)
	message := types.NewNamed(name, types.NewStruct(nil, nil), nil)
	group := types.NewPointer(types.NewArray(message, int64(lanes)))
	args := types.NewTuple(
		types.NewParam(token.NoPos, pkg, "ms", group),
		types.NewParam(token.NoPos, pkg, "blocks", types.Typ[types.Int]),
	)
	p.Signature(gotypes.NewSignature(pkg, types.NewSignatureType(nil, nil, nil, args, nil, false)))
	return operand.NewParamAddr("ms", 0), operand.NewParamAddr("blocks", 8)
}

// field addresses a field of message l.
func field(ms reg.Register, l, at int) operand.Mem {
	return operand.Mem{Base: ms, Disp: messageSize*l + at}
}
