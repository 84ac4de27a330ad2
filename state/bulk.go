package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// maxCodeBuffer is how many bytes of code a build sorts at a time.
const maxCodeBuffer = tableBytes

// Bulk builds the state of a store that has none, from sorted tables: no log, no memtables, no
// compactions. Nothing is visible before Commit; cut off, it leaves a store that Open refuses with
// ErrUnfinished until it is built again. It is for one goroutine at a time.
//
// It does not judge the state: a genesis may hold accounts that are empty in the sense of EIP-161,
// and they count for its root.
type Bulk struct {
	s       *Store
	chainID uint64
	closed  bool

	accounts, slots, accountRows, storageRows *tableWriter

	codes     []CodeWrite // collected, not yet sorted
	codeBytes int
	seen      map[common.Hash]struct{} // all codes so far
	codeRuns  [][]string               // tables of codes, a sorted run each

	key keyBuf
	val [maxAccountLen]byte
}

// NewBulk begins to build the store's state. The store is marked as being built, durably, and what
// a build before left behind is wiped. ErrNotEmpty if there is a state already, ErrBuilding if a
// build is open.
func (s *Store) NewBulk(chainID uint64) (*Bulk, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	b, err := s.newBulk(chainID)
	if err != nil {
		return nil, fmt.Errorf("new bulk build: %w", err)
	}
	s.bulk = b
	return b, nil
}

func (s *Store) newBulk(chainID uint64) (*Bulk, error) {
	if err := s.mayWrite(); err != nil {
		return nil, err
	}
	_, built := s.Cursor()
	switch {
	case built:
		return nil, ErrNotEmpty
	case s.bulk != nil:
		return nil, ErrBuilding
	}
	err := s.write(func(b *pebble.Batch) error {
		id := binary.BigEndian.AppendUint64(nil, chainID)
		return errors.Join(
			wipe(b),
			b.Set([]byte(metaPhase), []byte{byte(phaseBuilding)}, nil),
			b.Set([]byte(metaChain), id, nil),
		)
	})
	if err != nil {
		return nil, err
	}
	dir := s.bulkDir()
	if err := s.fs.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	b := &Bulk{s: s, chainID: chainID, seen: make(map[common.Hash]struct{})}
	b.accounts = b.tables("accounts")
	b.slots = b.tables("slots")
	b.accountRows = b.tables("account-branches")
	b.storageRows = b.tables("storage-branches")
	return b, nil
}

// bulkDir is where a build writes its tables, on the file system that will take them in.
func (s *Store) bulkDir() string { return s.fs.PathJoin(s.opts.Dir, "build") }

func (b *Bulk) tables(name string) *tableWriter {
	return &tableWriter{
		fs: b.s.fs, dir: b.s.bulkDir(), name: name, opts: b.s.tableOptions(), cut: tableBytes,
	}
}

// Account adds an account. Hashes must ascend: ErrKeyOrder, ErrDuplicateKey.
func (b *Bulk) Account(hash common.Hash, a *Account) error {
	if err := b.open(); err != nil {
		return err
	}
	key := appendHashKey(b.key[:0], spaceAccount, &hash)
	if err := b.accounts.set(key, a.AppendSlim(b.val[:0])); err != nil {
		return fmt.Errorf("build account %x: %w", hash, err)
	}
	return nil
}

// Slot adds a slot. Accounts must ascend, and slots within an account: ErrKeyOrder,
// ErrDuplicateKey. A slot of value zero has no row: ErrZeroSlot.
func (b *Bulk) Slot(account, slot, value common.Hash) error {
	if err := b.open(); err != nil {
		return err
	}
	err := ErrZeroSlot
	if row := AppendSlot(b.val[:0], &value); len(row) > 0 {
		err = b.slots.set(appendSlotKey(b.key[:0], &account, &slot), row)
	}
	if err != nil {
		return fmt.Errorf("build slot %x of account %x: %w", slot, account, err)
	}
	return nil
}

// Code adds a code, in any order; one that was added before, or is empty, is left out.
func (b *Bulk) Code(code []byte) error {
	if err := b.open(); err != nil {
		return err
	}
	hash := keccak.Sum(code)
	if _, ok := b.seen[hash]; ok || len(code) == 0 {
		return nil
	}
	b.seen[hash] = struct{}{}
	b.codes = append(b.codes, CodeWrite{hash, bytes.Clone(code)})
	if b.codeBytes += len(code); b.codeBytes >= maxCodeBuffer {
		return b.writeCodes()
	}
	return nil
}

