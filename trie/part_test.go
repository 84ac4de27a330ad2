package trie_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

// rowLog is a Sink that keeps rows until they are replayed.
type rowLog struct {
	puts    []func(trie.Sink) error
	lastTag uint32
}

func (l *rowLog) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	b.Refs = slices.Clone(b.Refs)
	l.lastTag = tag
	l.puts = append(l.puts, func(s trie.Sink) error { return s.PutBranch(tag, p, b) })
	return nil
}

func (l *rowLog) DeleteBranch(tag uint32, p trie.Path) error {
	l.lastTag = tag
	l.puts = append(l.puts, func(s trie.Sink) error { return s.DeleteBranch(tag, p) })
	return nil
}

func (l *rowLog) replay(t testing.TB, s trie.Sink) {
	t.Helper()
	for _, put := range l.puts {
		if err := put(s); err != nil {
			t.Fatal(err)
		}
	}
}

// rootRow returns the row at the root path, if there is one.
func rootRow(t testing.TB, m *trietest.Trie) (trie.Branch, bool) {
	t.Helper()
	p, b, ok, err := m.FirstBranch(trie.Path{})
	if err != nil {
		t.Fatal(err)
	}
	return b, ok && p.Len == 0
}

// byNibble splits changes by the first nibble of their keys.
func byNibble(cs []trie.Change) (parts [16][]trie.Change) {
	for _, c := range cs {
		parts[c.Key[0]>>4] = append(parts[c.Key[0]>>4], c)
	}
	return parts
}

// updateByParts makes all parts side by side, each by an updater of its own, and joins them.
func updateByParts(t testing.TB, m *trietest.Trie, root trie.Branch, cs []trie.Change) common.Hash {
	t.Helper()
	m.Keys() // made before, as the parts read at the same time
	var wg sync.WaitGroup
	var logs [17]rowLog
	var made [16]trie.Part
	var errs [16]error
	split := byNibble(cs)
	for x, cs := range split {
		if len(cs) > 0 {
			wg.Go(func() {
				o := trie.Options{Sink: &logs[x], Hasher: testHashers()[x%3]}
				u := trie.NewUpdater(o)
				made[x], errs[x] = u.UpdatePart(7, m, root, byte(x), cs)
			})
		}
	}
	wg.Wait()
	var parts []trie.Part
	for x := range made {
		if errs[x] != nil {
			t.Fatalf("part %x: %v", x, errs[x])
		}
		if len(split[x]) > 0 {
			parts = append(parts, made[x])
		}
	}
	u := trie.NewUpdater(trie.Options{Sink: &logs[16]})
	id, err := u.JoinParts(7, m, root, parts)
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	for i := range logs {
		logs[i].replay(t, m)
		if len(logs[i].puts) > 0 && logs[i].lastTag != 7 {
			t.Errorf("tag %d, want 7", logs[i].lastTag)
		}
	}
	return u.Root(id)
}

func TestUpdateByPartsIsTheUpdate(t *testing.T) {
	joined, gone := 0, 0
	for seed := range seeds(80) {
		r := rand.New(rand.NewPCG(seed, 20))
		a := newAccount(r, []int{2, 3, 6, 40, 300}[r.IntN(5)])
		if r.IntN(2) == 0 { // spread over few first nibbles
			for i := range a.pool {
				a.pool[i][0] = a.pool[i][0]&15 | byte(r.IntN(1+r.IntN(16)))<<4
			}
		}
		for round := range 8 {
			cs := a.change(r)
			root, ok := rootRow(t, a.trie)
			var got common.Hash
			if ok {
				joined++
				got = updateByParts(t, a.trie, root, cs)
			} else {
				u := trie.NewUpdater(trie.Options{Sink: a.trie})
				id, err := u.Update(0, a.trie, false, cs)
				if err != nil || u.Flush() != nil {
					t.Fatal(err)
				}
				got = u.Root(id)
			}
			a.commit(cs)
			want, rows := gethBuild(t, a.leaves)
			if got != want {
				t.Fatalf("seed %d, round %d: root %x, want %x", seed, round, got, want)
			}
			checkRows(t, a.trie.Rows(), rows)
			if _, stays := rootRow(t, a.trie); ok && !stays {
				gone++
			}
		}
	}
	if joined < 150 || gone < 15 {
		t.Errorf("only %d joins tried, %d of them without a root row after", joined, gone)
	}
}

