package state

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// Snapshot is the state at one block, whatever is written later. It is safe for concurrent use and
// must be closed: it holds on to memtables and files that are obsolete otherwise. After Close its
// methods return ErrClosed, but the readers and iterators made from it live on until they are
// closed themselves.
type Snapshot struct {
	s *Store

	mu sync.RWMutex // held for reading by every method, for writing by Close
	v  *view        // nil once closed, or where err is set
	// err is why there is no view: the store was closed, or could not make one.
	err error
}

// NewSnapshot returns the state at the store's cursor. While a block is being written, that is the
// state before the block. Where the state cannot be read, or the store is closed, all methods of
// the snapshot return the error; so does Err, which Cursor does not tell from an unbuilt store.
func (s *Store) NewSnapshot() *Snapshot {
	v, err := s.acquire()
	return &Snapshot{s: s, v: v, err: readError(err)}
}

// Close releases the snapshot. A second Close returns ErrClosed.
func (sn *Snapshot) Close() error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.v == nil {
		return fmt.Errorf("close snapshot: %w", sn.err)
	}
	v := sn.v
	sn.v, sn.err = nil, ErrClosed
	if err := sn.s.release(v); err != nil {
		return fmt.Errorf("close snapshot: %w", err)
	}
	return nil
}

// Err says why there is nothing to read: the store or the snapshot is closed, or the state could
// not be read when the snapshot was made. It is nil where the methods work.
func (sn *Snapshot) Err() error {
	sn.mu.RLock()
	defer sn.mu.RUnlock()
	if sn.v == nil {
		return fmt.Errorf("snapshot: %w", sn.err)
	}
	return nil
}

// Cursor returns the block whose state it is; false if the store was not built yet, or where Err
// says that there is nothing to read.
func (sn *Snapshot) Cursor() (Cursor, bool) {
	sn.mu.RLock()
	defer sn.mu.RUnlock()
	if sn.v == nil {
		return Cursor{}, false
	}
	return sn.v.cursor, sn.v.built
}

// get calls f with the row's value, valid during the call; found is false, and f is not called,
// where there is no such row.
func (sn *Snapshot) get(key []byte, f func(value []byte) error) (found bool, err error) {
	sn.mu.RLock()
	defer sn.mu.RUnlock()
	if sn.v == nil {
		return false, sn.err
	}
	return sn.v.get(key, f)
}

// Account returns the account with the given address hash; false if there is none.
func (sn *Snapshot) Account(hash common.Hash) (Account, bool, error) {
	var a Account
	var key keyBuf
	ok, err := sn.get(appendHashKey(key[:0], spaceAccount, &hash), func(v []byte) (err error) {
		a, err = decodeAccountRow(&hash, v)
		return err
	})
	if err != nil {
		return Account{}, false, fmt.Errorf("account %x: %w", hash, err)
	}
	return a, ok, nil
}

// Slot returns the value of the account's slot with the given hash, zero if it is not set.
func (sn *Snapshot) Slot(account, slot common.Hash) (common.Hash, error) {
	var value common.Hash
	var key keyBuf
	_, err := sn.get(appendSlotKey(key[:0], &account, &slot), func(v []byte) (err error) {
		value, err = DecodeSlot(v)
		return corrupt(err)
	})
	if err != nil {
		return common.Hash{}, fmt.Errorf("slot %x of account %x: %w", slot, account, err)
	}
	return value, nil
}

// Code returns the code with the given hash; false if the store does not have it. The empty code
// has no row: it is known without one.
func (sn *Snapshot) Code(hash common.Hash) ([]byte, bool, error) {
	if hash == EmptyCodeHash {
		return nil, true, nil
	}
	code, ok, err := sn.copyRow(appendHashKey(nil, spaceCode, &hash))
	if err != nil {
		return nil, false, fmt.Errorf("code %x: %w", hash, err)
	}
	return code, ok, nil
}

// HasCode reports whether Code would find the code.
func (sn *Snapshot) HasCode(hash common.Hash) (bool, error) {
	if hash == EmptyCodeHash {
		return true, nil
	}
	ok, err := sn.get(appendHashKey(nil, spaceCode, &hash), func([]byte) error { return nil })
	if err != nil {
		return false, fmt.Errorf("code %x: %w", hash, err)
	}
	return ok, nil
}

// Header returns the header of a block between the one that the store was built at and the cursor;
// ErrUnknownBlock for any other.
func (sn *Snapshot) Header(number uint64, hash common.Hash) (*types.Header, error) {
	h := new(types.Header)
	ok, err := sn.get(appendNumberHashKey(nil, spaceHeader, number, &hash), func(v []byte) error {
		return corrupt(rlp.DecodeBytes(v, h))
	})
	if err == nil && !ok {
		err = ErrUnknownBlock
	}
	if err != nil {
		return nil, fmt.Errorf("header of block %d (%x): %w", number, hash, err)
	}
	return h, nil
}

// HeaderNumber returns the number of a block that Header knows; false for any other.
func (sn *Snapshot) HeaderNumber(hash common.Hash) (uint64, bool, error) {
	var number uint64
	ok, err := sn.get(appendHashKey(nil, spaceNumber, &hash), func(v []byte) error {
		if len(v) != 8 {
			return fmt.Errorf("%w: %d bytes", ErrBadRow, len(v))
		}
		number = binary.BigEndian.Uint64(v)
		return nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("number of block %x: %w", hash, err)
	}
	return number, ok, nil
}

// BAL returns the raw block access list of a block that was committed; false for any other.
func (sn *Snapshot) BAL(hash common.Hash) ([]byte, bool, error) {
	raw, ok, err := sn.copyRow(appendHashKey(nil, spaceBAL, &hash))
	if err != nil {
		return nil, false, fmt.Errorf("block access list of block %x: %w", hash, err)
	}
	return raw, ok, nil
}

// ReverseDiff returns what undoes a block that was committed; ErrUnknownBlock for any other.
func (sn *Snapshot) ReverseDiff(number uint64, hash common.Hash) (*ReverseDiff, error) {
	var d *ReverseDiff
	key := appendNumberHashKey(nil, spaceReverseDiff, number, &hash)
	ok, err := sn.get(key, func(v []byte) (err error) {
		d, err = DecodeReverseDiff(v)
		return corrupt(err)
	})
	if err == nil && !ok {
		err = ErrUnknownBlock
	}
	if err != nil {
		return nil, fmt.Errorf("reverse diff of block %d (%x): %w", number, hash, err)
	}
	return d, nil
}

// copyRow reads a row into memory of its own.
func (sn *Snapshot) copyRow(key []byte) (value []byte, ok bool, err error) {
	ok, err = sn.get(key, func(v []byte) error {
		value = append(make([]byte, 0, len(v)), v...)
		return nil
	})
	return value, ok, err
}

// corrupt marks the error of a row that does not decode.
func corrupt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrBadRow, err)
}

func decodeAccountRow(hash *common.Hash, v []byte) (Account, error) {
	a, err := DecodeSlim(v)
	if err != nil {
		return Account{}, fmt.Errorf("account %x: %w", *hash, corrupt(err))
	}
	return a, nil
}
