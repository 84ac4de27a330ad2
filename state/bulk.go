package state

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/common"
)

// BulkOptions say what a build makes. A build that was cut off goes on where all of them are the
// same; with others it begins anew.
type BulkOptions struct {
	ChainID uint64
	Target  Cursor // the block whose state is built; Commit gets the same
	Source  string // names what is loaded, so that another source is not taken for it
}

// maxSourceLen bounds BulkOptions.Source.
const maxSourceLen = 4 << 10

// Bulk builds a state from sorted tables: no log, no memtables, no compactions. It has two halves.
//
// Flat rows are loaded in order of key, by one goroutine. A table that is full is taken into the
// database at once: it is durable, and BulkReaders see it, long before the state is complete.
//
// Branch rows are written by any number of BulkRows, into tables in a folder of the build's own. A
// manifest in the database says which tables there are, and of which accounts the storage tries are
// finished. The database takes them in at Commit, together with header, cursor, corrected account
// rows and the end of the build, in one atomic step. So a rebuild leaves the old rows as they are
// until then, and a crash leaves the one state or the other.
//
// The store that is being built has no state before Commit: Open refuses it with ErrUnfinished. Cut
// off at any moment, by Pause, Close, a crash or an error, a build goes on at what was durable when
// it is begun again with the same options.
//
// It does not judge the state: a genesis may hold accounts that are empty in the sense of EIP-161,
// and they count for its root.
type Bulk struct {
	s       *Store
	o       BulkOptions
	rebuild bool
	fs      vfs.FS // not the guarding one: see tableWriter
	dir     string

	fanIn int    // tables that a merge reads at once
	small uint64 // rows of a table that is small

	flatOptions, rowOptions sstable.WriterOptions
	readOptions             sstable.ReaderOptions

	// life is held for reading by whatever works on files or database, for writing to end the build.
	life   sync.RWMutex
	closed bool

	loading sync.Mutex // guards load
	load    loader

	mu      sync.Mutex // guards the fields below
	noCodes bool       // Commit notes that codes may be missing
	table   uint64     // the number given out last
	tables  []tableMeta
	built   []KeyRange // ascending, apart from each other
	fixes   fixes      // not in the manifest yet
}

// KeyRange is a range of accounts, From and To included.
type KeyRange struct{ From, To common.Hash }

// NewBulk begins, or goes on with, the build of a store that has no state. What another build left
// behind is wiped. ErrNotEmpty if there is a state already, ErrBuilding if a build is open.
func (s *Store) NewBulk(o BulkOptions) (*Bulk, error) {
	return s.beginBulk("new bulk build", func() (*Bulk, error) {
		if _, built := s.Cursor(); built {
			return nil, ErrNotEmpty
		}
		return s.newBulk(o, false), nil
	})
}

// NewRebuild begins, or goes on with, making all branch rows of the store's state again. Commit
// puts them in the place of the old ones. Blocks wait until the build is ended (ErrBuilding), and
// one that was paused before a block begins anew after it. ErrNotBuilt if there is no state.
func (s *Store) NewRebuild() (*Bulk, error) {
	return s.beginBulk("new rebuild", func() (*Bulk, error) {
		c, built := s.Cursor()
		if !built {
			return nil, ErrNotBuilt
		}
		return s.newBulk(BulkOptions{ChainID: s.ChainID(), Target: c}, true), nil
	})
}

func (s *Store) beginBulk(what string, make func() (*Bulk, error)) (*Bulk, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	b, err := func() (*Bulk, error) {
		if err := s.mayWrite(); err != nil {
			return nil, err
		}
		if s.bulk != nil {
			return nil, ErrBuilding
		}
		if err := s.checkpointNow(); err != nil { // a build knows tables alone
			return nil, err
		}
		b, err := make()
		if err != nil {
			return nil, err
		}
		return b, b.begin()
	}()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	s.bulk = b
	return b, nil
}

func (s *Store) newBulk(o BulkOptions, rebuild bool) *Bulk {
	b := &Bulk{s: s, o: o, rebuild: rebuild, fs: s.opts.FS, dir: s.bulkDir(),
		fanIn: maxMergeFiles, small: maxLooseTable}
	b.flatOptions, b.rowOptions = s.tableOptions(), s.branchOptions()
	b.readOptions = s.readerOptions()
	b.load.init(b)
	return b
}

// begin resumes the build that the manifest tells of, if it is this one, or starts anew.
func (b *Bulk) begin() error {
	if len(b.o.Source) > maxSourceLen {
		return fmt.Errorf("source has %d bytes, more than %d", len(b.o.Source), maxSourceLen)
	}
	record := b.record()
	have, ok, err := getRow(b.s.db, []byte(metaBuild))
	if err != nil {
		return err
	}
	if ok && string(have) == string(record) {
		err = b.resume()
	} else {
		err = b.anew(record)
	}
	return err
}

