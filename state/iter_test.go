package state

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// rowIter is what all iterators have in common.
type rowIter interface {
	Next() bool
	Value() []byte
	Error() error
	Close() error
}

// collect reads an iterator to its end; key makes a database key of where it stands.
func collect(t *testing.T, it rowIter, key func() []byte) (keys []string, values []string) {
	t.Helper()
	for it.Next() {
		keys = append(keys, string(key()))
		values = append(values, string(it.Value()))
	}
	if it.Next() || it.Error() != nil {
		t.Fatalf("at the end: %v", it.Error())
	}
	mustClose(t, it)
	return keys, values
}

// slotKey gives the key of the row at which the iterator stands.
func slotKey(it *SlotIter) func() []byte {
	return func() []byte {
		a, h := it.AccountHash(), it.Key()
		return appendSlotKey(nil, &a, &h)
	}
}

// branchKey gives the key of the row at which the iterator stands.
func branchKey(it *BranchIter) func() []byte {
	return func() []byte {
		a, p := it.AccountHash(), it.Key()
		if !it.storage {
			return appendBranchKey(nil, nil, &p)
		}
		return appendBranchKey(nil, &a, &p)
	}
}

func TestWalksGiveEveryRowInOrder(t *testing.T) {
	s, c := builtStore(t, MemFS(), 3)
	for range 5 {
		commitNext(t, s, c, 12) // in memtables too
	}
	sn := s.NewSnapshot()
	commitNext(t, s, c, 0)
	from := c.keys[len(c.keys)/2]
	want := func(lower, upper string) (keys, values []string) {
		for k := range c.rows {
			if k >= lower && (upper == "" || k < upper) {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			values = append(values, c.rows[k])
		}
		return keys, values
	}
	check := func(name string, it rowIter, key func() []byte, lower, upper string) {
		t.Helper()
		keys, values := collect(t, it, key)
		wantKeys, wantValues := want(lower, upper)
		if !slices.Equal(keys, wantKeys) || !slices.Equal(values, wantValues) {
			t.Errorf("%s: %d rows, want %d", name, len(keys), len(wantKeys))
		}
	}
	accounts := sn.Accounts(from)
	accountKey := func() []byte {
		h := accounts.Key()
		return appendHashKey(nil, spaceAccount, &h)
	}
	check("accounts", accounts, accountKey, "a"+string(from[:]), "b")
	slots := sn.AllSlots()
	check("all slots", slots, slotKey(slots), "s", "t")
	branches := sn.Branches(common.Hash{}, false)
	check("account branches", branches, branchKey(branches), "A", "B")
	branches = sn.AllStorageBranches()
	check("storage branches", branches, branchKey(branches), "S", "T")
	for _, a := range c.keys {
		end := string(successor([]byte("s" + string(a[:]))))
		slots := sn.Slots(a, from)
		check("slots", slots, slotKey(slots), "s"+string(a[:])+string(from[:]), end)
		end = string(successor([]byte("S" + string(a[:]))))
		branches := sn.Branches(a, true)
		check("branches", branches, branchKey(branches), "S"+string(a[:]), end)
	}
	n := 0
	codes := sn.Codes()
	for ; codes.Next(); n++ {
		if c.codes[codes.Key()] != string(codes.Value()) {
			t.Errorf("code %x: %q", codes.Key(), codes.Value())
		}
	}
	mustClose(t, codes)
	if n != len(c.codes) {
		t.Errorf("%d codes, want %d", n, len(c.codes))
	}
	mustClose(t, sn)
	mustClose(t, s)
}

func TestSuccessorSkipsTheWholePrefix(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "a\xff\x01\xff": "a\xff\x02",
		"\xff\xff": ""} {
		if got := string(successor([]byte(prefix))); got != want {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}

func TestCountsAndSizes(t *testing.T) {
	s, c := builtStore(t, MemFS(), 5)
	for range 30 {
		commitNext(t, s, c, 12)
	}
	got := countsOf(t, s)
	var want Counts
	for k := range c.rows {
		switch k[0] {
		case spaceAccount:
			want.Accounts++
		case spaceSlot:
			want.Slots++
		case spaceAccountBranch:
			want.AccountBranches++
		case spaceStorageBranch:
			want.StorageBranches++
		}
	}
	want.Codes, want.Headers = uint64(len(c.codes)), 31
	want.BALs, want.ReverseDiffs = 30, 30
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	z, err := s.Sizes()
	if err != nil || z.Disk == 0 || z.Flat == 0 || z.Branches == 0 || z.MemTable == 0 {
		t.Errorf("%+v, %v", z, err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	sn := s.NewSnapshot()
	if _, err := sn.Counts(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	mustClose(t, sn)
	mustClose(t, s)
}
