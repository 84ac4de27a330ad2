package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// BulkReader reads the flat rows that a build holds, in order of key. It is for one goroutine and
// must be closed; it may outlive the build.
type BulkReader struct {
	b                *Bulk
	closed           bool
	slots, accts     forward
	roots            forward // corrections of accounts
	account          common.Hash
	slot, key        common.Hash
	lower            keyBuf
	slim             [maxAccountLen]byte
	rootKey, rootVal []byte // the correction that roots stands at; nil behind the last
}

// NewReader returns a reader that sees what was durable when it was made: see Sync.
func (b *Bulk) NewReader() (*BulkReader, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	b.s.mu.Lock()
	b.s.users++
	b.s.mu.Unlock()
	r := &BulkReader{b: b}
	r.slots = forward{lower: []byte{spaceSlot}, upper: []byte{spaceSlot + 1}}
	r.accts = forward{lower: []byte{spaceAccount}, upper: []byte{spaceAccount + 1}}
	r.roots = forward{lower: []byte(metaRoot), upper: successor([]byte(metaRoot))}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open makes the iterators.
func (r *BulkReader) open() error {
	for _, f := range []*forward{&r.slots, &r.accts, &r.roots} {
		it, err := r.b.s.db.NewIter(&pebble.IterOptions{LowerBound: f.lower, UpperBound: f.upper})
		if err != nil {
			return fmt.Errorf("read rows of the build: %w", readError(err))
		}
		*f = forward{it: it, lower: f.lower, upper: f.upper}
	}
	return nil
}

func (r *BulkReader) release() error {
	var errs error
	for _, f := range []*forward{&r.slots, &r.accts, &r.roots} {
		if f.it != nil {
			errs = errors.Join(errs, f.it.Close())
			f.it = nil
		}
	}
	return readError(errs)
}

// Refresh makes the reader see what is durable now. It stands nowhere afterwards.
func (r *BulkReader) Refresh() error {
	if r.closed {
		return fmt.Errorf("refresh reader: %w", ErrClosed)
	}
	if err := r.b.enter(); err != nil {
		return err
	}
	defer r.b.leave()
	if err := r.release(); err != nil {
		return err
	}
	return r.open()
}

// Close releases the reader. A second Close returns ErrClosed.
func (r *BulkReader) Close() error {
	if r.closed {
		return fmt.Errorf("close reader: %w", ErrClosed)
	}
	r.closed = true
	err := r.release()
	s := r.b.s
	s.mu.Lock()
	s.users--
	s.mu.Unlock()
	return err
}

// SeekSlots goes to the account's first slot at from or behind it.
func (r *BulkReader) SeekSlots(account, from *common.Hash) {
	r.account = *account
	r.slots.seek(appendSlotKey(r.lower[:0], account, from))
}

// NextSlot returns the next slot of the account of SeekSlots with its row, the RLP of the trimmed
// value; false behind the last one. Both are valid until the reader's next call.
func (r *BulkReader) NextSlot() (slot *common.Hash, value []byte, ok bool, err error) {
	key, err := r.slots.peek()
	if key == nil {
		return nil, nil, false, err
	}
	if len(key) != slotKeyLen {
		return nil, nil, false, fmt.Errorf("%w: slot with key %x", ErrCorrupt, key)
	}
	if !bytes.Equal(key[1:accountKeyLen], r.account[:]) {
		return nil, nil, false, nil
	}
	copy(r.slot[:], key[accountKeyLen:])
	value, err = r.slots.take()
	return &r.slot, value, err == nil, err
}

// NextStorageAccount returns the first account with slots behind the given one, nil being before
// all, and goes to its first slot.
func (r *BulkReader) NextStorageAccount(after *common.Hash) (
	account common.Hash, ok bool, err error) {
	key := appendHashKey(r.lower[:0], spaceSlot, &common.Hash{})
	if after != nil {
		if next, more := increment(*after); more {
			copy(key[1:], next[:])
		} else {
			key[0]++ // behind all
		}
	}
	r.slots.seek(key)
	if key, err = r.slots.peek(); key == nil {
		return account, false, err
	}
	if len(key) != slotKeyLen {
		return account, false, fmt.Errorf("%w: slot with key %x", ErrCorrupt, key)
	}
	r.account = common.Hash(key[1:])
	return r.account, true, nil
}

// SeekAccounts goes to the first account at from or behind it.
func (r *BulkReader) SeekAccounts(from *common.Hash) {
	r.accts.seek(appendHashKey(r.lower[:0], spaceAccount, from))
	r.roots.seek(append(append(r.lower[:0], metaRoot...), from[:]...))
	r.rootKey = nil
}

// NextAccount returns the next account and its row as it will be after Commit, with the storage
// root that SetStorageRoot gave it; false behind the last one. Both are valid until the reader's
// next call.
func (r *BulkReader) NextAccount() (hash *common.Hash, slim []byte, ok bool, err error) {
	key, err := r.accts.peek()
	if key == nil {
		return nil, nil, false, err
	}
	if len(key) != accountKeyLen {
		return nil, nil, false, fmt.Errorf("%w: account with key %x", ErrCorrupt, key)
	}
	copy(r.key[:], key[1:])
	if slim, err = r.accts.take(); err != nil {
		return nil, nil, false, err
	}
	root, err := r.rootOf(r.key[:])
	if root != nil {
		slim, err = r.corrected(slim, root)
	}
	return &r.key, slim, err == nil, err
}

// rootOf returns the correction of the account's storage root, nil if there is none.
func (r *BulkReader) rootOf(account []byte) ([]byte, error) {
	for {
		key, err := r.roots.peek()
		if key == nil {
			return nil, err
		}
		switch bytes.Compare(key[len(metaRoot):], account) {
		case 0:
			root, err := r.roots.value()
			if err == nil && len(root) != common.HashLength {
				err = fmt.Errorf("%w: root of account %x", errManifest, account)
			}
			return root, err
		case 1:
			return nil, nil
		}
		if _, err := r.roots.take(); err != nil {
			return nil, err
		}
	}
}

func (r *BulkReader) corrected(slim, root []byte) ([]byte, error) {
	a, err := decodeAccountRow(&r.key, slim)
	if err != nil {
		return nil, err
	}
	a.StorageRoot = common.Hash(root)
	return a.AppendSlim(r.slim[:0]), nil
}

// forward is an iterator over rows that likes to move forward: it seeks only where the row that is
// asked for is not the one it stands at.
type forward struct {
	it           *pebble.Iterator
	lower, upper []byte
	// Where known is set, no row lies from gap on and below the row it stands at.
	gap   []byte
	known bool
	at    bool // it stands at a row
	taken bool // the row was handed out
}

// seek goes to the first row at key or behind it.
func (f *forward) seek(key []byte) {
	if f.it == nil {
		return
	}
	if f.taken && f.at && bytes.Compare(f.it.Key(), key) < 0 {
		f.step()
	}
	if f.known && !f.taken && bytes.Compare(f.gap, key) <= 0 &&
		(!f.at || bytes.Compare(key, f.it.Key()) <= 0) {
		return
	}
	f.gap, f.known, f.taken = append(f.gap[:0], key...), true, false
	f.at = f.it.SeekGE(key)
}

// step moves on from a row that was handed out.
func (f *forward) step() {
	f.gap, f.known, f.taken = append(append(f.gap[:0], f.it.Key()...), 0), true, false
	f.at = f.it.Next()
}

// peek returns the key of the next row, nil behind the last one.
func (f *forward) peek() ([]byte, error) {
	if f.it == nil {
		return nil, fmt.Errorf("read rows of the build: %w", ErrClosed)
	}
	if f.taken && f.at {
		f.step()
	}
	if !f.at {
		return nil, readError(f.it.Error())
	}
	return f.it.Key(), nil
}

func (f *forward) value() ([]byte, error) {
	v, err := f.it.ValueAndErr()
	return v, readError(err)
}

// take hands the row out that peek showed.
func (f *forward) take() ([]byte, error) {
	f.taken = true
	return f.value()
}
