package simulation

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"time"
)

// Legend says how to read a trace.
const Legend = `# step  time       what
#   ->    a message is delivered:  actor  message  (k of n actors could go on)
#   !!    a fault is injected
#   ==    a quiet point: where the store stands, and the digest of its rows
#   **    what the embedder does or is answered
`

// trace takes what happens, as a digest and, where it is wanted, as text.
type trace struct {
	sum   hash.Hash64
	out   io.Writer // nil: nobody reads it
	buf   []byte
	start time.Time
}

func newTrace(out io.Writer) *trace { return &trace{sum: fnv.New64a(), out: out} }

// step notes a delivery.
func (t *trace) step(n int, now time.Time, actor, msg string, k, of int) {
	t.buf = binary.LittleEndian.AppendUint32(t.buf[:0], uint32(n))
	t.buf = append(append(t.buf, byte(k), byte(of)), actor...)
	t.buf = append(t.buf, msg...)
	t.sum.Write(t.buf)
	if t.out != nil {
		fmt.Fprintf(t.out, "%6d %10v -> %s %s (%d of %d)\n", n, now.Sub(epoch), actor, msg, k+1, of)
	}
}

// note takes a line.
func (t *trace) note(n int, now time.Time, mark, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	io.WriteString(t.sum, line)
	if t.out != nil {
		fmt.Fprintf(t.out, "%6d %10v %s %s\n", n, now.Sub(epoch), mark, line)
	}
}

// fingerprint is the digest of all that happened.
func (t *trace) fingerprint() uint64 { return t.sum.Sum64() }
