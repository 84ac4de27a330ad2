package state

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// markerFile makes a directory ours before Pebble writes to it, so that a directory without it
	// is refused untouched.
	markerFile = "BALSA"
	markerText = "This directory is a Balsa store. Do not change or remove what is in it.\n"
	lockFile   = "LOCK"
)

// Open opens the store in Options.Dir, or makes one where the directory is empty or does not
// exist. Errors: ErrNotFound, ErrLocked, ErrForeign, ErrSchema, ErrCorrupt, ErrUnfinished, and
// ErrUnusable with the file system's own error, each with a sentence on what to do. Where the file
// system fails while Pebble works already, the error is ErrStoreFailed, and the directory stays
// locked until the process ends.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, unusable(err))
	}
	return s, nil
}

// unusable makes an error of the file system, which says what happened, say also what to do.
func unusable(err error) error {
	for _, known := range []error{ErrNotFound, ErrLocked, ErrForeign, ErrSchema, ErrCorrupt,
		ErrUnfinished, ErrStoreFailed, ErrBadOptions} {
		if errors.Is(err, known) {
			return err
		}
	}
	advice := "see to the disk, or choose another directory"
	switch {
	case errors.Is(err, fs.ErrPermission):
		advice = "give this user the right to read and write the directory and all that is in it, " +
			"or choose another"
	case errors.Is(err, syscall.EROFS):
		advice = "mount the file system for writing, or choose another directory: opening a store, " +
			"even to read it, writes its lock"
	case errors.Is(err, syscall.ENOTDIR):
		advice = "a part of the path is a file: choose another directory"
	case errors.Is(err, syscall.ELOOP):
		advice = "its symbolic links lead in a circle: choose another directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		advice = "the path is too long: choose another directory"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		advice = "a part of the path is missing, or is a link to nothing: make it, or choose " +
			"another directory"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		advice = "make room on the disk"
	}
	return fmt.Errorf("%w: %w: %s", ErrUnusable, err, advice)
}

func open(o Options) (*Store, error) {
	fail := newFailure()
	guard := &guardFS{FS: o.FS, fail: fail}
	lock, err := claimDir(&o, guard)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, fs: guard, fail: fail, log: o.Logger, lock: lock}
	guard.mode.Store(guardOpening)
	if err = s.openPebble(); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	guard.mode.Store(guardArmed)
	if err = fail.run(s.start); err != nil { // it may meet locks that a parked goroutine holds
		return nil, errors.Join(err, s.closePebble())
	}
	fail.opened(o.OnFatal)
	return s, nil
}

