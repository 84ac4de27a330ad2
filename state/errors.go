package state

import (
	"errors"
	"fmt"
)

// ErrBadOptions: Options contradict themselves, or ask for what cannot be had.
var ErrBadOptions = errors.New("bad options of the store")

// What Open returns. Each says what to do.
var (
	// ErrNotFound: there is no store in the directory, and Options asked for an existing one.
	ErrNotFound = errors.New("there is no store here: check the directory, or build a store first")
	// ErrLocked: another process, or this one, has the store open.
	ErrLocked = errors.New("the store is in use: stop the process that has it open, or wait for it")
	// ErrForeign: the directory is not empty and not a store of ours. Nothing was written to it.
	ErrForeign = errors.New("the directory holds something other than a Balsa store: " +
		"choose an empty or a new directory")
	// ErrSchema: the store's rows have another format.
	ErrSchema = errors.New("the store has another schema version: open it with the release that " +
		"made it, or build a new store in another directory")
	// ErrCorrupt: files are missing or damaged, or a row does not decode. Reads return it too.
	ErrCorrupt = errors.New("the store is damaged: restore the directory from a copy, or build " +
		"a new store in another directory")
	// ErrUnusable: the file system refuses the directory: no permission, read-only, no directory, no
	// room. The error says which, and what to do.
	ErrUnusable = errors.New("the directory cannot be used for a store: see to it, or choose another")
	// ErrUnfinished: a bulk build was cut off; NewBulk on a store that was opened with
	// AllowUnfinished goes on with it, or starts anew.
	ErrUnfinished = errors.New("the store's build was cut off: run it again, which goes on where " +
		"it was")
)

// ErrBadRow is ErrCorrupt of one row: its key or its value is not what the key space has. The file
// that it stands in is sound.
var ErrBadRow = fmt.Errorf("%w (a row does not decode)", ErrCorrupt)

// What the methods of an open store return.
var (
	// ErrClosed: the store, snapshot, reader or build was closed.
	ErrClosed = errors.New("closed")
	// ErrReadOnly: the store was opened read-only.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrStoreFailed: a write to the log or manifest failed; see the package comment.
	ErrStoreFailed = errors.New("the store has failed and takes no more writes: " +
		"see to the disk, then start the process again")
	// ErrSnapshotsOpen: Close found snapshots, readers or iterators that are not closed.
	ErrSnapshotsOpen = errors.New("snapshots are still open: close them, then close the store")
	// ErrNotBuilt: the store has no state yet; a Bulk build gives it one.
	ErrNotBuilt = errors.New("the store has no state yet: build one first")
	// ErrNotEmpty: a bulk build was asked of a store that has a state.
	ErrNotEmpty = errors.New("the store has a state already: build in a new directory")
	// ErrBuilding: the call cannot run while a bulk build is open.
	ErrBuilding = errors.New("a bulk build is open")
	// ErrCursorMoved: the store's cursor is not the one the caller expects. Nothing was written.
	ErrCursorMoved = errors.New("the cursor is not where the caller expects it")
	// ErrLogged: blocks that were acknowledged before a crash are to be done again first, in their
	// order. Nothing was written.
	ErrLogged = errors.New("logged blocks wait to be applied again")
	// ErrNotChild: the block does not follow the cursor, or has another hash than it says.
	ErrNotChild = errors.New("the block does not follow the cursor")
	// ErrBadLayer: a layer's rows are not ascending, or not rows. Nothing was written.
	ErrBadLayer = errors.New("bad layer")
	// ErrUnknownBlock: the store has no such header or reverse diff.
	ErrUnknownBlock = errors.New("the store does not have the block")
	// ErrNoHistory: the store keeps the way back from the cursor for so many blocks, and the block is
	// older.
	ErrNoHistory = errors.New("the block is older than the history that the store keeps")
	// ErrKeyOrder: the keys of a bulk build do not ascend.
	ErrKeyOrder = errors.New("keys out of order")
	// ErrDuplicateKey: a bulk build got a key twice.
	ErrDuplicateKey = errors.New("duplicate key")
	// ErrNoAccount: a storage root was set for an account that has no row.
	ErrNoAccount = errors.New("no such account")
	// ErrZeroSlot: a slot with value zero has no row.
	ErrZeroSlot = errors.New("slot of value zero")
)

// What the decoders return.
var (
	// ErrBadAccount: not the encoding of an account that AppendSlim or AppendFull writes.
	ErrBadAccount = errors.New("bad account encoding")
	// ErrBadSlot: not the encoding of a slot that EncodeSlot writes.
	ErrBadSlot = errors.New("bad slot encoding")
	// ErrBadReverseDiff: not the encoding of a reverse diff.
	ErrBadReverseDiff = errors.New("bad reverse diff encoding")
	// ErrBadCursor: not the encoding of a cursor.
	ErrBadCursor = errors.New("bad cursor encoding")
)
