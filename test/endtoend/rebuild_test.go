package endtoend

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
)

// small has tries built in small pieces.
func small(o balsa.Options) balsa.Options {
	o.Storage = inMemory().Storage
	return o
}

// rebuild builds all tries of a store again, which is closed meanwhile.
func (n *node) rebuild() (balsa.RebuildResult, error) {
	n.t.Helper()
	n.close()
	res, err := balsa.Rebuild(n.t.Context(), small(n.opts), balsa.RebuildOptions{})
	n.open()
	return res, err
}

// Whatever is wrong with branch rows, a rebuild makes them as they were.
func TestARebuildMendsBranchRows(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 25, 8, 30)
	e := edits{t}
	wipe := func(space byte) func(db *pebble.DB) {
		return func(db *pebble.DB) {
			if err := db.DeleteRange([]byte{space}, []byte{space + 1}, pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}
	}
	surplus := func(k []byte) []byte { return append(k, make([]byte, 20)...) }
	other := func(k []byte) []byte { k[1] ^= 0xff; return k }
	disk := state.NewCrashFS()
	n := newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2})
	n.apply(c.Blocks...)
	want := n.rows()
	for name, edit := range map[string]func(db *pebble.DB){
		"nothing":                    func(*pebble.DB) {},
		"an account branch":          e.flip('A'),
		"a storage branch":           e.flip('S'),
		"no account branch":          e.drop('A'),
		"no storage branch":          e.drop('S'),
		"no account branches at all": wipe('A'),
		"no storage branches at all": wipe('S'),
		"a surplus account branch":   e.move('A', surplus),
		"a surplus storage branch":   e.move('S', surplus),
		"a branch without account":   e.move('S', other),
		"a slot without account":     e.move('s', other),
	} {
		t.Run(name, func(t *testing.T) {
			n := onDisk(t, disk.Crash(), balsa.Options{Workers: 2})
			n.edit(edit)
			res, err := n.rebuild()
			if err != nil {
				t.Fatal(err)
			}
			if (res.OrphanSlots > 0) != (name == "a slot without account") || res.Corrected > 0 {
				t.Fatalf("%+v", res)
			}
			n.verify()
			sameRows(t, n.rows(), want)
		})
	}
}

// Where the flat state is wrong the old rows stay, every one of them.
func TestARebuildOfWrongFlatStateChangesNothing(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 26, 4, 20)
	e := edits{t}
	disk := state.NewCrashFS()
	newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2}).apply(c.Blocks...)
	for name, tc := range map[string]struct {
		edit  func(db *pebble.DB)
		named uint64
	}{
		"a slot": {e.flip('s'), 1}, "no slot": {e.drop('s'), 1}, "no account": {e.drop('a'), 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := onDisk(t, disk.Crash(), balsa.Options{Workers: 2})
			n.edit(tc.edit)
			before := n.rows()
			_, err := n.rebuild()
			var wrong *balsa.WrongRootError
			if !errors.As(err, &wrong) || wrong.Want != c.Head().Root() ||
				wrong.DifferingCount != tc.named {
				t.Fatal(err)
			}
			sameRows(t, n.rows(), before)
		})
	}
}

// A rebuild that is interrupted leaves a store that can be used, and goes on.
func TestAnInterruptedRebuildGoesOn(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 27, 4, 30)
	disk := state.NewCrashFS()
	n := newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2})
	n.apply(c.Blocks[:3]...)
	want := n.rows()
	n.apply(c.Blocks[3])
	applied := n.rows()
	n.rewind(c, 3)
	n.close()
	for stop := 1; stop < 40; stop += 4 {
		m := onDisk(t, disk.Crash(), balsa.Options{Workers: 2})
		m.close()
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		_, err := balsa.Rebuild(ctx, small(m.opts), balsa.RebuildOptions{
			Progress: func(balsa.BuildProgress) {
				if told++; told >= stop {
					cancel()
				}
			},
		})
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		m.open()
		m.verify()
		if stop%8 == 1 { // a block in between has the rebuild begin anew
			m.apply(c.Blocks[3])
		}
		if _, err := m.rebuild(); err != nil {
			t.Fatal(err)
		}
		if stop%8 == 1 {
			sameRows(t, m.rows(), applied)
		} else {
			sameRows(t, m.rows(), want)
		}
		m.close()
	}
}

func TestARebuildNeedsAState(t *testing.T) {
	t.Parallel()
	_, err := balsa.Rebuild(t.Context(), balsa.Options{Dir: "node", FS: state.MemFS()},
		balsa.RebuildOptions{})
	if !errors.Is(err, state.ErrNotFound) {
		t.Fatal(err)
	}
}
