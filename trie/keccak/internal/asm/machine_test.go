package main

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// machine runs the text of an assembly file, one instruction after the other, on memory of which
// every access is checked. It knows the instructions that the kernels use, and no more.
type machine struct {
	code   []instruction
	labels map[string]int
	tables map[string]uint64 // addresses
	starts map[string]int    // of functions
	frames map[string]int    // their sizes

	general [16]uint64
	vectors [32]vector
	masks   [8]uint64

	zero, less, below bool // what the last comparison or result says

	args     []uint64
	stack    uint64
	segments []segment
	steps    int
}

// vector is a register of 512 bits.
type vector [8]uint64

type instruction struct {
	op   string
	args []string
	line string
}

// segment is a piece of memory. Between two of them is nothing.
type segment struct {
	base   uint64
	memory []byte
	fixed  bool // not to be written
}

const segmentGap = 1 << 16

// add gives memory an address, of the given remainder modulo 64.
func (m *machine) add(memory []byte, offset uint64, fixed bool) uint64 {
	base := uint64(segmentGap)
	if n := len(m.segments); n > 0 {
		last := m.segments[n-1]
		base = (last.base+uint64(len(last.memory)))/64*64 + segmentGap
	}
	base += offset
	m.segments = append(m.segments, segment{base, memory, fixed})
	return base
}

// at is the memory of n bytes.
func (m *machine) at(addr, n uint64, write bool) []byte {
	for _, s := range m.segments {
		if addr >= s.base && addr+n <= s.base+uint64(len(s.memory)) && !(write && s.fixed) {
			return s.memory[addr-s.base:][:n]
		}
	}
	panic(fmt.Sprintf("%d bytes at %#x: no such memory (write: %t)", n, addr, write))
}

// parse reads an assembly file.
func parse(text string) *machine {
	m := &machine{
		labels: map[string]int{}, tables: map[string]uint64{},
		starts: map[string]int{}, frames: map[string]int{},
	}
	data := map[string][]byte{}
	var function string
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#"):
		case fields[0] == "DATA": // DATA name<>+8(SB)/8, $0x1
			name, at, _ := strings.Cut(fields[1], "<>+")
			_, size, _ := strings.Cut(strings.TrimSuffix(at, ","), "/")
			v := binary.LittleEndian.AppendUint64(nil, number(fields[2]))
			data[name] = append(data[name], v[:number("$"+size)]...)
		case fields[0] == "GLOBL":
			name, _, _ := strings.Cut(fields[1], "<>")
			m.tables[name] = m.add(data[name], 0, true)
		case fields[0] == "TEXT": // TEXT ·hash4(SB), $1632-16
			_, name, _ := strings.Cut(strings.TrimSuffix(fields[1], "(SB),"), "·")
			frame, _, _ := strings.Cut(fields[len(fields)-1], "-")
			function = name
			m.starts[name], m.frames[name] = len(m.code), int(number(frame))
		case strings.HasSuffix(fields[0], ":"):
			m.labels[function+"."+strings.TrimSuffix(fields[0], ":")] = len(m.code)
		default:
			in := instruction{op: fields[0], line: strings.TrimSpace(line)}
			for _, arg := range strings.Split(strings.Join(fields[1:], ""), ",") {
				if strings.HasPrefix(in.op, "J") {
					arg = function + "." + arg
				}
				in.args = append(in.args, arg)
			}
			m.code = append(m.code, in)
		}
	}
	return m
}

// number reads an immediate operand.
func number(s string) uint64 {
	s = strings.TrimPrefix(s, "$")
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v)
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// call runs a function with its arguments.
func (m *machine) call(function string, args ...uint64) (err error) {
	m.args = args
	m.stack = m.add(make([]byte, m.frames[function]), 8, false) // frames are not aligned
	defer func() { m.segments = m.segments[:len(m.segments)-1] }()
	pc := m.starts[function]
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %s: %v", function, m.code[pc].line, r)
		}
	}()
	for {
		in := m.code[pc]
		m.steps++
		switch {
		case in.op == "RET":
			return nil
		case strings.HasPrefix(in.op, "J"):
			if pc++; m.holds(in.op[1:]) {
				pc = m.labels[in.args[0]]
			}
			continue
		case in.op == "PCALIGN":
		case m.scalar(in):
		case m.vector(in):
		default:
			panic("unknown instruction")
		}
		pc++
	}
}

