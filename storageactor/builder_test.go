package storageactor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/trie"
)

// shapes are leaves that broke other clients, by what is special about them.
func shapes(r *rand.Rand) map[string][]messages.StorageLeaf {
	leaf := func(k common.Hash, v uint64) messages.StorageLeaf {
		return messages.StorageLeaf{Slot: k, Value: rlpValue(v)}
	}
	last := func(b byte) common.Hash {
		k := common.MaxHash
		k[31] = b
		return k
	}
	comb := make([]messages.StorageLeaf, 0, 64)
	for n := range 64 { // each key leaves the last one's path one nibble deeper
		k := common.Hash{}
		k[n/2] = 1 << (4 * (1 - n%2))
		comb = append(comb, leaf(k, uint64(n)))
	}
	return map[string][]messages.StorageLeaf{
		"none":                               {},
		"one":                                {leaf(common.Hash{5}, 1)},
		"two":                                {leaf(common.Hash{5}, 1), leaf(common.Hash{0x51}, 2)},
		"two that differ in the last nibble": {leaf(last(0xf0), 1), leaf(last(0xf1), 2)},
		"sixteen that differ in the last nibble": func() (ls []messages.StorageLeaf) {
			for x := range byte(16) {
				ls = append(ls, leaf(last(0xf0+x), uint64(x)))
			}
			return ls
		}(),
		"lowest and highest key":      {leaf(common.Hash{}, 1), leaf(common.MaxHash, 2)},
		"all under one nibble":        under(r, pathOf("7"), 700),
		"all under the last nibble":   under(r, pathOf("f"), 700),
		"all under a deep prefix":     under(r, pathOf("ffffffffffffffffffff0"), 700),
		"two sixteenths":              both(under(r, pathOf("0"), 300), under(r, pathOf("f"), 300)),
		"one leaf beside a sixteenth": append(under(r, pathOf("3"), 400), leaf(common.MaxHash, 9)),
		"crowded at the low end":      both(under(r, pathOf("00000000"), 500), under(r, pathOf("f"), 3)),
		"crowded at the high end":     both(under(r, pathOf("0"), 3), under(r, pathOf("ffffffff"), 500)),
		"a comb":                      sorted(comb),
		"evenly spread":               hashed(r, 3000),
		"63":                          hashed(r, 63),
		"64":                          hashed(r, 64),
		"65":                          hashed(r, 65),
	}
}

// both are leaves behind leaves.
func both(a, b []messages.StorageLeaf) []messages.StorageLeaf { return append(a, b...) }

// buildSplit builds a trie in parts of so many leaves and joins them with another builder.
func buildSplit(t *testing.T, s *memStore, u messages.TrieUnit, part int) (
	messages.TrieOutcome, Rows) {
	t.Helper()
	rows := s.NewRows()
	b := newBuilder(s, time.Now)
	survey, err := b.survey(&messages.SurveyTrie{Unit: u, PartLeaves: part, MaxParts: 1 << 14})
	if err != nil {
		t.Fatal(err)
	}
	var parts []trie.Part
	other := newBuilder(s, time.Now)
	for i := range survey.Parts {
		if i > 0 && survey.Parts[i-1].Prefix.Compare(survey.Parts[i].Prefix) >= 0 {
			t.Fatalf("part %v comes before %v", survey.Parts[i-1].Prefix, survey.Parts[i].Prefix)
		}
		out := other.build(&messages.BuildTries{Units: survey.Parts[i : i+1]}, rows)
		if out[0].Err != nil {
			t.Fatal(out[0].Err)
		}
		parts = append(parts, *out[0].Part)
	}
	other.closeReader()
	o := b.join(&messages.JoinTrie{Unit: u, Parts: parts}, rows)
	b.closeReader()
	return o, rows
}

