package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// randomBranches makes n rows of tries of a few accounts, and of the account trie.
func randomBranches(seed int64, n int) map[string]string {
	c := newChain(newRand(seed), 12)
	rows := map[string]string{}
	for len(rows) < n {
		k := c.keys[c.r.Intn(len(c.keys))]
		p := trie.PathOf(c.hash(), c.r.Intn(c.r.Intn(64)+1))
		if c.r.Intn(4) == 0 {
			rows[string(appendBranchKey(nil, nil, &p))] = string(c.branch())
		} else {
			rows[string(appendBranchKey(nil, &k, &p))] = string(c.branch())
		}
	}
	return rows
}

// orders are orders that rows may come in.
var orders = map[string]func(r *rand.Rand, keys []string){
	"ascending":  func(*rand.Rand, []string) {},
	"descending": func(_ *rand.Rand, keys []string) { slices.Reverse(keys) },
	"random": func(r *rand.Rand, keys []string) {
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	},
	"children first": func(_ *rand.Rand, keys []string) {
		slices.SortFunc(keys, func(x, y string) int { return bytes.Compare(last(x), last(y)) })
	},
	"halves in turn": func(_ *rand.Rand, keys []string) {
		in := slices.Clone(keys)
		for i := range keys {
			keys[i] = in[i/2+i%2*((len(in)+1)/2)%len(in)]
		}
	},
}

// last is the key's place in an order in which a branch comes after what lies below it.
func last(key string) []byte { return append([]byte(key), 0xff) }

// TestBranchRowsInAnyOrderBecomeTheSameRows flushes rows in bad orders by several writers, in runs
// of a few rows each, and merges all runs, a few at a time.
func TestBranchRowsInAnyOrderBecomeTheSameRows(t *testing.T) {
	for name, order := range orders {
		for _, fanIn := range []int{2, 3, maxMergeFiles} {
			t.Run(fmt.Sprintf("%s, %d at once", name, fanIn), func(t *testing.T) {
				rows := randomBranches(int64(fanIn), 400)
				s, b, commit := emptyBuild(t)
				b.fanIn, b.small = fanIn, uint64(fanIn-2)*8 // none, some, or all are small
				writers := []*BulkRows{b.NewRows(), b.NewRows(), b.NewRows()}
				keys := slices.Sorted(maps.Keys(rows))
				order(newRand(1), keys)
				for i, k := range keys {
					w := writers[i%3]
					w.max = 4000
					if err := putRow(w, []byte(k), []byte(rows[k])); err != nil {
						t.Fatal(err)
					}
					if w.Buffered() >= w.max {
						t.Fatalf("%d bytes are held", w.Buffered())
					}
				}
				runs := 0
				for i, w := range writers {
					done := KeyRange{To: common.Hash{byte(i)}}
					if i > 0 { // in two steps
						if err := w.Write(done); err != nil || w.Buffered() != 0 {
							t.Fatal(err)
						}
					}
					stats, err := w.Flush(done)
					if err != nil {
						t.Fatal(err)
					}
					runs += stats.Runs
				}
				if runs < 20 {
					t.Errorf("%d runs", runs)
				}
				commit()
				branchRows(t, s, rows)
				mustClose(t, s)
			})
		}
	}
}

// emptyBuild begins a build and returns what commits it.
func emptyBuild(t *testing.T) (*Store, *Bulk, func()) {
	t.Helper()
	s := mustOpen(t, testOptions(MemFS()))
	h, c := childOf(genesisParent, common.Hash{1})
	b, err := s.NewBulk(BulkOptions{ChainID: 1, Target: c})
	if err != nil {
		t.Fatal(err)
	}
	return s, b, func() {
		t.Helper()
		if err := b.Commit(h, c); err != nil {
			t.Fatal(err)
		}
	}
}

// branchRows compares the store's branch rows.
func branchRows(t *testing.T, s *Store, want map[string]string) {
	t.Helper()
	got := allRows(t, s)
	maps.DeleteFunc(got, func(k, _ string) bool {
		return k[0] != spaceAccountBranch && k[0] != spaceStorageBranch
	})
	sameRows(t, got, want)
}