// writeCodes writes the codes collected so far as one sorted run.
func (b *Bulk) writeCodes() error {
	if len(b.codes) == 0 {
		return nil
	}
	slices.SortFunc(b.codes, func(x, y CodeWrite) int { return bytes.Compare(x.Hash[:], y.Hash[:]) })
	t := b.tables(fmt.Sprintf("codes-%d", len(b.codeRuns)))
	for i := range b.codes {
		key := appendHashKey(b.key[:0], spaceCode, &b.codes[i].Hash)
		if err := t.set(key, b.codes[i].Code); err != nil {
			return fmt.Errorf("build code %x: %w", b.codes[i].Hash, err)
		}
	}
	if err := t.finish(); err != nil {
		return fmt.Errorf("build codes: %w", err)
	}
	b.codeRuns = append(b.codeRuns, t.paths)
	b.codes, b.codeBytes = nil, 0
	return nil
}

// open says that the build was ended, if so.
func (b *Bulk) open() error {
	if b.closed {
		return fmt.Errorf("bulk build: %w", ErrClosed)
	}
	return nil
}

// Commit takes all rows into the store and makes c, the block of the given header, its cursor. The
// rows come first, then header, cursor and the mark that the store is ready, in one durable step.
// The build is closed, whatever Commit returns.
func (b *Bulk) Commit(h *types.Header, c Cursor) error {
	b.s.writing.Lock()
	defer b.s.writing.Unlock()
	if err := b.open(); err != nil {
		return err
	}
	err := b.commit(h, c)
	if err = errors.Join(err, b.abort()); err != nil {
		return fmt.Errorf("commit bulk build at %v: %w", c, err)
	}
	return nil
}

func (b *Bulk) commit(h *types.Header, c Cursor) error {
	switch {
	case h == nil || h.Number == nil || !h.Number.IsUint64() || h.Number.Uint64() != c.Number:
		return fmt.Errorf("%w: header number", ErrNotChild)
	case h.Root != c.Root:
		return fmt.Errorf("%w: header root %x", ErrNotChild, h.Root)
	}
	if hash := h.Hash(); hash != c.Hash {
		return fmt.Errorf("%w: header hash %x", ErrNotChild, hash)
	}
	header, err := rlp.EncodeToBytes(h)
	if err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	s := b.s
	if err := s.mayWrite(); err != nil {
		return err
	}
	s.mu.Lock()
	_, err = s.currentLocked()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := b.ingest(); err != nil {
		return err
	}
	err = s.write(func(batch *pebble.Batch) error {
		return errors.Join(
			logHeader(batch, c, header),
			batch.Set([]byte(metaCursor), appendCursor(nil, &c), nil),
			batch.Set([]byte(metaPhase), []byte{byte(phaseReady)}, nil),
		)
	})
	if err != nil {
		return err
	}
	return b.publish(c)
}

// publish shows the state that was just written.
func (b *Bulk) publish(c Cursor) error {
	s := b.s
	at := maybeCursor{c, true}
	if !s.plainReads() {
		if err := s.flush(at); err != nil {
			s.fail.set(err) // the rows are there; what is in memory does not match them
			return s.fail.err()
		}
	}
	s.mu.Lock()
	old := s.view
	s.view, s.cursor, s.built, s.chainID = nil, c, true, b.chainID
	if !s.plainReads() {
		s.recent.start(at, s.keepBytes())
	}
	s.mu.Unlock()
	s.drop(old)
	return nil
}

// ingest finishes the tables and hands them to the database. Runs of codes overlap, so each comes
// by itself.
func (b *Bulk) ingest() error {
	if err := b.writeCodes(); err != nil {
		return err
	}
	var paths []string
	for _, t := range []*tableWriter{b.accounts, b.slots, b.accountRows, b.storageRows} {
		if err := t.finish(); err != nil {
			return fmt.Errorf("finish table of %s: %w", t.name, err)
		}
		paths = append(paths, t.paths...)
	}
	for _, run := range append([][]string{paths}, b.codeRuns...) {
		if len(run) == 0 {
			continue
		}
		err := b.s.fail.run(func() error { return b.s.db.Ingest(context.Background(), run) })
		if err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	return nil
}

// Abort ends the build without a state. The store stays marked as being built.
func (b *Bulk) Abort() error {
	b.s.writing.Lock()
	defer b.s.writing.Unlock()
	if err := b.open(); err != nil {
		return err
	}
	if err := b.abort(); err != nil {
		return fmt.Errorf("abort bulk build: %w", err)
	}
	return nil
}

// abort closes the build and removes what files it left. The caller holds Store.writing.
func (b *Bulk) abort() error {
	b.closed = true
	b.s.bulk = nil
	var errs []error
	for _, t := range []*tableWriter{b.accounts, b.slots, b.accountRows, b.storageRows} {
		errs = append(errs, t.finish())
	}
	if b.s.fail.err() == nil {
		errs = append(errs, removeDir(b.s.fs, b.s.bulkDir()))
	}
	return errors.Join(errs...)
}

func removeDir(fs vfs.FS, dir string) error {
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}
