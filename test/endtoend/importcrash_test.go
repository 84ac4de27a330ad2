package endtoend

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
)

// crashEvery is after how many operations on the disk a build is cut off.
const crashEvery = 17

// I7 at every 17th operation: a crash in the middle of an import leaves a store that the next one
// makes the rows of an import without a crash of.
func TestAnImportGoesOnAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	const seed = 28
	t.Logf("seed %d", seed)
	c := generate(t, "mix", seed, 2, unlessRace(60, 20))
	d := dumpAt(t, c, 2, "")
	disk := newPhotographed(seed)
	disk.every = crashEvery
	o := inMemory()
	o.FS = disk
	n, _ := mustImport(t, o, d.source(), smallChunks)
	n.close()
	want := n.rows()
	resumed, built := 0, 0
	for i, p := range disk.photos {
		t.Run(fmt.Sprintf("%d before %s, torn %v", i, p.before, p.torn), func(t *testing.T) {
			var log bytes.Buffer
			o := inMemory()
			o.FS, o.Logger = p.disk, slog.New(slog.NewTextHandler(&log, nil))
			_, err := balsa.Import(t.Context(), o, d.source(), smallChunks)
			switch {
			case err == nil && strings.Contains(log.String(), "going on with the build"):
				resumed++
			case err != nil && strings.Contains(err.Error(), balsa.ErrInitialised.Error()):
				built++
			case err != nil:
				t.Fatal(err)
			}
			sameRows(t, rowsOf(t, state.Options{Dir: "node", FS: p.disk, MustExist: true}), want)
		})
	}
	t.Logf("%d photos of %d operations: %d went on, %d were built", len(disk.photos), disk.ops,
		resumed, built)
	if resumed < len(disk.photos)/4 {
		t.Fatalf("%d of %d went on: the test shows little", resumed, len(disk.photos))
	}
}

// The same for a rebuild, with the store in use before and after.
func TestARebuildGoesOnAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	const seed = 29
	t.Logf("seed %d", seed)
	c := generate(t, "mix", seed, 2, unlessRace(60, 20))
	disk := newPhotographed(seed)
	disk.every = 1 << 30 // none yet
	n := newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2})
	n.apply(c.Blocks...)
	want := n.rows()
	disk.mu.Lock()
	disk.every = crashEvery
	disk.mu.Unlock()
	if _, err := n.rebuild(); err != nil {
		t.Fatal(err)
	}
	n.close()
	if len(disk.photos) == 0 {
		t.Fatal("no photo was taken")
	}
	for i, p := range disk.photos {
		t.Run(fmt.Sprintf("%d before %s, torn %v", i, p.before, p.torn), func(t *testing.T) {
			m := onDisk(t, p.disk, balsa.Options{Workers: 2})
			m.verify()
			if _, err := m.rebuild(); err != nil {
				t.Fatal(err)
			}
			sameRows(t, m.rows(), want)
		})
	}
}
