package endtoend

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
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

// Each row that a damaged or buggy store could have wrong is found, by a sentence that names it.
func TestVerifyFindsEveryKindOfWrongRow(t *testing.T) {
	c := generate(t, "mix", 17, 10, 40)
	e := edits{t}
	cases := map[string]struct {
		edit func(db *pebble.DB)
		want string
	}{
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
	}
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
		})
	}
}
