package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// schemaVersion is the version of the rows' format. A store of another version is refused.
const schemaVersion = 2

// oldestSchema is the oldest version that is taken over: it had no log of its own.
const oldestSchema = 1

// The `m` rows.
const (
	metaSchema = "mschema" // version, 4 bytes
	metaChain  = "mchain"  // chain id, 8 bytes
	metaCursor = "mcursor" // number, hash, root: 72 bytes
	metaPhase  = "mphase"  // one byte
	metaLog    = "mlog"    // number of the last log entry that the cursor includes, 8 bytes
	// metaNoCodes, whatever it holds, says that codes of accounts may be missing: the state came
	// without them.
	metaNoCodes = "mnocodes"
)

// phase says how far a store has come.
type phase byte

const (
	phaseEmpty    phase = iota // made, nothing in it
	phaseBuilding              // a bulk build has begun
	phaseReady                 // there is a state and a cursor
)

const cursorLen = 8 + 2*common.HashLength

// Cursor is the block whose state a store holds.
type Cursor struct {
	Number uint64
	Hash   common.Hash // of the header
	Root   common.Hash // the header's state root
}

// String names the block in messages.
func (c Cursor) String() string { return fmt.Sprintf("block %d (%x)", c.Number, c.Hash[:4]) }

func appendCursor(dst []byte, c *Cursor) []byte {
	dst = binary.BigEndian.AppendUint64(dst, c.Number)
	return append(append(dst, c.Hash[:]...), c.Root[:]...)
}

func decodeCursor(b []byte) (Cursor, error) {
	if len(b) != cursorLen {
		return Cursor{}, fmt.Errorf("%w: %d bytes", ErrBadCursor, len(b))
	}
	c := Cursor{Number: binary.BigEndian.Uint64(b)}
	copy(c.Hash[:], b[8:])
	copy(c.Root[:], b[8+common.HashLength:])
	return c, nil
}

// meta is what the `m` rows say.
type meta struct {
	hasSchema bool
	schema    uint32
	phase     phase
	chainID   uint64
	cursor    Cursor // where phase is phaseReady
	logged    uint64 // the last log entry in it; 0: none
}

// loadMeta reads the `m` rows. It decodes the others only where the schema is ours.
func loadMeta(db pebble.Reader) (m meta, err error) {
	b, ok, err := getRow(db, []byte(metaSchema))
	if err != nil || !ok {
		return m, err
	}
	if len(b) != 4 {
		return m, fmt.Errorf("%w: schema row of %d bytes", ErrCorrupt, len(b))
	}
	m.hasSchema, m.schema = true, binary.BigEndian.Uint32(b)
	if m.schema < oldestSchema || m.schema > schemaVersion {
		return m, nil
	}
	if b, ok, err = getRow(db, []byte(metaPhase)); err != nil {
		return m, err
	}
	if !ok || len(b) != 1 || b[0] > byte(phaseReady) {
		return m, fmt.Errorf("%w: phase row", ErrCorrupt)
	}
	if m.phase = phase(b[0]); m.phase == phaseEmpty {
		return m, nil
	}
	if b, ok, err = getRow(db, []byte(metaChain)); err != nil {
		return m, err
	}
	if !ok || len(b) != 8 {
		return m, fmt.Errorf("%w: chain id row", ErrCorrupt)
	}
	if m.chainID = binary.BigEndian.Uint64(b); m.phase == phaseBuilding {
		return m, nil
	}
	if b, _, err = getRow(db, []byte(metaCursor)); err != nil {
		return m, err
	}
	if m.cursor, err = decodeCursor(b); err != nil {
		return m, fmt.Errorf("%w: cursor row: %w", ErrCorrupt, err)
	}
	if b, ok, err = getRow(db, []byte(metaLog)); err != nil || !ok {
		return m, err
	}
	if len(b) != 8 {
		return m, fmt.Errorf("%w: log row", ErrCorrupt)
	}
	m.logged = binary.BigEndian.Uint64(b)
	return m, nil
}

func setSchema(b *pebble.Batch) error {
	return b.Set([]byte(metaSchema), binary.BigEndian.AppendUint32(nil, schemaVersion), nil)
}

// setNewStore writes the rows of a store with nothing in it.
func setNewStore(b *pebble.Batch) error {
	if err := setSchema(b); err != nil {
		return err
	}
	return b.Set([]byte(metaPhase), []byte{byte(phaseEmpty)}, nil)
}

// getRow reads a row into memory of its own.
func getRow(db pebble.Reader, key []byte) ([]byte, bool, error) {
	v, closer, err := db.Get(key)
	if isNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, readError(err)
	}
	v = append(make([]byte, 0, len(v)), v...)
	return v, true, closer.Close()
}

// isNotFound says that a row is not there.
func isNotFound(err error) bool { return errors.Is(err, pebble.ErrNotFound) }

// readError says of an error of Pebble's whether it means damage.
func readError(err error) error {
	if err == nil || errors.Is(err, ErrCorrupt) || !pebble.IsCorruptionError(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