func TestEveryShapeHasTheStandardRootWholeAndSplitAnywhere(t *testing.T) {
	for name, leaves := range shapes(rand.New(rand.NewPCG(1, 1))) {
		for _, source := range []string{"flat rows", "slice"} {
			t.Run(name+"/"+source, func(t *testing.T) {
				s := newMemStore()
				u := messages.TrieUnit{StorageAccount: messages.StorageAccount{Account: common.Hash{1}}}
				if source == "slice" {
					u.Source = leaves
				} else {
					s.add(u.Account, leaves)
				}
				want := stackRoot(t, leaves)
				u.Expected = want
				whole := s.NewRows()
				b := newBuilder(s, time.Now)
				o := b.build(&messages.BuildTries{Units: []messages.TrieUnit{u}}, whole)[0]
				b.closeReader()
				if o.Err != nil || o.Root != want || o.Leaves != len(leaves) {
					t.Fatalf("%+v, want root %s", o, want)
				}
				for _, part := range []int{1, 2, 7, 100, 1 << 20} {
					got, rows := buildSplit(t, s, u, part)
					if got.Err != nil || got.Root != want {
						t.Fatalf("in parts of %d: root %s, %v; want %s", part, got.Root, got.Err, want)
					}
					if d := diff(whole, rows); d != "" {
						t.Fatalf("in parts of %d: %s", part, d)
					}
				}
				if n := s.inUse.Load(); n != 0 {
					t.Fatalf("%d readers are open", n)
				}
			})
		}
	}
}

// diff says how the rows of two buffers differ.
func diff(want, got Rows) string {
	a, b := want.(*memRows).rows, got.(*memRows).rows
	for k, row := range a {
		if b[k] != row {
			return fmt.Sprintf("row %s is %x, want %x", k, b[k], row)
		}
	}
	if len(b) != len(a) {
		return fmt.Sprintf("%d rows, want %d", len(b), len(a))
	}
	return ""
}

// A bad account fails alone, with a typed error, and leaves no row.
func TestABadAccountFailsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	spoil := func(f func(ls []messages.StorageLeaf) []messages.StorageLeaf) []messages.StorageLeaf {
		return f(hashed(r, 200))
	}
	for name, tc := range map[string]struct {
		leaves []messages.StorageLeaf
		root   common.Hash
		want   error
	}{
		"a duplicate": {want: trie.ErrDuplicateKey,
			leaves: spoil(func(ls []messages.StorageLeaf) []messages.StorageLeaf {
				return append(ls, ls[len(ls)-1])
			})},
		"out of order": {want: trie.ErrKeyOrder,
			leaves: spoil(func(ls []messages.StorageLeaf) []messages.StorageLeaf {
				ls[100], ls[150] = ls[150], ls[100]
				return ls
			})},
		"an empty value": {want: trie.ErrEmptyValue,
			leaves: spoil(func(ls []messages.StorageLeaf) []messages.StorageLeaf {
				ls[120].Value = nil
				return ls
			})},
		"the RLP of zero": {want: trie.ErrEmptyValue,
			leaves: spoil(func(ls []messages.StorageLeaf) []messages.StorageLeaf {
				ls[199].Value = []byte{0x80}
				return ls
			})},
		"another root than expected": {want: ErrRootMismatch, root: common.Hash{9},
			leaves: hashed(r, 200)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			var units []messages.TrieUnit
			for i := range 5 {
				u := messages.TrieUnit{}
				u.Account, u.Source = common.Hash{byte(i + 1)}, hashed(r, 80)
				u.Expected = stackRoot(t, u.Source)
				if i == 2 {
					u.Source, u.Expected = tc.leaves, tc.root
				}
				units = append(units, u)
			}
			rows := s.NewRows().(*memRows)
			out := newBuilder(s, time.Now).build(&messages.BuildTries{Units: units}, rows)
			for i := range out {
				switch {
				case i != 2 && (out[i].Err != nil || out[i].Root != units[i].Expected):
					t.Errorf("neighbour %d: %+v", i, out[i])
				case i == 2 && (!errors.Is(out[i].Err, tc.want) || out[i].Rows != 0):
					t.Errorf("error %v, want %v", out[i].Err, tc.want)
				}
			}
			for k := range rows.rows {
				if k[:2] == "03" {
					t.Fatalf("a row of the bad account is left: %s", k)
				}
			}
		})
	}
}

// Whatever read fails, it is the account's that was read, and no other's.
func TestAFailingReadFailsTheAccountThatWasRead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	s := newMemStore()
	var units []messages.TrieUnit
	from := common.Hash{}
	for i := range 6 {
		u := messages.TrieUnit{SweepFrom: from, Sweep: true}
		u.Account = common.Hash{byte(i + 1)}
		s.add(u.Account, hashed(r, 5+i))
		u.Expected = stackRoot(t, s.slots[u.Account])
		units, from = append(units, u), successor(u.Account)
	}
	for n := int64(1); ; n++ {
		s.reads.at = n
		s.reads.calls.Store(0)
		b := newBuilder(s, time.Now)
		rows := s.NewRows().(*memRows)
		out := b.build(&messages.BuildTries{Units: units}, rows)
		b.closeReader()
		bad := 0
		for i := range out {
			switch {
			case out[i].Err == nil && out[i].Root == units[i].Expected:
			case errors.Is(out[i].Err, ErrRead) && errors.Is(out[i].Err, errPlanted):
				bad++
				for k := range rows.rows {
					if k[:2] == fmt.Sprintf("%02x", i+1) {
						t.Fatalf("call %d: a row of the failed account is left", n)
					}
				}
			default:
				t.Fatalf("call %d: unit %d: %+v", n, i, out[i])
			}
		}
		if s.reads.calls.Load() < n {
			return // past the last call
		}
		if bad != 1 {
			t.Fatalf("call %d: %d accounts failed", n, bad)
		}
	}
}

