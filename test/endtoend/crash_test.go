package endtoend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// freshRows are the rows of a store that synced the chain and never crashed, after each block.
func freshRows(t *testing.T, c *chaingen.Chain) []map[string]string {
	t.Helper()
	n := newNode(t, c, 2)
	all := []map[string]string{n.rows()}
	for _, b := range c.Blocks {
		n.apply(b)
		all = append(all, n.rows())
	}
	n.close()
	return all
}

// onDisk opens what a crash left.
func onDisk(t *testing.T, disk state.FS, o balsa.Options) *node {
	t.Helper()
	o.Dir, o.FS = "node", disk
	n := &node{t: t, opts: o}
	n.open()
	t.Cleanup(n.close)
	return n
}

// I1: what was acknowledged survives, and nothing else is there.
func TestACrashLosesNoAcknowledgedBlock(t *testing.T) {
	t.Parallel()
	const seed = 31
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := generate(t, "mix", seed, unlessRace(60, 20), 8)
	fresh := freshRows(t, c)
	disk := state.NewCrashFS()
	n := newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2})
	for at := 0; at < len(c.Blocks); {
		next := min(at+rng.IntN(8), len(c.Blocks))
		n.apply(c.Blocks[at:next]...)
		at = next
		disk = disk.Crash()
		n.close() // on the disk that is gone
		n = onDisk(t, disk, balsa.Options{Workers: 2})
		if got := n.engine.Cursor(); got.Number != uint64(at) {
			t.Fatalf("the cursor is %v after a crash at block %d", got, at)
		}
		sameRows(t, n.rows(), fresh[at])
		n.verify()
	}
}

// With NoSync the last blocks may be missing after a crash, each as a whole.
func TestACrashWithoutSyncLosesWholeBlocksFromTheEnd(t *testing.T) {
	t.Parallel()
	const seed = 32
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := generate(t, "mix", seed, unlessRace(16, 6), 8)
	fresh := freshRows(t, c)
	disk := state.NewCrashFS()
	n := newNodeAt(t, genesisOf(c), balsa.Options{FS: disk, Workers: 2, NoSync: true})
	lost := 0
	for at := range c.Blocks {
		n.apply(c.Blocks[at])
		for _, percent := range []int{0, 70} {
			left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
			m := onDisk(t, left, balsa.Options{Workers: 2})
			got := m.engine.Cursor().Number
			if got > uint64(at+1) {
				t.Fatalf("the cursor is block %d, only %d were applied", got, at+1)
			}
			lost += at + 1 - int(got)
			m.verify()
			m.close()
			sameRows(t, m.rows(), fresh[got])
		}
	}
	if lost == 0 {
		t.Fatal("no crash lost a block: the test shows nothing")
	}
}

// story is a life of a store with a photo at every operation on its disk: it is built, opened,
// takes blocks, is closed and opened again, goes back and takes blocks of another branch.
type story struct {
	t      *testing.T
	disk   *photographed
	node   *node
	branch []*chaingen.Chain // of each step, with the number of its block
	number []int
}

// step lets something happen that leads through blocks of a chain; the last is what it ends at.
func (s *story) step(do func(), c *chaingen.Chain, numbers ...int) {
	from := len(s.number) - 1
	for _, n := range numbers {
		s.branch, s.number = append(s.branch, c), append(s.number, n)
	}
	s.disk.enter(span{from, len(s.number) - 1})
	do()
	s.disk.enter(span{len(s.number) - 1, len(s.number) - 1})
}

func (s *story) apply(c *chaingen.Chain, from, to int) {
	for i := from; i <= to; i++ {
		s.step(func() { s.node.apply(c.Blocks[i-1]) }, c, i)
	}
}

func tellStory(t *testing.T, seed uint64, a, b *chaingen.Chain, common int) *story {
	s := &story{t: t, disk: newPhotographed(seed)}
	o := balsa.Options{FS: s.disk, Workers: 2, CheckpointBlocks: 2}
	s.step(func() { s.node = newNodeAt(t, genesisOf(a), o) }, a, 0)
	s.apply(a, 1, common)
	s.step(s.node.close, a)
	s.step(s.node.open, a)
	s.apply(a, common+1, common+2)
	s.step(func() { s.node.rewind(a, uint64(common)) }, a, common+1, common)
	s.apply(b, common+1, common+2)
	s.step(s.node.close, b)
	s.step(s.node.open, b)
	s.step(s.node.close, b)
	return s
}

// I1 and I7 at every write: a crash before any operation on the disk leaves the state of a block
// that was acknowledged or in hand, or, before the first, a build that starts anew. With and
// without writes that were not synced yet, in any order.
func TestACrashBeforeAnyWriteLeavesTheStateOfABlock(t *testing.T) {
	t.Parallel()
	const seed, shared = 33, 3
	t.Logf("seed %d", seed)
	a := generate(t, "mix", seed, shared+2, 6)
	b := fork(t, a, shared, "mix", 2)
	fresh := map[*chaingen.Chain][]map[string]string{a: freshRows(t, a), b: freshRows(t, b)}
	s := tellStory(t, seed, a, b, shared)
	if len(s.disk.photos) < 200 {
		t.Fatalf("%d photos: the disk is not watched", len(s.disk.photos))
	}
	built, steps := 0, map[int]bool{}
	for i, p := range s.disk.photos {
		if raceDetector && i%20 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d before %s, torn %v", i, p.before, p.torn), func(t *testing.T) {
			at, rebuilt := reopen(t, a, p)
			if rebuilt {
				built++
			}
			for k := p.during.from; k <= p.during.to; k++ {
				if k < 0 || at.Hash != hashOfBlock(t, s.branch[k], s.number[k]) {
					continue
				}
				steps[k] = true
				rows := rowsOf(t, state.Options{Dir: "node", FS: p.disk})
				sameRows(t, rows, fresh[s.branch[k]][s.number[k]])
				return
			}
			t.Fatalf("the cursor is %v, in none of the steps %v", at, p.during)
		})
	}
	if !raceDetector && (built == 0 || len(steps) != len(s.number)) {
		t.Fatalf("%d builds were cut off; steps %v of %d were found", built, steps, len(s.number))
	}
}

// reopen looks at what a crash left, and builds the state where there is none. The store must
// verify.
func reopen(t *testing.T, c *chaingen.Chain, p photo) (at state.Cursor, rebuilt bool) {
	t.Helper()
	o := balsa.Options{Dir: "node", FS: p.disk, Workers: 1}
	engine, err := balsa.Open(t.Context(), o)
	if err != nil {
		if p.during.from >= 0 || !mayBuild(err) {
			t.Fatalf("steps %v: %v", p.during, err)
		}
		build := balsa.Options{Dir: o.Dir, FS: o.FS}
		if _, err := balsa.Init(t.Context(), build, genesisOf(c)); err != nil {
			t.Fatal(err)
		}
		if engine, err = balsa.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		rebuilt = true
	}
	n := &node{t: t, opts: o, engine: engine}
	defer n.close()
	n.verify()
	return engine.Cursor(), rebuilt
}

// mayBuild says whether Open's error asks for Init.
func mayBuild(err error) bool {
	return errors.Is(err, state.ErrNotFound) || errors.Is(err, state.ErrUnfinished) ||
		errors.Is(err, balsa.ErrNoState)
}

func hashOfBlock(t *testing.T, c *chaingen.Chain, number int) [32]byte {
	t.Helper()
	b, err := c.Block(uint64(number))
	if err != nil {
		t.Fatal(err)
	}
	return b.Hash()
}
