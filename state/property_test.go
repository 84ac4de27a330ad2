package state

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// twin is one chain in two stores: one reads through the overlay, the other plainly.
type twin struct {
	t            *testing.T
	c            *chain
	fast, plain  *Store
	undo         []undone
	before       []map[string]string // all rows before each block of undo
	open         []*Snapshot         // taken earlier, with what they must still show
	opened       []map[string]string
	openedCursor []Cursor
}

func newTwin(t *testing.T, r *rand.Rand) *twin {
	w := &twin{t: t, c: newChain(r, 2+r.Intn(40))}
	o := testOptions(MemFS())
	o.CheckpointBlocks = 2 + r.Intn(40)
	w.fast = mustOpen(t, o)
	o.FS, o.plain = MemFS(), true
	w.plain = mustOpen(t, o)
	w.c.next(w.c.layer(1 + r.Intn(8)))
	model := *w.c // both builds make the same block
	seed := r.Int63()
	for _, s := range []*Store{w.fast, w.plain} {
		*w.c = model
		w.c.r = rand.New(rand.NewSource(seed))
		w.c.build(t, s)
	}
	return w
}

// step commits a block to both stores, or undoes the last one in both.
func (w *twin) step(r *rand.Rand) {
	w.t.Helper()
	if n := len(w.undo); n > 0 && r.Intn(3) == 0 {
		u := w.undo[n-1]
		for _, s := range []*Store{w.fast, w.plain} {
			if err := s.Revert(u.from, u.to, u.layer); err != nil {
				w.t.Fatal(err)
			}
		}
		w.c.back(u)
		sameRows(w.t, allRows(w.t, w.fast), w.before[n-1])
		w.undo, w.before = w.undo[:n-1], w.before[:n-1]
		return
	}
	w.before = append(w.before, allRows(w.t, w.plain))
	l := w.c.layer(1 + r.Intn(12))
	expect := w.c.cursor
	b, u := w.c.next(l)
	for _, s := range []*Store{w.fast, w.plain} {
		if err := s.Commit(expect, b, l); err != nil {
			w.t.Fatal(err)
		}
	}
	w.undo = append(w.undo, u)
}

// snapshot keeps a snapshot of the fast store for later.
func (w *twin) snapshot() {
	w.open = append(w.open, w.fast.NewSnapshot())
	rows := map[string]string{}
	for k, v := range w.c.rows {
		rows[k] = v
	}
	w.opened = append(w.opened, rows)
	w.openedCursor = append(w.openedCursor, w.c.cursor)
}

// compare reads random keys and paths from snapshot i and from the rows that it must show.
func (w *twin) compare(r *rand.Rand, i int) {
	w.t.Helper()
	sn, rows := w.open[i], w.opened[i]
	if at, ok := sn.Cursor(); !ok || at != w.openedCursor[i] {
		w.t.Fatalf("snapshot at %v, want %v", at, w.openedCursor[i])
	}
	reader, err := sn.NewReader()
	if err != nil {
		w.t.Fatal(err)
	}
	defer mustClose(w.t, reader)
	for range 40 {
		account := w.c.keys[r.Intn(len(w.c.keys))]
		w.compareFlat(r, sn, reader, rows, account)
		p := trie.PathOf(w.c.keys[r.Intn(len(w.c.keys))], r.Intn(r.Intn(65)+1))
		w.compareTrie(reader.AccountTrie(), "A", "a", rows, p, true)
		owner := string(account[:])
		w.compareTrie(reader.StorageTrie(account), "S"+owner, "s"+owner, rows, p, false)
	}
}

func (w *twin) compareFlat(
	r *rand.Rand, sn *Snapshot, reader *Reader, rows map[string]string, account common.Hash,
) {
	w.t.Helper()
	want := rows[string(appendHashKey(nil, spaceAccount, &account))]
	for _, read := range []func() (Account, bool, error){
		func() (Account, bool, error) { return reader.Account(&account) },
		func() (Account, bool, error) { return sn.Account(account) },
	} {
		a, ok, err := read()
		if err != nil || ok != (want != "") || ok && string(a.AppendSlim(nil)) != want {
			w.t.Fatalf("account %x: %+v %v %v, want %x", account, a, ok, err, want)
		}
	}
	slot := w.c.keys[r.Intn(len(w.c.keys))]
	want = rows[string(appendSlotKey(nil, &account, &slot))]
	row, err := reader.Slot(&account, &slot)
	if err != nil || string(row) != want {
		w.t.Fatalf("slot %x of %x: %x %v, want %x", slot, account, row, err, want)
	}
	value, err := sn.Slot(account, slot)
	if err != nil || string(EncodeSlot(value)) != want {
		w.t.Fatalf("slot %x of %x: %x %v, want %x", slot, account, value, err, want)
	}
}

// compareTrie asks for the first branch and leaf below p.
func (w *twin) compareTrie(
	tr trie.Reader, branches, leaves string, rows map[string]string, p trie.Path, full bool,
) {
	w.t.Helper()
	wantPath, wantRow, wantOK := firstBelow(rows, branches, p, false)
	path, b, ok, err := tr.FirstBranch(p)
	if err != nil || ok != wantOK || ok && (path != wantPath || string(b.AppendTo(nil)) != wantRow) {
		w.t.Fatalf("branch below %v: %v %v %v, want %v %v", p, path, ok, err, wantPath, wantOK)
	}
	wantLeaf, wantRow, wantOK := firstBelow(rows, leaves, p, true)
	key, value, ok, err := tr.FirstLeaf(p)
	if full && wantOK {
		a, err := DecodeSlim([]byte(wantRow))
		if err != nil {
			w.t.Fatal(err)
		}
		wantRow = string(a.AppendFull(nil))
	}
	if err != nil || ok != wantOK || ok && (key != wantLeaf.Key || string(value) != wantRow) {
		w.t.Fatalf("leaf below %v: %x %v %v, want %v %v", p, key, ok, err, wantLeaf, wantOK)
	}
}