// holds tells whether a condition holds.
func (m *machine) holds(condition string) bool {
	switch condition {
	case "MP":
		return true
	case "EQ":
		return m.zero
	case "NE":
		return !m.zero
	case "B":
		return m.below
	case "A":
		return !m.below && !m.zero
	case "LT":
		return m.less
	case "GT":
		return !m.less && !m.zero
	}
	panic("unknown condition " + condition)
}

var generalNames = strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")

// register finds a general register.
func (m *machine) register(name string) *uint64 {
	for i, n := range generalNames {
		if n == name && n != "SP" {
			return &m.general[i]
		}
	}
	panic("no register " + name)
}

// address computes the address of a memory operand: name<>+8(SB), name+8(FP), 8(SP), 8(AX).
func (m *machine) address(arg string) uint64 {
	at, base, _ := strings.Cut(strings.TrimSuffix(arg, ")"), "(")
	switch {
	case base == "SB":
		name, offset, _ := strings.Cut(at, "<>+")
		addr, ok := m.tables[name]
		if !ok {
			panic("no table " + name)
		}
		return addr + number(offset)
	case at == "":
		at = "0"
	}
	if base == "SP" {
		return m.stack + number(at)
	}
	return *m.register(base) + number(at)
}

func isMemory(arg string) bool { return strings.HasSuffix(arg, ")") }

// value reads an operand of 64 bits.
func (m *machine) value(arg string) uint64 {
	switch {
	case strings.HasPrefix(arg, "$"):
		return number(arg)
	case strings.HasSuffix(arg, "(FP)"):
		_, at, _ := strings.Cut(strings.TrimSuffix(arg, "(FP)"), "+")
		return m.args[number(at)/8]
	case isMemory(arg):
		return binary.LittleEndian.Uint64(m.at(m.address(arg), 8, false))
	}
	return *m.register(arg)
}

// set writes an operand of 64 bits.
func (m *machine) set(arg string, v uint64) {
	if isMemory(arg) {
		binary.LittleEndian.PutUint64(m.at(m.address(arg), 8, true), v)
		return
	}
	*m.register(arg) = v
}

// scalar runs an instruction on general registers, if it is one.
func (m *machine) scalar(in instruction) bool {
	if condition, ok := strings.CutPrefix(in.op, "CMOVQ"); ok {
		if m.holds(condition) {
			m.set(in.args[1], m.value(in.args[0]))
		}
		return true
	}
	last := in.args[len(in.args)-1]
	switch in.op {
	case "MOVQ":
		m.set(last, m.value(in.args[0]))
	case "LEAQ":
		m.set(last, m.address(in.args[0]))
	case "BZHIQ": // index, source, destination
		v := m.value(in.args[1])
		if n := m.value(in.args[0]) & 0xff; n < 64 {
			v &= 1<<n - 1
		}
		m.result(last, v)
	case "IMUL3Q":
		m.result(last, m.value(in.args[0])*m.value(in.args[1]))
	case "ADDQ":
		m.result(last, m.value(last)+m.value(in.args[0]))
	case "ANDQ":
		m.result(last, m.value(last)&m.value(in.args[0]))
	case "XORQ":
		m.result(last, m.value(last)^m.value(in.args[0]))
	case "XORL":
		m.result(last, uint64(uint32(m.value(last)^m.value(in.args[0]))))
	case "DECQ":
		m.result(last, m.value(last)-1)
	case "TESTQ":
		m.zero = m.value(in.args[0])&m.value(last) == 0
	case "CMPQ":
		m.compare(m.value(in.args[0]), m.value(last))
	case "SUBQ":
		m.compare(m.value(last), m.value(in.args[0]))
		m.set(last, m.value(last)-m.value(in.args[0]))
	case "KMOVQ":
		m.masks[number(strings.TrimPrefix(last, "K"))] = m.value(in.args[0])
	default:
		return false
	}
	return true
}

// result writes a result of which only whether it is zero is asked afterwards.
func (m *machine) result(arg string, v uint64) {
	m.set(arg, v)
	m.zero = v == 0
}

func (m *machine) compare(a, b uint64) {
	m.zero, m.less, m.below = a == b, int64(a) < int64(b), a < b
}
