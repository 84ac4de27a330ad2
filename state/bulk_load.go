package state

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

const (
	// maxCodeBuffer is how many bytes of code a build sorts at a time.
	maxCodeBuffer = 16 << 20
	// maxCodesSeen is how many codes a build remembers to have been given.
	maxCodesSeen = 1 << 16
)

// loader is the half of a build that takes flat rows.
type loader struct {
	b               *Bulk
	accounts, slots flatSpace

	codes     []CodeWrite // collected, not yet sorted
	codeBytes int
	seen      map[common.Hash]struct{} // codes that came lately

	key keyBuf
	val [maxAccountLen]byte
}

// flatSpace is one key space that rows are loaded into, in order of key.
type flatSpace struct {
	space byte
	w     tableWriter
	last  []byte // the last key, of earlier runs too; nil before the first
	held  []byte // the last key that the database has; nil if none
}

func (l *loader) init(b *Bulk) {
	l.b = b
	l.seen = make(map[common.Hash]struct{})
	l.accounts = flatSpace{space: spaceAccount, w: l.writer()}
	l.slots = flatSpace{space: spaceSlot, w: l.writer()}
}

func (l *loader) writer() tableWriter {
	return tableWriter{b: l.b, opts: &l.b.flatOptions, cut: tableBytes}
}

// set adds a row.
func (f *flatSpace) set(key, value []byte) error {
	if f.last != nil {
		if c := bytes.Compare(f.last, key); c >= 0 {
			return orderError(c)
		}
	}
	if err := f.w.set(key, value); err != nil {
		return err
	}
	f.last = append(f.last[:0], key...)
	return nil
}

// Account adds an account. Hashes must ascend: ErrKeyOrder, ErrDuplicateKey. Any other error, here
// and in the other methods that load, is for good: pause the build and go on with a new one.
func (b *Bulk) Account(hash common.Hash, a *Account) error {
	err := b.loads(func(l *loader) error {
		key := appendHashKey(l.key[:0], spaceAccount, &hash)
		return l.add(&l.accounts, key, a.AppendSlim(l.val[:0]))
	})
	if err != nil {
		return fmt.Errorf("build account %x: %w", hash, err)
	}
	return nil
}

// Slot adds a slot. Accounts must ascend, and slots within an account: ErrKeyOrder,
// ErrDuplicateKey. A slot of value zero has no row: ErrZeroSlot.
func (b *Bulk) Slot(account, slot, value common.Hash) error {
	var buf [maxSlotLen]byte
	row := AppendSlot(buf[:0], &value)
	if len(row) == 0 {
		return slotError(&account, &slot, ErrZeroSlot)
	}
	return b.slot(&account, &slot, row)
}

// SlotRLP is Slot for a value that is encoded already, as EncodeSlot does it: ErrBadSlot for any
// other.
func (b *Bulk) SlotRLP(account, slot *common.Hash, value []byte) error {
	if _, err := splitSlot(value); err != nil {
		return slotError(account, slot, err)
	}
	return b.slot(account, slot, value)
}

func (b *Bulk) slot(account, slot *common.Hash, row []byte) error {
	err := b.loads(func(l *loader) error {
		return l.add(&l.slots, appendSlotKey(l.key[:0], account, slot), row)
	})
	if err != nil {
		return slotError(account, slot, err)
	}
	return nil
}

func slotError(account, slot *common.Hash, err error) error {
	return fmt.Errorf("build slot %x of account %x: %w", *slot, *account, err)
}

// Code adds a code, in any order; one that is there already, or is empty, is left out.
func (b *Bulk) Code(code []byte) error {
	if len(code) == 0 {
		return nil
	}
	hash := keccak.Sum(code)
	err := b.loads(func(l *loader) error {
		if _, ok := l.seen[hash]; ok {
			return nil
		}
		if len(l.seen) >= maxCodesSeen {
			clear(l.seen)
		}
		l.seen[hash] = struct{}{}
		l.codes = append(l.codes, CodeWrite{hash, bytes.Clone(code)})
		if l.codeBytes += len(code); l.codeBytes < maxCodeBuffer {
			return nil
		}
		tables, err := l.writeCodes()
		return l.ingest(tables, err)
	})
	if err != nil {
		return fmt.Errorf("build code %x: %w", hash, err)
	}
	return nil
}

// HasCode says whether the store holds a code durably: after Sync, whether it was added.
func (b *Bulk) HasCode(hash common.Hash) (bool, error) {
	if err := b.enter(); err != nil {
		return false, err
	}
	defer b.leave()
	_, ok, err := getRow(b.s.db, appendHashKey(nil, spaceCode, &hash))
	return ok, err
}

// CodesMayBeMissing has Commit note that the state comes without all of its accounts' codes.
func (b *Bulk) CodesMayBeMissing() {
	b.mu.Lock()
	b.noCodes = true
	b.mu.Unlock()
}