func TestAFailingSinkFailsOneAccount(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	s := newMemStore()
	var units []messages.TrieUnit
	for i := range 6 {
		u := messages.TrieUnit{}
		u.Account, u.Source = common.Hash{byte(i + 1)}, hashed(r, 40)
		u.Expected = stackRoot(t, u.Source)
		units = append(units, u)
	}
	for n := int64(1); ; n++ {
		s.puts.at = n
		s.puts.calls.Store(0)
		rows := s.NewRows().(*memRows)
		out := newBuilder(s, time.Now).build(&messages.BuildTries{Units: units}, rows)
		bad := 0
		for i := range out {
			if out[i].Err == nil && out[i].Root == units[i].Expected {
				continue
			}
			bad++
			if !errors.Is(out[i].Err, errPlanted) {
				t.Fatal(out[i].Err)
			}
			for k := range rows.rows {
				if k[:2] == fmt.Sprintf("%02x", i+1) {
					t.Fatalf("call %d: a row of the failed account is left", n)
				}
			}
		}
		if s.puts.calls.Load() < n {
			return
		}
		if bad != 1 {
			t.Fatalf("call %d: %d accounts failed", n, bad)
		}
	}
}

func TestAnAccountAboveTheLimitIsHandedBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for name, tc := range map[string]struct {
		leaves []messages.StorageLeaf
		limit  int
		back   bool
	}{
		"below":                      {hashed(r, 499), 500, false},
		"at":                         {hashed(r, 500), 500, false},
		"above":                      {hashed(r, 501), 500, true},
		"far above, told by density": {hashed(r, 9000), 3000, true},
		"crowded low, and large":     {under(r, pathOf("000000"), 9000), 3000, true},
		"crowded high, and large":    {under(r, pathOf("ffffff"), 9000), 3000, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			u := messages.TrieUnit{StorageAccount: messages.StorageAccount{Account: common.Hash{1}}}
			s.add(u.Account, tc.leaves)
			rows := s.NewRows().(*memRows)
			m := &messages.BuildTries{Units: []messages.TrieUnit{u}, Limit: tc.limit}
			o := newBuilder(s, time.Now).build(m, rows)[0]
			if o.Err != nil || (o.Estimate > 0) != tc.back {
				t.Fatalf("%+v", o)
			}
			if tc.back && (o.Estimate <= tc.limit || len(rows.rows) > 0 || o.Root != common.Hash{}) {
				t.Fatalf("%+v, %d rows", o, len(rows.rows))
			}
		})
	}
}

func TestSlotsWithoutAnAccountAreFoundAndCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	s := newMemStore()
	for _, a := range []byte{0, 1, 3, 4, 5, 9, 0xff} {
		s.add(common.Hash{a}, hashed(r, int(a)+2))
	}
	s.add(common.MaxHash, hashed(r, 3))
	at := func(a byte) messages.StorageAccount {
		return messages.StorageAccount{Account: common.Hash{a}}
	}
	run := &messages.BuildStorage{
		To: common.MaxHash, Accounts: []messages.StorageAccount{at(1), at(2), at(4)},
	}
	units := unitsOf(run)
	var got []messages.OrphanStorage
	b := newBuilder(s, time.Now)
	for _, o := range b.build(&messages.BuildTries{Units: units}, s.NewRows()) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		got = append(got, o.Orphans...)
	}
	want := []messages.OrphanStorage{
		{Account: common.Hash{}, Slots: 2}, {Account: common.Hash{3}, Slots: 5},
		{Account: common.Hash{5}, Slots: 7}, {Account: common.Hash{9}, Slots: 11},
		{Account: common.Hash{0xff}, Slots: 0xff + 2}, {Account: common.MaxHash, Slots: 3},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
