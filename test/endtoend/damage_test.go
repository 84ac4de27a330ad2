package endtoend

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
)

// each sets every row of a space to what f makes of it; nil deletes it.
func (e edits) each(space byte, f func(v []byte) []byte) func(db *pebble.DB) {
	return func(db *pebble.DB) {
		it, err := db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{space}, UpperBound: []byte{space + 1},
		})
		if err != nil {
			e.t.Fatal(err)
		}
		b := db.NewBatch()
		for it.First(); it.Valid(); it.Next() {
			if v := f(it.Value()); v != nil {
				err = errors.Join(err, b.Set(it.Key(), v, nil))
			} else {
				err = errors.Join(err, b.Delete(it.Key(), nil))
			}
		}
		if err = errors.Join(err, it.Close(), b.Commit(pebble.Sync)); err != nil {
			e.t.Fatal(err)
		}
	}
}

// TestARewindOverDamagedRowsSaysThatTheStoreIsDamaged: whoever runs it must learn that no other
// block and no second try will help.
func TestARewindOverDamagedRowsSaysThatTheStoreIsDamaged(t *testing.T) {
	c := generate(t, "mix", 17, 10, 40)
	e := edits{t}
	gone := func([]byte) []byte { return nil }
	bad := func([]byte) []byte { return []byte{0x80} }
	disk := state.NewCrashFS()
	newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2}).apply(c.Blocks...)
	for name, edit := range map[string]func(db *pebble.DB){
		"the first header is missing": e.drop('h'),
		"a reverse diff is missing":   e.drop('r'),
		"reverse diffs are garbled":   e.each('r', bad),
		"headers are garbled":         e.each('h', bad),
		"slots are missing":           e.each('s', gone),
		"slots are garbled":           e.each('s', bad),
		"slots are empty":             e.each('s', func([]byte) []byte { return []byte{} }),
		"accounts are missing":        e.each('a', gone),
		"accounts are garbled":        e.each('a', bad),
		"account branches missing":    e.each('A', gone),
		"account branches garbled":    e.each('A', bad),
		"storage branches missing":    e.each('S', gone),
		"storage branches garbled":    e.each('S', bad),
	} {
		t.Run(name, func(t *testing.T) {
			n := onDisk(t, disk.Crash(), balsa.Options{Workers: 2})
			n.edit(edit)
			if _, err := n.engine.Rewind(t.Context(), c.GenesisBlock.Hash()); !errors.Is(
				err, state.ErrCorrupt) {
				t.Errorf("%v", err)
			}
		})
	}
}
