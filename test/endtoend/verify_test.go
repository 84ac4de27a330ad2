package endtoend

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/balsa-sync/balsa"
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

// Each row that a damaged or buggy store could have wrong is found, by a sentence that names it.
func TestVerifyFindsEveryKindOfWrongRow(t *testing.T) {
	c := generate(t, "mix", 17, 10, 40)
	set := func(db *pebble.DB, k, v []byte) {
		if err := db.Set(k, v, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	flip := func(space byte) func(db *pebble.DB) {
		return func(db *pebble.DB) {
			k, v := first(t, db, space)
			v[len(v)-1] ^= 1
			set(db, k, v)
		}
	}
	drop := func(space byte) func(db *pebble.DB) {
		return func(db *pebble.DB) {
			k, _ := first(t, db, space)
			if err := db.Delete(k, pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}
	}
	// move writes the first row of a space again under another key.
	move := func(space byte, key func(k []byte) []byte) func(db *pebble.DB) {
		return func(db *pebble.DB) {
			k, v := first(t, db, space)
			set(db, key(k), v)
		}
	}
	cases := map[string]struct {
		edit func(db *pebble.DB)
		want string
	}{
		"a slot's value":           {flip('s'), "its slots have root"},
		"a slot is missing":        {drop('s'), "its slots have root"},
		"a branch of the accounts": {flip('A'), "account trie: the branch row"},
		"a branch of a storage":    {flip('S'), "differs from what flat state gives"},
		"a branch row is missing":  {drop('A'), "is missing"},
		"a storage row is missing": {drop('S'), "is missing"},
		"a code's bytes":           {flip('c'), "hashes to"},
		"a code is missing":        {drop('c'), "is not in the store"},
		"an account is missing":    {drop('a'), "flat state has root"},
		"a slot without an account": {move('s', func(k []byte) []byte {
			k[1] ^= 0xff
			return k
		}), "does not exist"},
		"a surplus account branch": {move('A', func(k []byte) []byte {
			return append(k, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		}), "does not have"},
		"a surplus storage branch": {move('S', func(k []byte) []byte {
			return append(k, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		}), "does not have"},
		"a storage branch without an account": {move('S', func(k []byte) []byte {
			k[1] ^= 0xff
			return k
		}), "does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, c, 1)
			n.apply(c.Blocks...)
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
