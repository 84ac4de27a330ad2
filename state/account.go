package state

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// EmptyCodeHash is the Keccak-256 of no bytes: the code hash of an account without code.
var EmptyCodeHash = common.HexToHash(
	"c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")

const (
	hashItemLen = 1 + common.HashLength // RLP of a hash
	// maxAccountLen bounds both encodings: a two-byte header, 9 bytes of nonce, 33 each of
	// balance, storage root and code hash.
	maxAccountLen = 2 + 9 + 3*hashItemLen
)

// Account is an account of the state trie.
type Account struct {
	Nonce       uint64
	Balance     uint256.Int // wei
	StorageRoot common.Hash
	CodeHash    common.Hash
}

// NewAccount returns the account that an absent one stands for: nonce and balance zero, no
// storage, no code.
func NewAccount() Account {
	return Account{StorageRoot: trie.EmptyRoot, CodeHash: EmptyCodeHash}
}

// IsEmpty reports whether the account is empty in the sense of EIP-161: nonce zero, balance zero,
// no code.
func (a *Account) IsEmpty() bool {
	return a.Nonce == 0 && a.Balance.IsZero() && a.CodeHash == EmptyCodeHash
}

// AppendSlim appends the slim RLP of snap: the list of nonce, balance, storage root and code hash,
// where the roots of an empty storage and the hash of an empty code are empty strings.
func (a *Account) AppendSlim(dst []byte) []byte {
	n := uintLen(a.Nonce) + balanceLen(&a.Balance) + 2
	if a.StorageRoot != trie.EmptyRoot {
		n += common.HashLength
	}
	if a.CodeHash != EmptyCodeHash {
		n += common.HashLength
	}
	dst = a.appendHead(dst, n)
	dst = appendSlimHash(dst, &a.StorageRoot, &trie.EmptyRoot)
	return appendSlimHash(dst, &a.CodeHash, &EmptyCodeHash)
}

// AppendFull appends the consensus RLP, which is the leaf's value in the account trie.
func (a *Account) AppendFull(dst []byte) []byte {
	dst = a.appendHead(dst, uintLen(a.Nonce)+balanceLen(&a.Balance)+2*hashItemLen)
	dst = append(append(dst, 0xa0), a.StorageRoot[:]...)
	return append(append(dst, 0xa0), a.CodeHash[:]...)
}

// appendHead appends the header of a list of n bytes, the nonce and the balance.
func (a *Account) appendHead(dst []byte, n int) []byte {
	if n < 56 {
		dst = append(dst, 0xc0+byte(n))
	} else {
		dst = append(dst, 0xf8, byte(n))
	}
	dst = appendUint(dst, a.Nonce)
	if a.Balance.IsUint64() {
		return appendUint(dst, a.Balance.Uint64())
	}
	b := a.Balance.Bytes32()
	z := 32 - a.Balance.ByteLen()
	return append(append(dst, 0x80+byte(32-z)), b[z:]...)
}

// DecodeSlim decodes what AppendSlim writes, and nothing else.
func DecodeSlim(b []byte) (Account, error) {
	a := NewAccount()
	rest, err := a.decodeHead(b)
	if err != nil {
		return Account{}, err
	}
	if rest, err = decodeSlimHash(rest, &a.StorageRoot, &trie.EmptyRoot); err != nil {
		return Account{}, fmt.Errorf("%w: storage root", err)
	}
	if rest, err = decodeSlimHash(rest, &a.CodeHash, &EmptyCodeHash); err != nil {
		return Account{}, fmt.Errorf("%w: code hash", err)
	}
	if len(rest) != 0 {
		return Account{}, fmt.Errorf("%w: %d bytes too many", ErrBadAccount, len(rest))
	}
	return a, nil
}

// DecodeFull decodes the consensus RLP of an account.
func DecodeFull(b []byte) (Account, error) {
	var a Account
	rest, err := a.decodeHead(b)
	if err != nil {
		return Account{}, err
	}
	if len(rest) != 2*hashItemLen || rest[0] != 0xa0 || rest[hashItemLen] != 0xa0 {
		return Account{}, fmt.Errorf("%w: storage root and code hash", ErrBadAccount)
	}
	copy(a.StorageRoot[:], rest[1:])
	copy(a.CodeHash[:], rest[hashItemLen+1:])
	return a, nil
}

// decodeHead decodes the list header, nonce and balance, and returns what follows.
func (a *Account) decodeHead(b []byte) ([]byte, error) {
	if len(b) == 0 || len(b) > maxAccountLen {
		return nil, fmt.Errorf("%w: %d bytes", ErrBadAccount, len(b))
	}
	var body []byte
	switch c := b[0]; {
	case c >= 0xc0 && c < 0xc0+56:
		body = b[1:]
		if len(body) != int(c-0xc0) {
			return nil, fmt.Errorf("%w: list length", ErrBadAccount)
		}
	case c == 0xf8:
		body = b[min(2, len(b)):]
		if len(body) < 56 || len(body) != int(b[1]) {
			return nil, fmt.Errorf("%w: list length", ErrBadAccount)
		}
	default:
		return nil, fmt.Errorf("%w: not a list", ErrBadAccount)
	}
	nonce, body, ok := splitInt(body, 8)
	if !ok {
		return nil, fmt.Errorf("%w: nonce", ErrBadAccount)
	}
	balance, body, ok := splitInt(body, 32)
	if !ok {
		return nil, fmt.Errorf("%w: balance", ErrBadAccount)
	}
	var n [8]byte
	copy(n[8-len(nonce):], nonce)
	a.Nonce = binary.BigEndian.Uint64(n[:])
	a.Balance.SetBytes(balance)
	return body, nil
}

// splitInt cuts a canonical RLP integer of at most size bytes (at most 55) from the front of b.
func splitInt(b []byte, size int) (v, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	c := b[0]
	if c < 0x80 {
		return b[:1], b[1:], c != 0
	}
	n := int(c - 0x80)
	if n > size || len(b) < 1+n {
		return nil, nil, false
	}
	v, rest = b[1:1+n], b[1+n:]
	if n > 0 && v[0] == 0 || n == 1 && v[0] < 0x80 {
		return nil, nil, false
	}
	return v, rest, true
}

func decodeSlimHash(b []byte, h, empty *common.Hash) ([]byte, error) {
	if len(b) > 0 && b[0] == 0x80 {
		return b[1:], nil
	}
	if len(b) < hashItemLen || b[0] != 0xa0 || common.Hash(b[1:hashItemLen]) == *empty {
		return nil, ErrBadAccount
	}
	copy(h[:], b[1:hashItemLen])
	return b[hashItemLen:], nil
}

func appendSlimHash(dst []byte, h, empty *common.Hash) []byte {
	if *h == *empty {
		return append(dst, 0x80)
	}
	return append(append(dst, 0xa0), h[:]...)
}

// appendUint appends the RLP of v.
func appendUint(dst []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(dst, 0x80)
	case v < 0x80:
		return append(dst, byte(v))
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	z := bits.LeadingZeros64(v) / 8
	return append(append(dst, 0x80+byte(8-z)), b[z:]...)
}

// uintLen is the length of the RLP of v.
func uintLen(v uint64) int {
	if v < 0x80 {
		return 1
	}
	return 1 + (bits.Len64(v)+7)/8
}

func balanceLen(v *uint256.Int) int {
	if v.IsUint64() {
		return uintLen(v.Uint64())
	}
	return 1 + v.ByteLen()
}