// TestRowsThatComeTwiceHaveToBeTheSame flushes a row by two writers.
func TestRowsThatComeTwiceHaveToBeTheSame(t *testing.T) {
	other := someBranch
	other.Sub = 1
	for i, second := range []trie.Branch{someBranch, other, someBranch, other} {
		s, b, _ := emptyBuild(t)
		b.small = uint64(i / 2)
		a := common.Hash{2}
		for _, br := range []trie.Branch{someBranch, second} {
			w := b.NewRows()
			err := w.PutStorageBranch(&a, trie.Path{}, br)
			if _, e := w.Flush(KeyRange{a, a}); errors.Join(err, e) != nil {
				t.Fatal(err, e)
			}
		}
		h, c := childOf(genesisParent, common.Hash{1})
		err := b.Commit(h, c)
		if second.Sub == someBranch.Sub && err != nil ||
			second.Sub != someBranch.Sub && !errors.Is(err, ErrDuplicateKey) {
			t.Errorf("%v", err)
		}
		mustClose(t, s)
	}
}

// TestTheTopOfATrieComesBetweenItsParts writes the parts of a trie and then its top, as workers
// that share a trie do: the parts' tables are taken as they are.
func TestTheTopOfATrieComesBetweenItsParts(t *testing.T) {
	s, b, commit := emptyBuild(t)
	b.small = 17
	a := common.Hash{2}
	root := trie.Path{}
	w := b.NewRows()
	flush := func(done ...KeyRange) {
		t.Helper()
		if _, err := w.Flush(done...); err != nil {
			t.Fatal(err)
		}
	}
	put := func(p trie.Path) {
		t.Helper()
		if err := w.PutStorageBranch(&a, p, someBranch); err != nil {
			t.Fatal(err)
		}
	}
	for x := range byte(16) {
		for i := range 20 {
			put(root.Child(x).Child(byte(i / 16)).Child(byte(i % 16)))
		}
		flush()
	}
	parts := slices.Clone(b.tables)
	put(root)
	for x := range byte(16) {
		put(root.Child(x))
	}
	flush(KeyRange{a, a})
	out, err := b.disjoint(b.tables)
	if err != nil || len(out) != 2*16 {
		t.Fatalf("%d tables, %v", len(out), err)
	}
	for i := range parts {
		if !slices.ContainsFunc(out, func(m tableMeta) bool { return m.id == parts[i].id }) {
			t.Errorf("table %d was written again", parts[i].id)
		}
	}
	commit()
	if n := countsOf(t, s).StorageBranches; n != 16*20+17 {
		t.Errorf("%d rows", n)
	}
	mustClose(t, s)
}

// TestABulkRowsHoldsNoMoreThanItsBound puts many rows and looks at the memory.
func TestABulkRowsHoldsNoMoreThanItsBound(t *testing.T) {
	s, b, commit := emptyBuild(t)
	w := b.NewRows()
	w.max = 256 << 10
	r := newRand(1)
	var a common.Hash
	most := 0
	for i := range 30_000 {
		if i%7 == 0 {
			r.Read(a[:])
		}
		p := trie.PathOf(common.Hash{byte(i % 7)}, 2)
		if err := w.PutStorageBranch(&a, p, someBranch); err != nil {
			t.Fatal(err)
		}
		most = max(most, w.Buffered())
	}
	held := cap(w.mem) + 24*(cap(w.refs[1])+cap(w.sorter.rows)) + 32*cap(w.accounts)
	if most >= w.max || held > 4*w.max {
		t.Errorf("%d bytes buffered, %d bytes held", most, held)
	}
	stats, err := w.Flush(KeyRange{To: common.MaxHash})
	if err != nil || stats.Rows != 30_000 || stats.Runs < 10 {
		t.Errorf("%+v, %v", stats, err)
	}
	commit()
	if n := countsOf(t, s).StorageBranches; n != 30_000 {
		t.Errorf("%d rows", n)
	}
	mustClose(t, s)
}