// firstBelow looks through all rows for the first below p whose key has the given beginning; the
// rest of the key is a hash (leaf) or a path.
func firstBelow(
	rows map[string]string, begin string, p trie.Path, leaf bool,
) (first trie.Path, row string, ok bool) {
	for k, v := range rows {
		if len(k) < len(begin) || k[:len(begin)] != begin {
			continue
		}
		var q trie.Path
		if rest := []byte(k[len(begin):]); leaf {
			q = trie.PathOf(common.Hash(rest), 64)
		} else {
			q, _ = parsePath(rest)
		}
		if q.HasPrefix(p) && (!ok || q.Compare(first) < 0) {
			first, row, ok = q, v, true
		}
	}
	return first, row, ok
}

// TestOverlayReadsAsAModelDoes commits and undoes random layers on a store that reads through the
// overlay and on one that reads plainly, and compares both, and old snapshots, with a model.
func TestOverlayReadsAsAModelDoes(t *testing.T) {
	for seed := range int64(12 / slowdown) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewSource(seed))
			w := newTwin(t, r)
			for range 60 {
				w.step(r)
				if r.Intn(4) == 0 {
					w.snapshot()
				}
				if n := len(w.open); n > 0 {
					w.compare(r, r.Intn(n))
					if n > 4 {
						w.drop(r.Intn(n))
					}
				}
			}
			w.c.check(t, w.fast)
			sameRows(t, allRows(t, w.fast), allRows(t, w.plain))
			for len(w.open) > 0 {
				w.drop(0)
			}
			w.fast = reopen(t, w.fast)
			w.c.check(t, w.fast)
			mustClose(t, w.fast)
			mustClose(t, w.plain)
		})
	}
}

func (w *twin) drop(i int) {
	w.t.Helper()
	mustClose(w.t, w.open[i])
	n := len(w.open) - 1
	w.open[i], w.opened[i], w.openedCursor[i] = w.open[n], w.opened[n], w.openedCursor[n]
	w.open, w.opened, w.openedCursor = w.open[:n], w.opened[:n], w.openedCursor[:n]
}

func reopen(t *testing.T, s *Store) *Store {
	t.Helper()
	o := s.opts
	mustClose(t, s)
	return mustOpen(t, o)
}

// TestOverlayShedsGenerations says that the property test above sees what it is meant to see.
func TestOverlayShedsGenerations(t *testing.T) {
	s, c := builtStore(t, MemFS(), 1)
	caches := map[*generation]bool{}
	for range 200 {
		checkpointNext(t, s, c)
		if n := len(s.recent.gens); n != 1 {
			t.Fatalf("%d generations after a checkpoint", n)
		}
		caches[s.recent.written] = true
	}
	if s.recent.written.keys == 0 || len(caches) < 3 {
		t.Errorf("%d rows are kept of those in tables; %d caches came and went",
			s.recent.written.keys, len(caches))
	}
	c.check(t, s)
	mustClose(t, s)
}

// checkpointNext commits a random block, and has its rows in tables when it returns.
func checkpointNext(t testing.TB, s *Store, c *chain) {
	t.Helper()
	commitNext(t, s, c, 12)
	if err := s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
}

// builtStore opens a small store with a random state in it.
func builtStore(t testing.TB, fs FS, seed int64) (*Store, *chain) {
	t.Helper()
	c := newChain(newRand(seed), 30)
	c.next(c.layer(10))
	s := mustOpen(t, testOptions(fs))
	c.build(t, s)
	return s, c
}

// commitNext commits a random block.
func commitNext(t testing.TB, s *Store, c *chain, n int) undone {
	t.Helper()
	l := c.layer(n)
	expect := c.cursor
	b, u := c.next(l)
	if err := s.Commit(expect, b, l); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRevertEqualsAStoreThatNeverSawTheBlock(t *testing.T) {
	s, c := builtStore(t, MemFS(), 2)
	for range 20 {
		var undo []undone
		start := allRows(t, s)
		for range 1 + c.r.Intn(5) {
			undo = append(undo, commitNext(t, s, c, 10))
		}
		if bytes.Equal([]byte(fmt.Sprint(start)), []byte(fmt.Sprint(allRows(t, s)))) {
			t.Fatal("the blocks changed nothing")
		}
		for i := len(undo) - 1; i >= 0; i-- {
			sn := s.NewSnapshot()
			d, err := sn.ReverseDiff(undo[i].from.Number, undo[i].from.Hash)
			if err != nil {
				t.Fatal(err)
			}
			mustClose(t, sn)
			// The layer that the reverse diff gives, with the current values beside it.
			l := &Layer{Branches: undo[i].layer.Branches}
			for _, w := range d.Accounts {
				pre := c.get(appendHashKey(nil, spaceAccount, &w.Hash))
				l.Accounts = append(l.Accounts, AccountWrite{w.Hash, pre, w.Pre})
			}
			for _, w := range d.Slots {
				pre := c.get(appendSlotKey(nil, &w.Account, &w.Slot))
				l.Slots = append(l.Slots, SlotWrite{w.Account, w.Slot, pre, w.Pre})
			}
			if err := s.Revert(undo[i].from, undo[i].to, l); err != nil {
				t.Fatal(err)
			}
			c.back(undo[i])
		}
		sameRows(t, allRows(t, s), start)
	}
	mustClose(t, s)
}
