package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// The manifest of a build: `m` rows below metaBuildSpace, all gone once it is committed.
const (
	metaBuildSpace = "mb"
	metaBuildEnd   = "mc"
	// metaBuild says what is built: see Bulk.record.
	metaBuild = "mbuild"
	// metaDrop and an account: its slots go at Commit.
	metaDrop = "mbd"
	// metaRange and a KeyRange: the storage tries of these accounts are finished.
	metaRange = "mbr"
	// metaRoot and an account: its storage root, 32 bytes.
	metaRoot = "mbs"
	// metaTable and a number: a table of branch rows, see appendTableRow.
	metaTable = "mbt"
)

// buildFormat is the version of the manifest and of the tables it names. A build of another one
// begins anew.
const buildFormat = 1

// The kinds of builds.
const (
	kindBulk    = 'b'
	kindRebuild = 'r'
)

var errManifest = fmt.Errorf("%w: manifest of the build", ErrCorrupt)

// record is the row that names the build: format, kind, chain id, target, source.
func (b *Bulk) record() []byte {
	kind := byte(kindBulk)
	if b.rebuild {
		kind = kindRebuild
	}
	r := appendUint64([]byte{buildFormat, kind}, b.o.ChainID)
	return append(appendCursor(r, &b.o.Target), b.o.Source...)
}

// decodeRecord is the inverse of record; ok is false for another format.
func decodeRecord(r []byte) (o BulkOptions, rebuild, ok bool) {
	const head = 2 + 8 + cursorLen
	if len(r) < head || r[0] != buildFormat {
		return o, false, false
	}
	o.ChainID = binary.BigEndian.Uint64(r[2:])
	o.Target, _ = decodeCursor(r[10:head]) // which has the right length
	o.Source = string(r[head:])
	return o, r[1] == kindRebuild, true
}

func appendUint64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// forgetBuild removes the manifest.
func forgetBuild(b *pebble.Batch) error {
	return b.DeleteRange([]byte(metaBuildSpace), []byte(metaBuildEnd), nil)
}

func tableKey(id uint64) []byte { return appendUint64([]byte(metaTable), id) }

// appendTableRow appends a table's row: bytes of the file, number of rows, length of the first key
// in 2 bytes, first and last key.
func appendTableRow(dst []byte, t *tableMeta) []byte {
	dst = appendUint64(appendUint64(dst, t.size), t.rows)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(t.first)))
	return append(append(dst, t.first...), t.last...)
}

func decodeTableRow(key, row []byte) (t tableMeta, err error) {
	const head = 8 + 8 + 2
	if len(key) != len(metaTable)+8 || len(row) < head {
		return t, fmt.Errorf("%w: table %x", errManifest, key)
	}
	t.id = binary.BigEndian.Uint64(key[len(metaTable):])
	t.size, t.rows = binary.BigEndian.Uint64(row), binary.BigEndian.Uint64(row[8:])
	n := int(binary.BigEndian.Uint16(row[16:]))
	if row = row[head:]; n == 0 || n >= len(row) {
		return t, fmt.Errorf("%w: table %d", errManifest, t.id)
	}
	t.first, t.last = bytes.Clone(row[:n]), bytes.Clone(row[n:])
	for _, k := range [][]byte{t.first, t.last} {
		if k[0] != t.first[0] || k[0] != spaceAccountBranch &&
			(k[0] != spaceStorageBranch || len(k) < accountKeyLen) {
			return t, fmt.Errorf("%w: keys of table %d", errManifest, t.id)
		}
	}
	return t, nil
}

func rangeKey(r *KeyRange) []byte {
	return append(appendPrefixed(metaRange, &r.From), r.To[:]...)
}

func decodeRangeKey(key []byte) (r KeyRange, err error) {
	key = key[len(metaRange):]
	if len(key) != 2*common.HashLength {
		return r, fmt.Errorf("%w: range %x", errManifest, key)
	}
	r.From, r.To = common.Hash(key[:common.HashLength]), common.Hash(key[common.HashLength:])
	return r, nil
}

func appendPrefixed(prefix string, h *common.Hash) []byte {
	return append(append(make([]byte, 0, len(prefix)+2*len(h)), prefix...), h[:]...)
}

