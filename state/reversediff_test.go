package state

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// diffOf is the reverse diff that a layer should have.
func diffOf(l *Layer) *ReverseDiff {
	d := new(ReverseDiff)
	for _, w := range l.Accounts {
		if !bytes.Equal(w.Pre, w.Post) {
			d.Accounts = append(d.Accounts, AccountWrite{Hash: w.Hash, Pre: w.Pre})
		}
	}
	for _, w := range l.Slots {
		if !bytes.Equal(w.Pre, w.Post) {
			d.Slots = append(d.Slots, SlotWrite{Account: w.Account, Slot: w.Slot, Pre: w.Pre})
		}
	}
	for _, w := range l.Codes {
		d.Codes = append(d.Codes, w.Hash)
	}
	return d
}

func TestReverseDiffHoldsWhatWasBefore(t *testing.T) {
	c := newChain(newRand(1), 40)
	for range 200 {
		l := c.layer(1 + c.r.Intn(15))
		c.next(l)
		d, err := DecodeReverseDiff(l.appendReverseDiff(nil))
		if err != nil || !reflect.DeepEqual(d, diffOf(l)) {
			t.Fatalf("%+v, %v, want %+v", d, err, diffOf(l))
		}
	}
}

// rlpList wraps encoded items into a list.
func rlpList(items ...[]byte) []byte {
	body := bytes.Join(items, nil)
	switch n := len(body); {
	case n < 56:
		return append([]byte{0xc0 + byte(n)}, body...)
	case n < 256:
		return append([]byte{0xf8, byte(n)}, body...)
	default:
		return append([]byte{0xf9, byte(n >> 8), byte(n)}, body...)
	}
}

func TestDecodeReverseDiffIsStrict(t *testing.T) {
	hash := func(x byte) []byte { return append([]byte{0xa0}, bytes.Repeat([]byte{x}, 32)...) }
	row := func(x byte, pre ...byte) []byte { return rlpList(hash(x), pre) }
	group := func(x byte, rows ...[]byte) []byte { return rlpList(hash(x), rlpList(rows...)) }
	diff := func(a, s, c []byte) []byte { return rlpList(rlpList(a), rlpList(s), rlpList(c)) }
	long := append([]byte{0xb8, 111}, make([]byte, 111)...)
	good := diff(row(1, 0x80), group(1, row(1, 5), row(2, 0x80)), append(hash(1), hash(2)...))
	if d, err := DecodeReverseDiff(good); err != nil || len(d.Slots) != 2 || len(d.Codes) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"a string":              {0x80},
		"two lists":             rlpList(rlpList(), rlpList()),
		"four lists":            rlpList(rlpList(), rlpList(), rlpList(), rlpList()),
		"bytes behind":          append(bytes.Clone(good), 0x80),
		"cut off":               good[:len(good)-1],
		"accounts descend":      diff(append(row(2, 0x80), row(1, 0x80)...), nil, nil),
		"an account twice":      diff(append(row(1, 0x80), row(1, 0x80)...), nil, nil),
		"an account too long":   diff(rlpList(hash(1), long), nil, nil),
		"an account of 3 items": diff(rlpList(hash(1), []byte{0x80}, []byte{0x80}), nil, nil),
		"an account's pre list": diff(rlpList(hash(1), []byte{0xc0}), nil, nil),
		"a short hash":          diff(rlpList([]byte{0x81, 0x80}, []byte{0x80}), nil, nil),
		"groups descend": diff(nil, append(group(2, row(1, 1)), group(1, row(1, 1))...),
			nil),
		"a group twice":   diff(nil, append(group(1, row(1, 1)), group(1, row(2, 1))...), nil),
		"an empty group":  diff(nil, group(1), nil),
		"slots descend":   diff(nil, group(1, row(2, 1), row(1, 1)), nil),
		"a slot too long": diff(nil, group(1, rlpList(hash(1), long)), nil),
		"codes descend":   diff(nil, nil, append(hash(2), hash(1)...)),
		"a code twice":    diff(nil, nil, append(hash(1), hash(1)...)),
		"a code as list":  diff(nil, nil, rlpList(hash(1))),
	} {
		if d, err := DecodeReverseDiff(b); !errors.Is(err, ErrBadReverseDiff) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func FuzzDecodeReverseDiff(f *testing.F) {
	c := newChain(newRand(1), 10)
	for range 10 {
		l := c.layer(4)
		c.next(l)
		f.Add(l.appendReverseDiff(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DecodeReverseDiff(b)
		if err != nil {
			return
		}
		// As a layer with other values after, it must give the same bytes.
		l := new(Layer)
		for _, w := range d.Accounts {
			w.Post = append([]byte{1}, w.Pre...)
			l.Accounts = append(l.Accounts, w)
		}
		for _, w := range d.Slots {
			w.Post = append([]byte{1}, w.Pre...)
			l.Slots = append(l.Slots, w)
		}
		for _, h := range d.Codes {
			l.Codes = append(l.Codes, CodeWrite{Hash: h})
		}
		if again := l.appendReverseDiff(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x encodes as %x", b, again)
		}
	})
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(appendCursor(nil, &Cursor{Number: 5, Hash: common.Hash{1}, Root: common.Hash{2}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCursor(b)
		if (err == nil) != (len(b) == 72) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err == nil && !bytes.Equal(appendCursor(nil, &c), b) {
			t.Fatalf("%x encodes as %x", b, appendCursor(nil, &c))
		}
	})
}
