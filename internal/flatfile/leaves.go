package flatfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/klauspost/compress/zstd"

	"github.com/balsa-sync/balsa/trie/keccak"
)

// leavesMagic starts a file of leaves; its last byte is the version.
const leavesMagic = "\x89BLEAF\n" + "\x01"

const leavesVersionAt = len(leavesMagic) - 1

// The records of a file of leaves.
const (
	recordHeader  = 'H'
	recordAccount = 'A'
	recordSlot    = 'S'
	recordCode    = 'C'
	recordEnd     = 'E'
)

const (
	maxHeaderBytes = 64 << 10
	leavesWindow   = 1 << 20 // of the compression, in bytes
	maxWindow      = 8 << 20 // what a reader gives to it
)

// Counts are the numbers of rows.
type Counts struct {
	Accounts uint64 `json:"accounts"`
	Slots    uint64 `json:"slots"`
	Codes    uint64 `json:"codes"`
}

func (c *Counts) add(k Kind) {
	switch k {
	case Account:
		c.Accounts++
	case Slot:
		c.Slots++
	case Code:
		c.Codes++
	}
}

// leaves reads a file of leaves.
type leaves struct {
	in      *input
	z       *zstd.Decoder
	sum     hash.Hash
	chainID uint64
	header  *types.Header

	counts  Counts
	order   order
	row     Row
	account common.Hash // of the slots that come
	codes   bool        // the accounts are over
	ended   bool
}

// isLeaves says whether a file starts like one of leaves, of whatever version.
func isLeaves(start []byte) bool {
	return bytes.HasPrefix(start, []byte(leavesMagic[:leavesVersionAt]))
}

// newLeaves reads as far as the header. r stands at the magic.
func newLeaves(r io.Reader, file *fileReader) (*leaves, error) {
	var magic [len(leavesMagic)]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil, readError(err)
	}
	if v := magic[leavesVersionAt]; v != leavesMagic[leavesVersionAt] {
		return nil, fmt.Errorf("%w: leaves of version %d, only %d is known", ErrVersion, v,
			leavesMagic[leavesVersionAt])
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, readError(fmt.Errorf("%w: %w", errUnpack, err))
	}
	l := &leaves{in: newInput(unpacker{z, file}), z: z, sum: sha256.New()}
	l.sum.Write(magic[:])
	if err := l.readHeader(); err != nil {
		z.Close()
		return nil, fmt.Errorf("header: %w", err)
	}
	return l, nil
}

func (l *leaves) close() { l.z.Close() }

// take takes n bytes into the checksum.
func (l *leaves) take(n int) ([]byte, error) {
	b, err := l.in.take(n)
	l.sum.Write(b)
	return b, err
}

func (l *leaves) readHeader() error {
	b, err := l.take(1 + 8 + 4)
	if err != nil {
		return err
	}
	l.chainID = binary.BigEndian.Uint64(b[1:])
	n := binary.BigEndian.Uint32(b[9:])
	if b[0] != recordHeader || n > maxHeaderBytes {
		return fmt.Errorf("%w: record %#x of %d bytes", ErrRow, b[0], n)
	}
	enc, err := l.take(int(n))
	if err != nil {
		return err
	}
	l.header = new(types.Header)
	if err := rlp.DecodeBytes(enc, l.header); err != nil {
		return fmt.Errorf("%w: %w", ErrRow, err)
	}
	if err := l.header.SanityCheck(); err != nil {
		return fmt.Errorf("%w: %w", ErrRow, err)
	}
	return nil
}

// next gives the next row, or io.EOF behind an end that is right.
func (l *leaves) next() (*Row, error) {
	if l.ended {
		return nil, io.EOF
	}
	kind, err := l.take(1)
	if err != nil {
		return nil, err
	}
	r := &l.row
	switch kind[0] {
	case recordAccount:
		r.Kind = Account
	case recordSlot:
		r.Kind = Slot
	case recordCode:
		r.Kind = Code
	case recordEnd:
		return nil, l.end()
	default:
		return nil, fmt.Errorf("%w: a record of kind %#x", ErrRow, kind[0])
	}
	if err := l.read(r); err != nil {
		return nil, err
	}
	if err := l.order.next(r); err != nil {
		return nil, fmt.Errorf("%v: %w", r, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%v: %w", r, err)
	}
	l.counts.add(r.Kind)
	return r, nil
}

func (l *leaves) read(r *Row) error {
	if r.Kind == Code {
		return l.readCode(r)
	}
	b, err := l.take(common.HashLength + 1)
	if err != nil {
		return err
	}
	key, n := common.Hash(b[:common.HashLength]), int(b[common.HashLength])
	limit := maxAccountRow
	switch {
	case l.codes:
		return fmt.Errorf("%w: an account or a slot behind the codes", ErrOrder)
	case r.Kind == Account:
		l.account, r.Hash = key, key
	case l.counts.Accounts == 0:
		return fmt.Errorf("%w: a slot before the first account", ErrRow)
	default:
		r.Hash, r.Slot, limit = l.account, key, maxSlotRow
	}
	if n > limit {
		return fmt.Errorf("%v: %w: %d bytes, at most %d", r, ErrRow, n, limit)
	}
	r.Value, err = l.take(n)
	return err
}

func (l *leaves) readCode(r *Row) error {
	l.codes = true
	b, err := l.take(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(b)
	if n == 0 || n > MaxCode {
		return fmt.Errorf("%w: a code of %d bytes, from 1 to %d", ErrRow, n, MaxCode)
	}
	if r.Value, err = l.take(int(n)); err != nil {
		return err
	}
	r.Hash = keccak.Sum(r.Value)
	return nil
}

// end checks counts, checksum, and that nothing follows. It returns io.EOF where all is right.
func (l *leaves) end() error {
	b, err := l.take(3 * 8)
	if err != nil {
		return err
	}
	said := Counts{
		binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]),
	}
	if said != l.counts {
		return fmt.Errorf("%w: it ends with counts %v, there were %v", ErrDamaged, said, l.counts)
	}
	want := l.sum.Sum(nil)
	got, err := l.in.take(len(want))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: checksum %x, it says %x", ErrDamaged, want, got)
	}
	if more, err := l.in.more(); err != nil {
		return err
	} else if more {
		return fmt.Errorf("%w: there is something behind its end", ErrDamaged)
	}
	l.ended = true
	return io.EOF
}