// manifestRows calls f with the manifest's rows that begin with prefix.
func (s *Store) manifestRows(prefix string, f func(key, row []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte(prefix), UpperBound: successor([]byte(prefix)),
	})
	if err != nil {
		return readError(err)
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		err = f(it.Key(), it.Value())
	}
	return errors.Join(err, readError(errors.Join(it.Error(), it.Close())))
}

// fixes are corrections of flat rows that Commit makes.
type fixes struct {
	roots []rootFix
	drops []common.Hash
}

type rootFix struct{ account, root common.Hash }

const (
	rootFixLen = 2 * common.HashLength
	// maxFixes is how many fixes a build holds before it writes them.
	maxFixes = 1 << 12
)

func (f *fixes) len() int   { return len(f.roots) + len(f.drops) }
func (f *fixes) bytes() int { return len(f.roots)*rootFixLen + len(f.drops)*common.HashLength }

func (f *fixes) clear() { f.roots, f.drops = f.roots[:0], f.drops[:0] }

func (f *fixes) write(batch *pebble.Batch) error {
	var errs error
	for i := range f.roots {
		x := &f.roots[i]
		errs = errors.Join(errs, batch.Set(appendPrefixed(metaRoot, &x.account), x.root[:], nil))
	}
	for i := range f.drops {
		errs = errors.Join(errs, batch.Set(appendPrefixed(metaDrop, &f.drops[i]), []byte{1}, nil))
	}
	return errs
}

// SetStorageRoot gives the account's row this storage root at Commit. It is held durably, and seen
// by readers, after the next Sync. Where an earlier run may have finished the account, which Built
// says, the correction has to be in BulkRows, so that it comes with the range.
func (b *Bulk) SetStorageRoot(account, root common.Hash) error {
	return b.fix(func(f *fixes) { f.roots = append(f.roots, rootFix{account, root}) })
}

// DropStorage removes all slots that have the given account's hash at Commit, for slots whose
// account does not exist. It is held durably after the next Sync.
func (b *Bulk) DropStorage(account common.Hash) error {
	return b.fix(func(f *fixes) { f.drops = append(f.drops, account) })
}

func (b *Bulk) fix(add func(f *fixes)) error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	b.mu.Lock()
	add(&b.fixes)
	n := b.fixes.len()
	b.mu.Unlock()
	if n < maxFixes {
		return nil
	}
	return b.writeFixes()
}

// writeFixes moves the fixes to the manifest.
func (b *Bulk) writeFixes() error {
	b.mu.Lock()
	f := b.fixes
	b.fixes = fixes{}
	b.mu.Unlock()
	if f.len() == 0 {
		return nil
	}
	err := b.s.write(f.write)
	if err != nil {
		b.mu.Lock() // for the next attempt; what came since is newer
		b.fixes.roots = append(f.roots, b.fixes.roots...)
		b.fixes.drops = append(f.drops, b.fixes.drops...)
		b.mu.Unlock()
		return fmt.Errorf("write corrections: %w", err)
	}
	return nil
}

// mergeRanges sorts ranges and joins those that touch.
func mergeRanges(ranges []KeyRange) []KeyRange {
	slices.SortFunc(ranges, func(a, b KeyRange) int { return bytes.Compare(a.From[:], b.From[:]) })
	var out []KeyRange
	for _, r := range ranges {
		if n := len(out); n > 0 {
			last := &out[n-1]
			next, more := increment(last.To)
			if !more || bytes.Compare(r.From[:], next[:]) <= 0 {
				if bytes.Compare(r.To[:], last.To[:]) > 0 {
					last.To = r.To
				}
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// increment returns the hash after h; more is false behind the last one.
func increment(h common.Hash) (next common.Hash, more bool) {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i]++; h[i] != 0 {
			return h, true
		}
	}
	return h, false
}

// find returns which of ascending ranges holds the account, -1 if none does.
func findRange(ranges []KeyRange, account []byte) int {
	i, _ := slices.BinarySearchFunc(ranges, account, func(r KeyRange, a []byte) int {
		return bytes.Compare(r.To[:], a)
	})
	if i < len(ranges) && bytes.Compare(ranges[i].From[:], account) <= 0 {
		return i
	}
	return -1
}