func TestNamedJoins(t *testing.T) {
	cases := []struct {
		name          string
		before, after []string
	}{
		{"all parts empty", []string{"1", "2", "2|1"}, nil},
		{"one untouched leaf is left", []string{"1", "2"}, []string{"2"}},
		{"one untouched branch is left", []string{"1", "2", "2|1"}, []string{"2", "2|1"}},
		{"one changed part is left, a leaf", []string{"1", "2"}, []string{"25"}},
		{"one changed part is left, a branch", []string{"1", "2", "2|1"},
			[]string{"2", "2|1", "2|2"}},
		{"one sixteenth goes, another comes", []string{"11|1", "2"},
			[]string{"11|1", "11|2", "3"}},
		{"a part's branch collapses to its untouched leaf", []string{"1", "2", "2|1"},
			[]string{"1", "2|1"}},
		{"a part's branch collapses to an untouched branch", []string{"1", "2", "21", "21|1"},
			[]string{"1", "21", "21|1"}},
		{"all sixteen change", nil, nil},
	}
	for i := range 16 {
		last := &cases[len(cases)-1]
		last.before = append(last.before, fmt.Sprintf("%x", i))
		last.after = append(last.after, fmt.Sprintf("%x|5", i))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before, after := leavesOf([]byte{1}, c.before...), leavesOf([]byte{1}, c.after...)
			m, _ := filled(t, before)
			values := turnInto(before, after)
			root, ok := rootRow(t, m)
			if !ok {
				t.Fatal("the case needs a branch at the root")
			}
			got := updateByParts(t, m, root, m.Changes(values))
			m.Commit()
			want, rows := gethBuild(t, after)
			if got != want {
				t.Errorf("root %x, want %x", got, want)
			}
			checkRows(t, m.Rows(), rows)
		})
	}
}

func TestPartsWithoutChangesAreTheSameTrie(t *testing.T) {
	m, want := filled(t, leavesOf(slices.Repeat([]byte{1}, 600), "1", "2", "2|1", "35", "36", "a"))
	root, _ := rootRow(t, m)
	u := trie.NewUpdater(trie.Options{Sink: m})
	var parts []trie.Part
	for x := range byte(16) {
		p, err := u.UpdatePart(0, m, root, x, nil)
		if err != nil || p.Nibble() != x {
			t.Fatalf("part %x: nibble %x, %v", x, p.Nibble(), err)
		}
		parts = append(parts, p)
	}
	for wantID, parts := range [][]trie.Part{nil, parts[3:7], parts} {
		id, err := u.JoinParts(0, m, root, parts)
		if err != nil || u.Flush() != nil {
			t.Fatal(err)
		}
		if id != wantID {
			t.Errorf("id %d, want %d: parts have none", id, wantID)
		}
		if u.Root(id) != want {
			t.Errorf("%d parts: root %x, want %x", len(parts), u.Root(id), want)
		}
		m.Rollback()
	}
}

