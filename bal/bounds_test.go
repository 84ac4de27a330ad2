package bal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// memory is what the decoded list takes, in bytes, without the bytes it refers to.
func memory(l *bal.AccessList) (n int) {
	n = int(unsafe.Sizeof(*l))
	for i := range l.Accounts {
		a := &l.Accounts[i]
		n += int(unsafe.Sizeof(*a)) + len(a.StorageReads)*common.HashLength +
			len(a.BalanceChanges)*int(unsafe.Sizeof(bal.BalanceChange{})) +
			len(a.NonceChanges)*int(unsafe.Sizeof(bal.NonceChange{})) +
			len(a.CodeChanges)*int(unsafe.Sizeof(bal.CodeChange{}))
		for j := range a.StorageChanges {
			n += int(unsafe.Sizeof(a.StorageChanges[j])) +
				len(a.StorageChanges[j].Changes)*int(unsafe.Sizeof(bal.StorageChange{}))
		}
	}
	return n
}

// memoryFactor bounds what a list may take, as a multiple of its bytes. Slots that are read are
// the worst: the first 128 take a byte each in the list, and 32 in memory.
const memoryFactor = 32

func numberHash(n uint64) (h common.Hash) {
	binary.BigEndian.PutUint64(h[24:], n)
	return h
}

// bigList has the given number of accounts, and slots in each, every one changed once.
func bigList(accounts, slots int) *bal.AccessList {
	l := &bal.AccessList{Accounts: make([]bal.AccountChanges, accounts)}
	for i := range l.Accounts {
		a := &l.Accounts[i]
		binary.BigEndian.PutUint64(a.Address[:8], uint64(i))
		a.BalanceChanges = []bal.BalanceChange{{Index: 1, Balance: *uint256.NewInt(uint64(i))}}
		for j := range slots {
			a.StorageChanges = append(a.StorageChanges, bal.SlotChanges{
				Slot:    numberHash(uint64(j)),
				Changes: []bal.StorageChange{{Index: 1, Value: numberHash(uint64(j + 1))}},
			})
		}
	}
	return l
}

func TestBigListsDecodeInBoundedMemory(t *testing.T) {
	dense := bigList(1000, 0) // with the shortest entries there are
	for i := range dense.Accounts {
		a := &dense.Accounts[i]
		a.BalanceChanges = nil
		for j := range uint32(128) {
			switch i % 4 {
			case 0:
				a.CodeChanges = append(a.CodeChanges, bal.CodeChange{Index: j})
			case 1:
				a.BalanceChanges = append(a.BalanceChanges, bal.BalanceChange{Index: j})
			case 2:
				a.NonceChanges = append(a.NonceChanges, bal.NonceChange{Index: j})
			default:
				a.StorageReads = append(a.StorageReads, numberHash(uint64(j)))
			}
		}
	}
	for name, l := range map[string]*bal.AccessList{
		"no account": {}, "one account": bigList(1, 0), "30,000 accounts": bigList(30_000, 0),
		"50,000 slots": bigList(1, 50_000), "shortest entries": dense,
	} {
		raw := bal.Encode(l)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := bal.Decode(raw, noLimits)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Items() != l.Items() || !bytes.Equal(bal.Encode(got), raw) {
			t.Errorf("%s: another list", name)
		}
		// A size class rounds a slab up by at most an eighth, or to a page.
		taken := after.TotalAlloc - before.TotalAlloc
		if limit := uint64(memoryFactor*len(raw))*9/8 + 64<<10; taken > limit {
			t.Errorf("%s: %d bytes took %d", name, len(raw), taken)
		}
	}
}

func TestDecodingTakesFewAllocations(t *testing.T) {
	raw := bal.Encode(bigList(1000, 2))
	allocations := testing.AllocsPerRun(10, func() {
		if _, err := bal.Decode(raw, noLimits); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 10 {
		t.Errorf("%v allocations for 1,000 accounts", allocations)
	}
}

func TestRefusedListsTakeNoMemory(t *testing.T) {
	body := func(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n) }
	const size = 1 << 20
	for name, c := range map[string]struct {
		v    list
		want error
	}{
		"a million reads of the same slot": {
			list{row(addr(1), nil, list{raw(body(size, 1))}, nil, nil, nil)}, bal.ErrReadOrder},
		"a million empty rows": {list{raw(body(size, 0xc0))}, bal.ErrTruncated},
		"a million slots without changes": {
			list{row(addr(1), list{raw(body(size, 0xc0))}, nil, nil, nil, nil)}, bal.ErrTruncated},
		"index 1 a third of a million times": {
			list{row(addr(1), nil, nil, nil, list{raw(bytes.Repeat([]byte{0xc2, 1, 1}, size/3))},
				nil)}, bal.ErrIndexOrder},
	} {
		b := encode(t, c.v)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := bal.Decode(b, noLimits)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<10 {
			t.Errorf("%s: %d bytes", name, taken)
		}
	}
}
