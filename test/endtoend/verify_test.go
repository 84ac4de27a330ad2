package endtoend

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// quiet keeps the database's log out of the tests' output.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// edit changes rows of a closed store behind its back.
func (n *node) edit(change func(db *pebble.DB)) {
	n.t.Helper()
	n.close()
	db, err := pebble.Open(n.opts.Dir, &pebble.Options{
		FS: n.opts.FS, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	change(db)
	if err := db.Close(); err != nil {
		n.t.Fatal(err)
	}
	n.open()
}

// first returns the first row of a key space with its value.
func first(t *testing.T, db *pebble.DB, space byte) (k, v []byte) {
	t.Helper()
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{space}, UpperBound: []byte{space + 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	if !it.First() {
		t.Fatalf("the store has no row in %c", space)
	}
	return append(k, it.Key()...), append(v, it.Value()...)
}

// edits are the ways in which verify's tests spoil a store.
type edits struct{ t *testing.T }

func (e edits) set(db *pebble.DB, k, v []byte) {
	if err := db.Set(k, v, pebble.Sync); err != nil {
		e.t.Fatal(err)
	}
}

// flip changes the last bit of a space's first row.
func (e edits) flip(space byte) func(db *pebble.DB) {
	return func(db *pebble.DB) {
		k, v := first(e.t, db, space)
		v[len(v)-1] ^= 1
		e.set(db, k, v)
	}
}

// drop deletes a space's first row.
func (e edits) drop(space byte) func(db *pebble.DB) {
	return func(db *pebble.DB) {
		k, _ := first(e.t, db, space)
		if err := db.Delete(k, pebble.Sync); err != nil {
			e.t.Fatal(err)
		}
	}
}

// move writes the first row of a space again under another key.
func (e edits) move(space byte, key func(k []byte) []byte) func(db *pebble.DB) {
	return func(db *pebble.DB) {
		k, v := first(e.t, db, space)
		e.set(db, key(k), v)
	}
}

// Changes of keys and of values.
func other(k []byte) []byte { k[len(k)-1] ^= 1; return k }
func short(k []byte) []byte { return k[:len(k)-1] }
func high(k []byte) []byte  { return append(k, 16) }
func junk([]byte) []byte    { return []byte{0x80} }
func empty([]byte) []byte   { return []byte{} }

func space(b byte) func(k []byte) []byte {
	return func(k []byte) []byte { k[0] = b; return k }
}

// dropLast and dropSecond delete one row of a space.
func (e edits) dropLast(space byte) func(db *pebble.DB) {
	return e.dropAt(space, func(it *pebble.Iterator) bool { return it.Last() })
}

func (e edits) dropSecond(space byte) func(db *pebble.DB) {
	return e.dropAt(space, func(it *pebble.Iterator) bool { return it.First() && it.Next() })
}

func (e edits) dropAt(space byte, at func(*pebble.Iterator) bool) func(db *pebble.DB) {
	return func(db *pebble.DB) {
		it, err := db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{space}, UpperBound: []byte{space + 1},
		})
		if err != nil || !at(it) {
			e.t.Fatal("no row", err)
		}
		if err = errors.Join(db.Delete(it.Key(), pebble.Sync), it.Close()); err != nil {
			e.t.Fatal(err)
		}
	}
}

// Each row that a damaged or buggy store could have wrong is found, by a sentence that names it.
func TestVerifyFindsEveryKindOfWrongRow(t *testing.T) {
	c := generate(t, "mix", 17, 10, 40)
	e := edits{t}
	runEdits(t, c, map[string]edit{
		"a slot's value":           {e.flip('s'), "its slots have root"},
		"a slot is missing":        {e.drop('s'), "its slots have root"},
		"a branch of the accounts": {e.flip('A'), "account trie: the branch row"},
		"a branch of a storage":    {e.flip('S'), "differs from what flat state gives"},
		"a branch row is missing":  {e.drop('A'), "is missing"},
		"a storage row is missing": {e.drop('S'), "is missing"},
		"a code's bytes":           {e.flip('c'), "hashes to"},
		"a code is missing":        {e.drop('c'), "is not in the store"},
		"an account is missing":    {e.drop('a'), "flat state has root"},
		"a slot without an account": {e.move('s', func(k []byte) []byte {
			k[1] ^= 0xff
			return k
		}), "does not exist"},
		"a surplus account branch": {e.move('A', func(k []byte) []byte {
			return append(k, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		}), "does not have"},
		"a surplus storage branch": {e.move('S', func(k []byte) []byte {
			return append(k, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		}), "does not have"},
		"a storage branch without an account": {e.move('S', func(k []byte) []byte {
			k[1] ^= 0xff
			return k
		}), "does not exist"},
	})
}

// Nor are the rows of blocks, and those that nobody reads, left out.
func TestVerifyFindsEveryKindOfWrongHistory(t *testing.T) {
	c := generate(t, "mix", 17, 10, 40)
	e := edits{t}
	runEdits(t, c, map[string]edit{
		"a header's bytes":          {e.flip('h'), "header of block 0"},
		"a header is missing":       {e.dropLast('h'), "the cursor: the last header is of block"},
		"a header in between":       {e.dropSecond('h'), "the one before it is of block"},
		"a number":                  {e.flip('n'), "number of block"},
		"a number is missing":       {e.drop('n'), "number of block"},
		"an access list's bytes":    {e.flip('b'), "the header says"},
		"an access list is missing": {e.drop('b'), "it is missing"},
		"a reverse diff's bytes":    {e.each('r', junk), "reverse diff of block 1 "},
		"a reverse diff is missing": {e.drop('r'), "reverse diff of block 1 "},
		"a list without a header":   {e.move('b', other), "has no header"},
		"a number without a header": {e.move('n', other), "has no header"},
		"a diff without a header":   {e.move('r', other), "has no header"},
		"an empty slot":             {e.each('s', empty), "bad slot encoding"},
		"a slot that is no RLP":     {e.each('s', junk), "bad slot encoding"},
		"an account that is no RLP": {e.each('a', junk), "does not decode"},
		"a branch that is none":     {e.each('S', junk), "does not decode"},
		"an account branch is none": {e.each('A', junk), "does not decode"},
		"a short account key":       {e.move('a', short), "there are no such keys"},
		"a short slot key":          {e.move('s', short), "there are no such keys"},
		"a short code key":          {e.move('c', short), "there are no such keys"},
		"a short header key":        {e.move('h', short), "there are no such keys"},
		"a short diff key":          {e.move('r', short), "there are no such keys"},
		"a short number key":        {e.move('n', short), "there are no such keys"},
		"no nibble in a path":       {e.move('A', high), "there are no such keys"},
		"rows of no kind below":     {e.move('a', space(0)), "no such rows"},
		"rows of no kind between":   {e.move('a', space('d')), "no such rows"},
		"rows of no kind above":     {e.move('a', space(0xff)), "no such rows"},
	})
}

// edit is a change of rows, and what a fault says of it.
type edit struct {
	edit func(db *pebble.DB)
	want string
}

func runEdits(t *testing.T, c *chaingen.Chain, cases map[string]edit) {
	t.Helper()
	disk := state.NewCrashFS()
	newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 1}).apply(c.Blocks...)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := onDisk(t, disk.Crash(), balsa.Options{Workers: 1})
			n.edit(tc.edit)
			r, err := n.engine.Verify(t.Context(), nil)
			if !errors.Is(err, balsa.ErrVerify) || r.FaultCount == 0 {
				t.Fatalf("%v, %+v", err, r)
			}
			if all := strings.Join(r.Faults, "\n"); !strings.Contains(all, tc.want) {
				t.Fatalf("faults %q, want %q among them", r.Faults, tc.want)
			}
			if len(r.Faults) > balsa.MaxFaults {
				t.Errorf("%d faults are named", len(r.Faults))
			}
		})
	}
}
