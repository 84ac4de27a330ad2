package state

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// Reader reads one state fast, for one goroutine. It keeps an iterator a key space, which finds a
// key sooner the closer it lies behind the one before: ask in ascending order where you can. A
// Reader outlives its Snapshot and must be closed.
type Reader struct {
	s *Store
	v *view // nil once closed
	// seekers by key space. In files: what tables hold; in all: everything.
	files, all [numSeekSpaces]*pebble.Iterator
	near       [numSeekSpaces]nearby // where files stand, in the spaces of storage
	mem        arena
	key        keyBuf
}

// The key spaces that a Reader seeks in.
const (
	seekAccount = iota
	seekSlot
	seekAccountBranch
	seekStorageBranch
	numSeekSpaces
)

var seekSpaceByte = [numSeekSpaces]byte{
	seekAccount:       spaceAccount,
	seekSlot:          spaceSlot,
	seekAccountBranch: spaceAccountBranch,
	seekStorageBranch: spaceStorageBranch,
}

// NewReader returns a reader of the snapshot's state.
func (sn *Snapshot) NewReader() (*Reader, error) {
	sn.mu.RLock()
	defer sn.mu.RUnlock()
	if sn.v == nil {
		return nil, fmt.Errorf("new reader: %w", sn.err)
	}
	sn.s.share(sn.v)
	return &Reader{s: sn.s, v: sn.v}, nil
}

// Close releases the reader and the memory of all bytes that its tries returned. A second Close
// returns ErrClosed.
func (r *Reader) Close() error {
	if r.v == nil {
		return fmt.Errorf("close reader: %w", ErrClosed)
	}
	var errs []error
	for i := range numSeekSpaces {
		for _, it := range []*pebble.Iterator{r.files[i], r.all[i]} {
			if it != nil {
				errs = append(errs, it.Close())
			}
		}
	}
	errs = append(errs, r.s.release(r.v))
	r.v = nil
	r.mem.free()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close reader: %w", readError(err))
	}
	return nil
}

// Account returns the account with the given address hash; false if there is none.
func (r *Reader) Account(hash *common.Hash) (Account, bool, error) {
	v, err := r.exact(seekAccount, appendHashKey(r.key[:0], spaceAccount, hash))
	if err != nil {
		return Account{}, false, fmt.Errorf("account %x: %w", *hash, err)
	}
	if v == nil {
		return Account{}, false, nil
	}
	a, err := decodeAccountRow(hash, v)
	return a, err == nil, err
}

// SlimAccount returns the account's row, nil if there is none; valid until the next call.
func (r *Reader) SlimAccount(hash *common.Hash) ([]byte, error) {
	v, err := r.exact(seekAccount, appendHashKey(r.key[:0], spaceAccount, hash))
	if err != nil {
		return nil, fmt.Errorf("account %x: %w", *hash, err)
	}
	return v, nil
}

// Slot returns the slot's row, the RLP of the trimmed value; nil if it is not set. It is valid
// until the next call.
func (r *Reader) Slot(account, slot *common.Hash) ([]byte, error) {
	v, err := r.slot(account, appendSlotKey(r.key[:0], account, slot))
	if err == nil && v != nil {
		if _, err = splitSlot(v); err != nil {
			err = corrupt(err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("slot %x of account %x: %w", *slot, *account, err)
	}
	return v, nil
}

func (r *Reader) slot(account *common.Hash, key []byte) ([]byte, error) {
	if r.v == nil {
		return nil, ErrClosed
	}
	value, st := r.v.recentRow(key)
	if st != rowUnknown {
		return value, nil
	}
	it, err := r.seeker(seekSlot, r.v.files != nil)
	if err != nil {
		return nil, err
	}
	_, value, err = rowAt(it, r.near[seekSlot].find(it, account, key))
	return value, err
}

// exact returns the row with the given key, nil if there is none. Rows are never empty.
func (r *Reader) exact(space int, key []byte) ([]byte, error) {
	if r.v == nil {
		return nil, ErrClosed
	}
	value, st := r.v.recentRow(key)
	if st != rowUnknown {
		return value, nil
	}
	it, err := r.seeker(space, r.v.files != nil)
	if err != nil {
		return nil, err
	}
	// By prefix, which is the whole key, Pebble asks the files' filters before it looks into them.
	_, value, err = rowAt(it, it.SeekPrefixGE(key))
	return value, err
}

// seeker returns the reader's iterator over a key space: over tables alone, or over everything.
func (r *Reader) seeker(space int, inFiles bool) (it *pebble.Iterator, err error) {
	if inFiles {
		if r.files[space] == nil {
			r.files[space], err = r.v.filesIter(seekSpaceByte[space])
		}
		return r.files[space], readError(err)
	}
	if r.all[space] == nil {
		b := seekSpaceByte[space]
		r.all[space], err = r.v.iter([]byte{b}, []byte{b + 1})
	}
	return r.all[space], readError(err)
}