// claimDir makes sure that the directory is a store's or may become one, and locks it.
func claimDir(o *Options, fs vfs.FS) (*pebble.Lock, error) {
	st, err := inspectDir(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	switch {
	case st.foreign != "":
		return nil, fmt.Errorf("%w (found %s)", ErrForeign, st.foreign)
	case !st.marked && o.MustExist:
		return nil, ErrNotFound
	case !st.exists:
		if err := mkdirSynced(fs, o.Dir); err != nil {
			return nil, err
		}
	}
	lock, err := lockDir(o)
	if err != nil {
		return nil, err
	}
	if !st.marked {
		err = writeMarker(fs, o.Dir)
	} else {
		err = checkFiles(o)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// dirState is what a look at a directory shows.
type dirState struct {
	exists  bool
	marked  bool   // the marker is there
	foreign string // a file that does not belong into a directory without the marker
}

func inspectDir(fsys vfs.FS, dir string) (dirState, error) {
	info, err := fsys.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dirState{}, nil
	}
	if err != nil {
		return dirState{}, err
	}
	if !info.IsDir() {
		return dirState{exists: true, foreign: "a file of that name"}, nil
	}
	names, err := fsys.List(dir)
	if err != nil {
		return dirState{}, err
	}
	slices.Sort(names)
	st := dirState{exists: true}
	for _, name := range names {
		switch name {
		case markerFile:
			return dirState{exists: true, marked: true}, nil
		case lockFile, "lost+found": // left by a creation cut off; made by mkfs
		default:
			if st.foreign == "" {
				st.foreign = name
			}
		}
	}
	return st, nil
}

// mkdirSynced makes the directory and syncs the parents of every directory made.
func mkdirSynced(fsys vfs.FS, dir string) error {
	made := []string{dir}
	for p := fsys.PathDir(dir); ; p = fsys.PathDir(p) {
		if _, err := fsys.Stat(p); err == nil || fsys.PathDir(p) == p {
			break
		}
		made = append(made, p)
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range made {
		parent := fsys.PathDir(d)
		if err := syncDir(fsys, parent); err != nil {
			return fmt.Errorf("sync %s: %w", parent, err)
		}
	}
	return nil
}

func syncDir(fsys vfs.FS, dir string) error {
	f, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lockDir takes Pebble's lock. What is no error of a path is a refusal of the lock itself.
func lockDir(o *Options) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	if err == nil {
		return lock, nil
	}
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if cause := abandoned.cause(o); cause != nil {
		return nil, fmt.Errorf("%w; it is this process, whose store there failed earlier: %w",
			ErrLocked, cause)
	}
	return nil, fmt.Errorf("%w: %w", ErrLocked, err)
}

func writeMarker(fsys vfs.FS, dir string) error {
	f, err := fsys.Create(fsys.PathJoin(dir, markerFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(markerText))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

// checkFiles refuses a store whose manifest marker is gone: Pebble would take the directory for an
// empty one, and remove the tables.
func checkFiles(o *Options) error {
	desc, err := pebble.Peek(o.Dir, o.FS)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if desc.Exists {
		return nil
	}
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") {
			return fmt.Errorf("%w: the manifest's marker is missing", ErrCorrupt)
		}
	}
	if o.MustExist {
		return ErrNotFound
	}
	return nil
}

func (s *Store) openPebble() error {
	p := pebbleOptions(&s.opts, s.fs, s.fail)
	p.Lock = s.lock
	s.stalls.watch(p.EventListener)
	// Memtables are charged to the cache: one that fills and one on its way to a table.
	cache := pebble.NewCache(s.opts.CacheBytes + 2*s.opts.MemTableBytes)
	defer cache.Unref() // the database holds a reference of its own
	p.Cache = cache
	var db *pebble.DB
	err := s.fail.run(func() (err error) {
		db, err = pebble.Open(s.opts.Dir, p)
		return err
	})
	if err != nil {
		return openError(err)
	}
	s.db = db
	return nil
}

// openError tells damage from all else that may go wrong in opening.
func openError(err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, ErrStoreFailed):
		return err
	case strings.Contains(text, "format major version"):
		return fmt.Errorf("%w: %w", ErrSchema, err)
	case pebble.IsCorruptionError(err), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, pebble.ErrDBNotPristine), strings.Contains(text, "does not exist"),
		strings.Contains(text, "size mismatch"):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// start reads the `m` rows and decides whether the store may be used.
func (s *Store) start() error {
	m, err := loadMeta(s.db)
	if err != nil {
		return err
	}
	if !m.hasSchema {
		if err := s.initSchema(); err != nil {
			return err
		}
		m = meta{hasSchema: true, schema: schemaVersion}
	}
	if m.schema < oldestSchema || m.schema > schemaVersion {
		return fmt.Errorf("%w (it has %d, this release needs %d)", ErrSchema, m.schema, schemaVersion)
	}
	if m.phase == phaseBuilding && !s.opts.AllowUnfinished {
		return ErrUnfinished
	}
	s.built, s.cursor, s.chainID = m.phase == phaseReady, m.cursor, m.chainID
	if err := s.readLog(m.logged); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return nil
	}
	if m.schema != schemaVersion {
		if err := s.write(setSchema); err != nil {
			return err
		}
	}
	if err := s.keepBuild(); err != nil {
		return err
	}
	return s.startOverlay()
}

// initSchema makes a database without rows a store; one with rows is not ours.
func (s *Store) initSchema() error {
	empty, err := s.isEmpty()
	if err != nil {
		return err
	}
	if !empty {
		return fmt.Errorf("%w (a database without a schema row)", ErrForeign)
	}
	if s.opts.MustExist {
		return ErrNotFound
	}
	return s.write(setNewStore)
}

func (s *Store) isEmpty() (bool, error) { return s.isEmptyRange(nil, nil) }

// isEmptyRange says whether there is no row from lower on and below upper.
func (s *Store) isEmptyRange(lower, upper []byte) (bool, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return false, err
	}
	empty := !it.First()
	return empty, readError(errors.Join(it.Error(), it.Close()))
}