// loads runs f, which adds to what is loaded.
func (b *Bulk) loads(f func(l *loader) error) error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	if b.rebuild {
		return fmt.Errorf("%w: a rebuild loads nothing", errors.ErrUnsupported)
	}
	b.loading.Lock()
	defer b.loading.Unlock()
	return f(&b.load)
}

// add writes a row, and hands a table that it filled to the database.
func (l *loader) add(f *flatSpace, key, row []byte) error {
	if err := f.set(key, row); err != nil || len(f.w.done) == 0 {
		return err
	}
	return l.ingest(f.w.take())
}

// writeCodes writes the codes collected so far as one sorted table, without those that the database
// has.
func (l *loader) writeCodes() ([]tableMeta, error) {
	if len(l.codes) == 0 {
		return nil, nil
	}
	slices.SortFunc(l.codes, func(x, y CodeWrite) int { return bytes.Compare(x.Hash[:], y.Hash[:]) })
	l.codes = slices.CompactFunc(l.codes, func(x, y CodeWrite) bool { return x.Hash == y.Hash })
	it, err := l.b.s.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{spaceCode}, UpperBound: []byte{spaceCode + 1},
	})
	if err != nil {
		return nil, err
	}
	w := l.writer()
	for i := range l.codes {
		key := appendHashKey(l.key[:0], spaceCode, &l.codes[i].Hash)
		if it.SeekGE(key) && bytes.Equal(it.Key(), key) {
			continue
		}
		if err = w.set(key, l.codes[i].Code); err != nil {
			break
		}
	}
	if err = errors.Join(err, readError(it.Close())); err != nil {
		w.discard()
		return nil, err
	}
	l.codes, l.codeBytes = nil, 0
	return w.take()
}

// ingest makes tables part of the database. The error is the one of making them.
func (l *loader) ingest(tables []tableMeta, err error) error {
	if err != nil || len(tables) == 0 {
		return err
	}
	s := l.b.s
	paths := l.b.paths(tables)
	if err := s.fail.run(func() error { return s.db.Ingest(l.b.ctx(), paths) }); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	for _, f := range []*flatSpace{&l.accounts, &l.slots} {
		for i := range tables {
			if t := &tables[i]; t.first[0] == f.space {
				f.held = append(f.held[:0], t.last...)
			}
		}
	}
	return nil
}

func (b *Bulk) paths(tables []tableMeta) []string {
	paths := make([]string, len(tables))
	for i := range tables {
		paths[i] = b.path(tables[i].id)
	}
	return paths
}

// Sync makes everything that was added so far durable, and visible to readers that are made or
// refreshed after it. Tables are cut for it, so call it for a reason.
func (b *Bulk) Sync() error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	if err := b.sync(); err != nil {
		return fmt.Errorf("sync bulk build: %w", err)
	}
	return nil
}

func (b *Bulk) sync() error {
	b.loading.Lock()
	defer b.loading.Unlock()
	l := &b.load
	var all []tableMeta
	for _, take := range []func() ([]tableMeta, error){
		l.accounts.w.take, l.slots.w.take, l.writeCodes,
	} {
		tables, err := take()
		if err != nil {
			return err
		}
		all = append(all, tables...)
	}
	if err := l.ingest(all, nil); err != nil {
		return err
	}
	return b.writeFixes()
}

// Resume returns the last rows that the store holds durably: the load goes on behind them. Rows
// that were added and are not held yet do not count.
func (b *Bulk) Resume() (account common.Hash, accountOK bool,
	slotAccount, slot common.Hash, slotOK bool) {
	b.loading.Lock()
	defer b.loading.Unlock()
	if k := b.load.accounts.held; len(k) == accountKeyLen {
		account, accountOK = common.Hash(k[1:]), true
	}
	if k := b.load.slots.held; len(k) == slotKeyLen {
		slotAccount, slot, slotOK = common.Hash(k[1:]), common.Hash(k[accountKeyLen:]), true
	}
	return account, accountOK, slotAccount, slot, slotOK
}

// Begun says whether an earlier run has left anything to go on with.
func (b *Bulk) Begun() bool {
	_, accounts, _, _, slots := b.Resume()
	b.mu.Lock()
	defer b.mu.Unlock()
	return accounts || slots || len(b.built) > 0 || len(b.tables) > 0
}

// resume finds the last rows that the database holds.
func (l *loader) resume() error {
	for _, f := range []*flatSpace{&l.accounts, &l.slots} {
		it, err := l.b.s.db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{f.space}, UpperBound: []byte{f.space + 1},
		})
		if err != nil {
			return readError(err)
		}
		if it.Last() {
			f.held = bytes.Clone(it.Key())
			f.last = bytes.Clone(it.Key())
		}
		if err := errors.Join(it.Error(), it.Close()); err != nil {
			return readError(err)
		}
	}
	return nil
}

// discard gives up what was not handed to the database.
func (l *loader) discard() {
	l.accounts.w.discard()
	l.slots.w.discard()
	l.codes, l.seen = nil, nil
}