func TestBadPartsAreErrors(t *testing.T) {
	m, _ := filled(t, leavesOf([]byte{1}, "1", "2", "2|1"))
	root, _ := rootRow(t, m)
	u := trie.NewUpdater(trie.Options{})
	change := func(key string) []trie.Change {
		return []trie.Change{{Key: keyOf(key, ""), Value: []byte{2}}}
	}
	cases := []struct {
		name string
		want error
		root trie.Branch
		x    byte
		cs   []trie.Change
	}{
		{"nibble beyond f", trie.ErrBadPath, root, 16, nil},
		{"change of another child", trie.ErrKeyOrder, root, 3, change("4")},
		{"last change elsewhere", trie.ErrKeyOrder, root, 3, append(change("3"), change("4")...)},
		{"out of order", trie.ErrKeyOrder, root, 3, append(change("33"), change("3")...)},
		{"leaf exists", trie.ErrStaleChange, root, 1, change("1")},
		{"bad root row", trie.ErrBadBranch, trie.Branch{Mask: 1}, 1, change("11")},
		{"empty value", trie.ErrStaleChange, root, 4, []trie.Change{{Key: keyOf("4", "")}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := u.UpdatePart(0, m, c.root, c.x, c.cs); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
	p, err := u.UpdatePart(0, m, root, 4, change("4"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.JoinParts(0, m, root, []trie.Part{p, p})
	if !errors.Is(err, trie.ErrDuplicateKey) {
		t.Errorf("a part twice: %v", err)
	}
	_, err = u.JoinParts(0, m, trie.Branch{}, []trie.Part{p})
	if !errors.Is(err, trie.ErrBadBranch) {
		t.Errorf("bad root row: %v", err)
	}
}

// TestPartsGiveTheirNodesBack makes more parts, good and bad, than the pool has nodes.
func TestPartsGiveTheirNodesBack(t *testing.T) {
	m, _ := filled(t, leavesOf([]byte{1}, "1", "2", "2|1", "3", "3|1", "3|11"))
	root, _ := rootRow(t, m)
	sink := &failingSink{Sink: &discard{}}
	u := trie.NewUpdater(trie.Options{Sink: sink})
	after := leavesOf([]byte{2}, "1", "2", "2|1", "3", "3|1", "3|11")
	cs := byNibble(m.Changes(after))
	var parts []trie.Part
	for i := range 1500 {
		parts = parts[:0]
		sink.at, sink.calls = i%4-1, 0
		for x, cs := range cs {
			if len(cs) == 0 {
				continue
			}
			p, err := u.UpdatePart(0, m, root, byte(x), cs)
			if err != nil && sink.calls <= sink.at {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		if len(parts) > 0 && sink.at < 0 {
			id, err := u.JoinParts(0, m, root, parts)
			if err != nil || u.Flush() != nil {
				t.Fatal(err)
			}
			if want, _ := gethBuild(t, after); i%100 == 0 && u.Root(id) != want {
				t.Fatalf("root %x, want %x", u.Root(id), want)
			}
		}
	}
}

func TestPartsOverAFailingReaderOrSinkFail(t *testing.T) {
	before := leavesOf([]byte{1}, "1", "2", "2|1", "2|2", "21|1", "21|2", "3", "31", "31|1")
	after := leavesOf([]byte{1}, "1", "1|1", "2", "21|1", "3|1", "4", "41")
	want, _ := gethBuild(t, after)
	m, _ := filled(t, before)
	cs := byNibble(m.Changes(turnInto(before, after)))
	root, _ := rootRow(t, m)
	sink := &failingSink{Sink: m}
	u := trie.NewUpdater(trie.Options{Sink: sink, Hasher: &testHasher{lanes: 8}})
	run := func(r trie.Reader) (int, error) {
		var parts []trie.Part
		for x, cs := range cs {
			if len(cs) == 0 {
				continue
			}
			p, err := u.UpdatePart(0, r, root, byte(x), cs)
			if err != nil {
				return 0, err
			}
			parts = append(parts, p)
		}
		id, err := u.JoinParts(0, r, root, parts)
		return id, errors.Join(err, u.Flush())
	}
	for _, failing := range []string{"reader", "sink"} {
		for at := 0; ; at++ {
			sink.at, sink.calls = -1, 0
			r := &failingReader{Reader: m, at: -1}
			calls := &r.calls
			if r.at = at; failing == "sink" {
				r.at, sink.at = -1, at
				calls = &sink.calls
			}
			id, err := run(r)
			failed := *calls > at
			if errors.Is(err, errInjected) != failed {
				t.Fatalf("%s, call %d: %v", failing, at, err)
			}
			m.Rollback()
			if !failed {
				if u.Root(id) != want {
					t.Errorf("root %x, want %x", u.Root(id), want)
				}
				if at < 4 {
					t.Errorf("only %d calls of the %s tried", at, failing)
				}
				break
			}
			u.Reset()
		}
	}
}
