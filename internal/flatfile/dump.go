package flatfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// dumpMagic is the first string of geth's dumps (cmd/utils, exportMagic).
const dumpMagic = "gethdbdump"

// The operations of a dump's entries (cmd/utils, OpBatchAdd and OpBatchDel).
const (
	dumpAdd = 0
	dumpDel = 1
)

// The kinds of dumps that hold flat state (cmd/geth, chainExporters).
const (
	dumpSnapshot = "snapshot"
	dumpCode     = "code"
)

// dumpHeader is the first item of a dump (cmd/utils, exportHeader).
type dumpHeader struct {
	Magic    string
	Version  uint64
	Kind     string
	UnixTime uint64
}

const (
	maxDumpHeader = 255 // bytes; a header has some 30
	maxDumpKey    = 1 + 2*common.HashLength
	maxAccountRow = 2 + 9 + 3*33 // as in state.Account.AppendSlim
	maxSlotRow    = 33
)

// dump reads what geth exports.
type dump struct {
	in    *input
	kind  string
	order order
	row   Row
	slots bool // the accounts are over
}

// isDump says whether a file starts like one: an RLP list whose first item is the magic.
func isDump(start []byte) bool {
	i := bytes.Index(start, []byte(dumpMagic))
	return i == 2 || i == 3
}

func newDump(in *input) (*dump, error) {
	enc, err := in.list(maxDumpHeader)
	if err != nil {
		return nil, err
	}
	var h dumpHeader
	if err := rlp.DecodeBytes(enc, &h); err != nil || h.Magic != dumpMagic {
		return nil, fmt.Errorf("%w: the header of a geth dump: %v", ErrFormat, err)
	}
	if h.Version != 0 {
		return nil, fmt.Errorf("%w: a geth dump of version %d, only 0 is known", ErrVersion, h.Version)
	}
	d := &dump{in: in, kind: h.Kind}
	switch d.kind {
	case dumpSnapshot:
		return d, d.deletion()
	case dumpCode:
		return d, nil
	}
	return nil, fmt.Errorf("%w: a geth dump of kind %.20q: snapshot and code are read", ErrFormat,
		h.Kind)
}

// deletion takes the entry that a snapshot starts with.
func (d *dump) deletion() error {
	op, err := d.in.item(1)
	if err != nil {
		return err
	}
	if len(op) != 1 || op[0] != dumpDel {
		return fmt.Errorf("%w: a snapshot starts with a deletion", ErrRow)
	}
	key, err := d.in.item(maxDumpKey)
	if err != nil {
		return err
	}
	if !bytes.Equal(key, rawdb.SnapshotRootKey) {
		return fmt.Errorf("%w: a snapshot starts with the deletion of %s", ErrRow,
			rawdb.SnapshotRootKey)
	}
	value, err := d.in.item(0)
	if err == nil && len(value) != 0 {
		err = fmt.Errorf("%w: a deletion with a value", ErrRow)
	}
	return err
}

// next gives the next row, or io.EOF at the end.
func (d *dump) next() (*Row, error) {
	if more, err := d.in.more(); err != nil {
		return nil, err
	} else if !more {
		return nil, io.EOF
	}
	op, err := d.in.item(1)
	if err != nil {
		return nil, err
	}
	if len(op) != 0 { // 0, as RLP writes it
		return nil, fmt.Errorf("%w: operation %x where an entry is added", ErrRow, op)
	}
	key, err := d.in.item(maxDumpKey)
	if err != nil {
		return nil, err
	}
	if err := d.key(key); err != nil {
		return nil, err
	}
	if err := d.value(); err != nil {
		return nil, fmt.Errorf("%v: %w", &d.row, err)
	}
	return &d.row, nil
}

// key takes over the key of a row.
func (d *dump) key(key []byte) error {
	r, space := &d.row, byte(0)
	if len(key) > 0 {
		space = key[0]
	}
	switch {
	case d.kind == dumpSnapshot && space == 'a' && len(key) == 1+common.HashLength:
		if d.slots {
			return fmt.Errorf("%w: an account behind the slots", ErrOrder)
		}
		r.Kind, r.Hash = Account, common.Hash(key[1:])
	case d.kind == dumpSnapshot && space == 'o' && len(key) == maxDumpKey:
		d.slots = true
		r.Kind, r.Hash = Slot, common.Hash(key[1:1+common.HashLength])
		r.Slot = common.Hash(key[1+common.HashLength:])
	case d.kind == dumpCode && space == 'c' && len(key) == 1+common.HashLength:
		r.Kind, r.Hash = Code, common.Hash(key[1:])
	default:
		return fmt.Errorf("%w: the key %x has no place in a dump of kind %q", ErrRow, key, d.kind)
	}
	if err := d.order.next(r); err != nil {
		return fmt.Errorf("%v: %w", r, err)
	}
	return nil
}

// value takes the value of the row whose key was taken.
func (d *dump) value() (err error) {
	limits := [...]int{Account: maxAccountRow, Slot: maxSlotRow, Code: MaxCode}
	if d.row.Value, err = d.in.item(limits[d.row.Kind]); err != nil {
		return err
	}
	return d.row.check()
}

// check looks at the value of a row, and decodes an account's.
func (r *Row) check() (err error) {
	switch r.Kind {
	case Account:
		r.Account, err = state.DecodeSlim(r.Value)
	case Slot:
		_, err = state.DecodeSlot(r.Value)
	case Code:
		if keccak.Sum(r.Value) != r.Hash { // the empty code may be among them: geth has it
			err = errors.New("the code has another hash")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRow, err)
	}
	return nil
}

// String names a row in messages.
func (r *Row) String() string {
	switch r.Kind {
	case Account:
		return "account " + r.Hash.Hex()
	case Slot:
		return "slot " + r.Slot.Hex() + " of account " + r.Hash.Hex()
	case Code:
		return "code " + r.Hash.Hex()
	}
	return "no row"
}
