package bal

import (
	"encoding/binary"
	"math/bits"

	"github.com/ethereum/go-ethereum/common"
)

// Encode returns the canonical RLP of the list as it stands: it neither sorts nor checks, so a
// list that breaks a rule gives bytes that Decode refuses. Decode then Encode is the identity.
func Encode(l *AccessList) []byte {
	total := 0
	for i := range l.Accounts {
		total += size(rowSize(&l.Accounts[i]))
	}
	b := appendListHeader(make([]byte, 0, size(total)), total)
	for i := range l.Accounts {
		b = appendRow(b, &l.Accounts[i])
	}
	return b
}

// The payloads of the lists of a row, in bytes. A list's header is put before its payload, so the
// sizes are needed first.
type fieldSizes struct{ storage, reads, balances, nonces, codes int }

func sizesOf(a *AccountChanges) (s fieldSizes) {
	for i := range a.StorageChanges {
		c := &a.StorageChanges[i]
		s.storage += size(integerSize(c.Slot[:]) + size(slotSize(c)))
	}
	for i := range a.StorageReads {
		s.reads += integerSize(a.StorageReads[i][:])
	}
	for i := range a.BalanceChanges {
		c := &a.BalanceChanges[i]
		v := c.Balance.Bytes32()
		s.balances += size(uintSize(uint64(c.Index)) + integerSize(v[:]))
	}
	for _, c := range a.NonceChanges {
		s.nonces += size(uintSize(uint64(c.Index)) + uintSize(c.Nonce))
	}
	for _, c := range a.CodeChanges {
		s.codes += size(uintSize(uint64(c.Index)) + bytesSize(c.Code))
	}
	return s
}

// slotSize is the payload of a slot's list of changes.
func slotSize(c *SlotChanges) (n int) {
	for i := range c.Changes {
		w := &c.Changes[i]
		n += size(uintSize(uint64(w.Index)) + integerSize(w.Value[:]))
	}
	return n
}

func (s fieldSizes) row() int {
	return 1 + common.AddressLength +
		size(s.storage) + size(s.reads) + size(s.balances) + size(s.nonces) + size(s.codes)
}

func rowSize(a *AccountChanges) int { return sizesOf(a).row() }

func appendRow(b []byte, a *AccountChanges) []byte {
	s := sizesOf(a)
	b = appendListHeader(b, s.row())
	b = appendBytes(b, a.Address[:])
	b = appendListHeader(b, s.storage)
	for i := range a.StorageChanges {
		c := &a.StorageChanges[i]
		n := slotSize(c)
		b = appendListHeader(b, integerSize(c.Slot[:])+size(n))
		b = appendInteger(b, c.Slot[:])
		b = appendListHeader(b, n)
		for j := range c.Changes {
			w := &c.Changes[j]
			b = appendListHeader(b, uintSize(uint64(w.Index))+integerSize(w.Value[:]))
			b = appendInteger(appendUint(b, uint64(w.Index)), w.Value[:])
		}
	}
	b = appendListHeader(b, s.reads)
	for i := range a.StorageReads {
		b = appendInteger(b, a.StorageReads[i][:])
	}
	b = appendListHeader(b, s.balances)
	for i := range a.BalanceChanges {
		c := &a.BalanceChanges[i]
		v := c.Balance.Bytes32()
		b = appendListHeader(b, uintSize(uint64(c.Index))+integerSize(v[:]))
		b = appendInteger(appendUint(b, uint64(c.Index)), v[:])
	}
	b = appendListHeader(b, s.nonces)
	for _, c := range a.NonceChanges {
		b = appendListHeader(b, uintSize(uint64(c.Index))+uintSize(c.Nonce))
		b = appendUint(appendUint(b, uint64(c.Index)), c.Nonce)
	}
	b = appendListHeader(b, s.codes)
	for _, c := range a.CodeChanges {
		b = appendListHeader(b, uintSize(uint64(c.Index))+bytesSize(c.Code))
		b = appendBytes(appendUint(b, uint64(c.Index)), c.Code)
	}
	return b
}

// size is that of an item with a header before n bytes of payload.
func size(n int) int {
	if n < 56 {
		return 1 + n
	}
	return 1 + (bits.Len64(uint64(n))+7)/8 + n
}

func bytesSize(v []byte) int {
	if len(v) == 1 && v[0] < 0x80 {
		return 1
	}
	return size(len(v))
}

func integerSize(v []byte) int { return bytesSize(common.TrimLeftZeroes(v)) }

func uintSize(v uint64) int {
	if v < 0x80 {
		return 1
	}
	return 1 + (bits.Len64(v)+7)/8
}

func appendHeader(b []byte, short byte, n int) []byte {
	if n < 56 {
		return append(b, short+byte(n))
	}
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], uint64(n))
	length := common.TrimLeftZeroes(be[:])
	return append(append(b, short+55+byte(len(length))), length...)
}

func appendListHeader(b []byte, n int) []byte { return appendHeader(b, 0xc0, n) }

func appendBytes(b, v []byte) []byte {
	if len(v) == 1 && v[0] < 0x80 {
		return append(b, v[0])
	}
	return append(appendHeader(b, 0x80, len(v)), v...)
}

func appendInteger(b, v []byte) []byte { return appendBytes(b, common.TrimLeftZeroes(v)) }

func appendUint(b []byte, v uint64) []byte {
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], v)
	return appendInteger(b, be[:])
}