// anew wipes what an earlier build left and writes the new one's record. Until that is there the
// next build starts anew too.
func (b *Bulk) anew(record []byte) error {
	s := b.s
	err := s.write(func(batch *pebble.Batch) error {
		return errors.Join(forgetBuild(batch), b.setPhase(batch))
	})
	if err != nil {
		return err
	}
	if !b.rebuild {
		if err := b.wipeRows(); err != nil {
			return err
		}
	}
	if err := removeDir(b.fs, b.dir); err != nil {
		return err
	}
	if err := b.makeDir(); err != nil {
		return err
	}
	return s.write(func(batch *pebble.Batch) error {
		return batch.Set([]byte(metaBuild), record, nil)
	})
}

// setPhase marks a store without a state as being built.
func (b *Bulk) setPhase(batch *pebble.Batch) error {
	if b.rebuild {
		return nil
	}
	return errors.Join(
		batch.Set([]byte(metaPhase), []byte{byte(phaseBuilding)}, nil),
		batch.Set([]byte(metaChain), appendUint64(nil, b.o.ChainID), nil),
	)
}

// wipeRows removes every row but the `m` rows from a store that has no state.
func (b *Bulk) wipeRows() error {
	for _, r := range [][2][]byte{{{0}, {spaceMeta}}, {{spaceMeta + 1}, {0xff}}} {
		empty, err := b.s.isEmptyRange(r[0], r[1])
		if err != nil {
			return err
		}
		if empty {
			continue
		}
		if err := b.s.emptyRange(b, r[0], r[1]); err != nil {
			return fmt.Errorf("wipe rows: %w", err)
		}
	}
	return nil
}

func (b *Bulk) makeDir() error {
	if err := b.fs.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	return syncDir(b.fs, b.s.opts.Dir)
}

// bulkDir is where a build writes its tables, on the file system that will take them in.
func (s *Store) bulkDir() string { return s.fs.PathJoin(s.opts.Dir, "build") }

func (b *Bulk) path(table uint64) string {
	return b.fs.PathJoin(b.dir, tableName(table))
}

func tableName(table uint64) string { return fmt.Sprintf("%08d.sst", table) }

func (b *Bulk) nextTable() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.table++
	return b.table
}

func (b *Bulk) ctx() context.Context { return context.Background() }

// enter holds the build open until leave is called, or says that it was ended.
func (b *Bulk) enter() error {
	b.life.RLock()
	err := b.s.fail.err()
	if b.closed {
		err = fmt.Errorf("bulk build: %w", ErrClosed)
	}
	if err != nil {
		b.life.RUnlock()
	}
	return err
}

func (b *Bulk) leave() { b.life.RUnlock() }

// Built returns the accounts whose storage tries are finished, in this run or in earlier ones, as
// ranges in ascending order that do not touch.
func (b *Bulk) Built() []KeyRange {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]KeyRange(nil), b.built...)
}

// Pause ends the build for now: the next one with the same options goes on where this one was. Rows
// that were added since the last Sync, and rows that were not flushed, are given up.
func (b *Bulk) Pause() error {
	b.s.writing.Lock()
	defer b.s.writing.Unlock()
	if err := b.pause(); err != nil {
		return fmt.Errorf("pause bulk build: %w", err)
	}
	return nil
}

// pause ends the build. The caller holds Store.writing.
func (b *Bulk) pause() error {
	b.life.Lock()
	defer b.life.Unlock()
	if b.closed {
		return ErrClosed
	}
	b.closed = true
	b.s.bulk = nil
	b.load.discard()
	return nil
}

// Abort ends the build and wipes what it made. A store without a state stays marked as being built;
// a rebuild leaves the old rows as they were.
func (b *Bulk) Abort() error {
	b.s.writing.Lock()
	defer b.s.writing.Unlock()
	if err := b.abort(); err != nil {
		return fmt.Errorf("abort bulk build: %w", err)
	}
	return nil
}

func (b *Bulk) abort() error {
	if err := b.pause(); err != nil {
		return err
	}
	if err := b.s.fail.err(); err != nil {
		return err
	}
	if err := b.s.write(forgetBuild); err != nil {
		return err
	}
	if !b.rebuild {
		if err := b.wipeRows(); err != nil {
			return err
		}
	}
	return removeDir(b.fs, b.dir)
}

func removeDir(fs vfs.FS, dir string) error {
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}
