package state

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// MinCacheBytes is the smallest Options.CacheBytes.
	MinCacheBytes        = 1 << 20
	defaultCacheBytes    = 256 << 20
	defaultMemTableBytes = 64 << 20
	minMemTableBytes     = 64 << 10
	maxMemTableBytes     = 1 << 30

	// MaxCheckpointBlocks is the largest Options.CheckpointBlocks.
	MaxCheckpointBlocks     = 1 << 16
	defaultCheckpointBlocks = 64
	// MinCheckpointBytes and MaxCheckpointBytes are the bounds of Options.CheckpointBytes.
	MinCheckpointBytes     = 64 << 10
	MaxCheckpointBytes     = 1 << 30
	defaultCheckpointBytes = 128 << 20
)

// Options says where a store lives and how it is opened.
type Options struct {
	// Dir is the store's directory. Required. It is made where it does not exist.
	Dir string
	// FS is the file system; nil is the disk.
	FS FS
	// ReadOnly opens without writing a row. It implies MustExist. The directory is locked against
	// others all the same, because a writer would take away files that a reader needs.
	ReadOnly bool
	// MustExist refuses to create a store.
	MustExist bool
	// AllowUnfinished opens a store whose bulk build was cut off, for the one who builds it again.
	AllowUnfinished bool
	// NoSync acknowledges a block before it is durable. A crash of the machine then loses the last
	// blocks, each as a whole; a crash of the process alone loses at most what the operating
	// system had not been given yet.
	NoSync bool
	// CacheBytes is the memory for blocks of files. Up to half as much again holds branch rows that
	// were written before, which are likely to be wanted again. Default 256 MB, at least 1 MB.
	CacheBytes int64
	// MemTableBytes is how much of the log is written before it moves from memory to a file; what a
	// checkpoint has made superfluous by then is dropped. Up to some three times as much is in
	// memory. Default 64 MB, from 64 KB to 1 GB.
	MemTableBytes int64
	// CheckpointBlocks is after how many blocks a checkpoint begins that writes their rows to tables,
	// beside the blocks that follow. Many blocks share their upper branch rows, which are written
	// once a checkpoint; after a crash as many blocks, or up to twice as many where the disk is slow,
	// are applied again. 1 makes every block its own checkpoint and waits for it. Default 64: rows
	// written per block have fallen to a half by then, and a restart takes seconds. At most 65536.
	CheckpointBlocks int
	// CheckpointBytes begins a checkpoint sooner, where the rows in memory have reached so many bytes.
	// While it runs up to twice as much collects; then blocks wait for it. So three times as much is
	// the bound, and one block. Default 128 MB, from 64 KB to 1 GB.
	CheckpointBytes int64
	// History is for how many blocks below the cursor the store keeps what undoes them, and their
	// access lists and headers: a commit takes those of older ones away, from then on the store is as
	// one that was built there. Blocks are not undone beyond it, and older states not read. Where
	// blocks were undone, as many fewer are left until as many new ones are there. Default 0: it
	// keeps them all.
	History uint64
	// Logger gets the store's and Pebble's log lines; nil discards them.
	Logger *slog.Logger
	// OnFatal is called once, on a goroutine of its own, when the store can no longer write; see
	// the package comment. The process should then come to an orderly end. May be nil.
	OnFatal func(error)
	// Tune has the last word on how Pebble is opened. It is for simulations, which take away what
	// Pebble does by itself and in its own time. Default: nothing.
	Tune func(*pebble.Options)
	// Background is given what a checkpoint does, to run it once when it likes; the store runs it
	// itself where it has to wait for it. It is for simulations. Default: a goroutine.
	Background func(run func())

	// plain makes every block its own checkpoint and reads all of it through iterators that see all
	// of Pebble, for tests to compare with.
	plain bool
}

// Validate fills in defaults and refuses what contradicts itself (ErrBadOptions).
func (o *Options) Validate() error {
	if o.Dir == "" {
		return fmt.Errorf("%w: Dir is empty", ErrBadOptions)
	}
	if o.FS == nil {
		o.FS = vfs.Default
		dir, err := absolute(o.Dir)
		if err != nil {
			return fmt.Errorf("%w: Dir: %w", ErrBadOptions, err)
		}
		o.Dir = dir
	}
	if o.ReadOnly {
		o.MustExist = true
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.CacheBytes < MinCacheBytes {
		return fmt.Errorf("%w: CacheBytes %d is below %d", ErrBadOptions, o.CacheBytes, MinCacheBytes)
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = defaultMemTableBytes
	}
	if o.MemTableBytes < minMemTableBytes || o.MemTableBytes > maxMemTableBytes {
		return fmt.Errorf("%w: MemTableBytes %d is not from %d to %d", ErrBadOptions,
			o.MemTableBytes, minMemTableBytes, maxMemTableBytes)
	}
	if o.CheckpointBlocks == 0 {
		o.CheckpointBlocks = defaultCheckpointBlocks
	}
	if o.plain {
		o.CheckpointBlocks = 1
	}
	if o.CheckpointBlocks < 1 || o.CheckpointBlocks > MaxCheckpointBlocks {
		return fmt.Errorf("%w: CheckpointBlocks %d is not from 1 to %d", ErrBadOptions,
			o.CheckpointBlocks, MaxCheckpointBlocks)
	}
	if o.CheckpointBytes == 0 {
		o.CheckpointBytes = defaultCheckpointBytes
	}
	if o.CheckpointBytes < MinCheckpointBytes || o.CheckpointBytes > MaxCheckpointBytes {
		return fmt.Errorf("%w: CheckpointBytes %d is not from %d to %d", ErrBadOptions,
			o.CheckpointBytes, MinCheckpointBytes, MaxCheckpointBytes)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// absolute names the directory in one way only: Pebble's lock within a process goes by name.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}

// pebbleOptions argues with the shape of the rows: most keys are hashes or paths of hashes, most
// values are up to 532 bytes of hashes that do not compress, and nearly every read is of one key.
func pebbleOptions(o *Options, fs vfs.FS, fail *failure) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		FormatMajorVersion:          pebble.FormatNewest,
		ReadOnly:                    o.ReadOnly,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                1000,
		// Fewer and larger compactions. What a read pays for more files on level 0 is a look into
		// each one's filter: single rows are asked for by SeekPrefixGE.
		L0CompactionThreshold:      8,
		L0StopWritesThreshold:      64,
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
		WALBytesPerSync:            512 << 10,
		Logger:                     pebbleLogger{o.Logger, fail},
		EventListener:              listener(o.Logger, fail),
	}
	// No compactions because of reads: what runs when would hang on who reads what.
	p.Experimental.ReadSamplingMultiplier = -1
	for i := range p.Levels {
		// Large blocks: fewer index entries to search, and the cache holds state that is read once.
		p.Levels[i].BlockSize = 16 << 10
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		if i == len(p.Levels)-1 {
			// On the last level a filter would answer "perhaps" to nearly every read. Pebble does not
			// ask one there either.
			p.Levels[i].FilterPolicy = pebble.NoFilterPolicy
		}
	}
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.DBCompressionFastest
	})
	if o.Tune != nil {
		o.Tune(p)
	}
	return p
}
