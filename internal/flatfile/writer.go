package flatfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/klauspost/compress/zstd"
)

// Writer writes a file of leaves: each account, followed by its slots, then the codes, all in
// ascending order. The bytes depend on nothing but what is written.
type Writer struct {
	z      *zstd.Encoder
	out    *bufio.Writer
	sum    hash.Hash
	counts Counts
	order  order
	row    Row
	head   []byte
	err    error
}

// NewWriter starts a file, which Finish ends.
func NewWriter(w io.Writer, chainID uint64, h *types.Header) (*Writer, error) {
	enc, err := rlp.EncodeToBytes(h)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if len(enc) > maxHeaderBytes {
		return nil, fmt.Errorf("header of %d bytes, at most %d", len(enc), maxHeaderBytes)
	}
	if _, err := io.WriteString(w, leavesMagic); err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(leavesWindow))
	if err != nil {
		return nil, err
	}
	f := &Writer{z: z, out: bufio.NewWriterSize(z, bufferBytes), sum: sha256.New()}
	f.sum.Write([]byte(leavesMagic))
	f.head = append(f.head[:0], recordHeader)
	f.head = binary.BigEndian.AppendUint64(f.head, chainID)
	f.head = binary.BigEndian.AppendUint32(f.head, uint32(len(enc)))
	return f, f.write(f.head, enc)
}

// write writes the pieces of a record.
func (f *Writer) write(pieces ...[]byte) error {
	for _, b := range pieces {
		if f.err != nil {
			return f.err
		}
		f.sum.Write(b)
		_, f.err = f.out.Write(b)
	}
	return f.err
}

// Account writes an account: its hash and slim RLP.
func (f *Writer) Account(hash common.Hash, slim []byte) error {
	f.row.Kind, f.row.Hash, f.row.Value = Account, hash, slim
	return f.record(recordAccount, &hash)
}

// Slot writes a slot of the account that was written last: the hash of its key, and the RLP of its
// value.
func (f *Writer) Slot(slot common.Hash, value []byte) error {
	if f.counts.Accounts == 0 {
		return fmt.Errorf("%w: a slot before the first account", ErrRow)
	}
	f.row.Kind, f.row.Hash, f.row.Slot, f.row.Value = Slot, f.order.account, slot, value
	return f.record(recordSlot, &slot)
}

// Code writes a code, by its hash, behind all accounts.
func (f *Writer) Code(hash common.Hash, code []byte) error {
	f.row.Kind, f.row.Hash, f.row.Value = Code, hash, code
	return f.record(recordCode, nil)
}

func (f *Writer) record(kind byte, key *common.Hash) error {
	r := &f.row
	if r.Kind != Code && f.counts.Codes > 0 {
		return fmt.Errorf("%v: %w: behind the codes", r, ErrOrder)
	}
	err := f.order.next(r)
	if err == nil {
		err = r.check()
	}
	if n := len(r.Value); err == nil && r.Kind == Code && (n == 0 || n > MaxCode) {
		err = fmt.Errorf("%w: a code of %d bytes, from 1 to %d", ErrRow, n, MaxCode)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", r, err)
	}
	f.head = append(f.head[:0], kind)
	if key != nil {
		f.head = append(append(f.head, key[:]...), byte(len(r.Value)))
	} else {
		f.head = binary.BigEndian.AppendUint32(f.head, uint32(len(r.Value)))
	}
	f.counts.add(r.Kind)
	return f.write(f.head, r.Value)
}

// Finish writes the end: without it a file counts as cut off.
func (f *Writer) Finish() error {
	f.head = append(f.head[:0], recordEnd)
	f.head = binary.BigEndian.AppendUint64(f.head, f.counts.Accounts)
	f.head = binary.BigEndian.AppendUint64(f.head, f.counts.Slots)
	f.head = binary.BigEndian.AppendUint64(f.head, f.counts.Codes)
	if err := f.write(f.head); err != nil {
		return err
	}
	if _, err := f.out.Write(f.sum.Sum(nil)); err != nil {
		return err
	}
	err := errors.Join(f.out.Flush(), f.z.Close())
	if f.err = errors.New("the file is finished"); err != nil {
		f.err = err
	}
	return err
}

// Counts are the numbers of rows so far.
func (f *Writer) Counts() Counts { return f.counts }