// TestDroppedRowsAreGone drops accounts of which rows are in memory and in runs.
func TestDroppedRowsAreGone(t *testing.T) {
	s, b, commit := emptyBuild(t)
	rows := randomBranches(3, 300)
	w := b.NewRows()
	w.max = 3000
	var drop common.Hash
	count := map[common.Hash]int{}
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		if k[0] == spaceStorageBranch {
			a := common.Hash([]byte(k[1:33]))
			if count[a]++; count[a] > count[drop] {
				drop = a
			}
		}
	}
	for k := range rows {
		if err := putRow(w, []byte(k), []byte(rows[k])); err != nil {
			t.Fatal(err)
		}
	}
	w.Drop(&drop)
	gone := 0
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		if k[0] != spaceStorageBranch || k[1:33] != string(drop[:]) {
			continue
		}
		if gone++; gone%2 == 0 { // half of them come again
			delete(rows, k)
		} else if err := putRow(w, []byte(k), []byte(rows[k])); err != nil {
			t.Fatal(err)
		}
	}
	if gone < 10 {
		t.Fatalf("%d rows dropped", gone)
	}
	if _, err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	w2 := b.NewRows()
	w2.max = 3000
	for k := range randomBranches(4, 100) {
		if err := putRow(w2, []byte(k), someBranch.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
	}
	w2.Discard()
	if _, err := w2.Flush(); err != nil {
		t.Fatal(err)
	}
	commit()
	branchRows(t, s, rows)
	mustClose(t, s)
}

// TestWorkersLoaderAndReadersSideBySide runs them all at once.
func TestWorkersLoaderAndReadersSideBySide(t *testing.T) {
	s, b, commit := emptyBuild(t)
	b.load.slots.w.cut = 2000
	const workers, accounts, slots = 4, 60, 20
	hash := func(i int) common.Hash { return common.Hash{byte(i), 1} }
	loaded := make([]chan struct{}, accounts)
	for i := range loaded {
		loaded[i] = make(chan struct{})
	}
	errs := make(chan error, workers+1)
	var all sync.WaitGroup
	run := func(f func() error) {
		all.Add(1)
		go func() {
			defer all.Done()
			errs <- f()
		}()
	}
	run(func() error {
		for i := range accounts {
			for j := range slots {
				if err := b.Slot(hash(i), hash(j), common.Hash{31: byte(j + 1)}); err != nil {
					return err
				}
			}
			if i%10 == 9 {
				if err := b.Sync(); err != nil {
					return err
				}
				for k := range 10 {
					close(loaded[i-k])
				}
			}
		}
		return nil
	})
	for n := range workers {
		run(func() error { return buildSome(b, n, workers, slots, loaded, hash) })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Built(); len(got) != accounts {
		t.Errorf("%d ranges", len(got))
	}
	commit()
	want := Counts{Slots: accounts * slots, StorageBranches: accounts, Headers: 1}
	if got := countsOf(t, s); got != want {
		t.Errorf("%+v", got)
	}
	mustClose(t, s)
}

func buildSome(
	b *Bulk, n, of, slots int, loaded []chan struct{}, hash func(int) common.Hash,
) error {
	r, err := b.NewReader()
	if err != nil {
		return err
	}
	w := b.NewRows()
	for i := n; i < len(loaded) && err == nil; i += of {
		<-loaded[i]
		a := hash(i)
		err = r.Refresh()
		r.SeekSlots(&a, &common.Hash{})
		got := 0
		for ok := err == nil; ok; got++ {
			_, _, ok, err = r.NextSlot()
		}
		if err == nil && got-1 != slots {
			err = fmt.Errorf("account %d has %d slots", i, got-1)
		}
		if err == nil {
			err = w.PutStorageBranch(&a, trie.Path{}, someBranch)
		}
		if err == nil {
			_, err = w.Flush(KeyRange{a, a})
		}
	}
	return errors.Join(err, r.Close())
}
