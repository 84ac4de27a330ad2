package mainnetshape

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

func newState(t testing.TB, scale float64) *State {
	t.Helper()
	shape, err := Mainnet(scale)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(shape)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// near fails the test where got is further from want than a share of it.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The figures are those of the package's documentation, which are mainnet's.
func TestSizesHaveMainnetsFigures(t *testing.T) {
	for _, scale := range []float64{1. / 100, 1. / 1000, 1. / 10000} {
		s := newState(t, scale)
		var all []float64
		var sum, small float64
		for w := s.Walk(); w.Next(); {
			if w.Slots > 0 {
				all = append(all, float64(w.Slots))
				sum += float64(w.Slots)
			}
			if w.Slots == 1 || w.Slots == 2 {
				small++
			}
		}
		slices.Sort(all)
		slices.Reverse(all)
		near(t, "accounts", float64(s.Accounts()), 300e6*scale, 1e-6)
		near(t, "accounts with storage", float64(len(all)), 26_311_772*scale, 1e-3)
		near(t, "slots", sum, 1_552_108_325*scale, 1e-4)
		near(t, "largest trie", all[0], 159.6e6*scale, 1e-3)
		near(t, "30th trie", all[HugeTries-1], 3.3e6*scale, 0.6)
		near(t, "share of tries with one slot or two", small/float64(len(all)), 0.7, 0.01)
		if sum != float64(s.Slots()) || len(all) != int(s.StorageAccounts()) {
			t.Errorf("scale %v: %v slots and %d accounts, it says %d and %d", scale, sum, len(all),
				s.Slots(), s.StorageAccounts())
		}
		if scale > 1./5000 { // exactly 30 huge ones, and a long middle below them
			near(t, "30th trie", all[HugeTries-1], 3.3e6*scale, 1e-3)
			near(t, "31st trie", all[HugeTries], 3.3e6*scale, 0.1)
		}
		if middle := all[len(all)*3/10-10]; middle != 3 {
			t.Errorf("scale %v: the middle ends with %v slots", scale, middle)
		}
	}
}

func TestWalksAreOrderedAndTheSame(t *testing.T) {
	digest := func(s *State) common.Hash {
		var h common.Hash
		var last common.Hash
		for w := s.Walk(); w.Next(); {
			if w.Hash.Cmp(last) <= 0 {
				t.Fatalf("account %v after %v", w.Hash, last)
			}
			last = w.Hash
			if w.Account.IsEmpty() {
				t.Fatalf("account %v is empty", w.Hash)
			}
			h = keccak.Sum(h[:], w.Hash[:], w.Account.AppendFull(nil))
			var lastSlot common.Hash
			var slots uint64
			for st := w.Storage(); st.Next(); slots++ {
				if st.Slot.Cmp(lastSlot) <= 0 {
					t.Fatalf("account %v: slot %v after %v", w.Hash, st.Slot, lastSlot)
				}
				lastSlot = st.Slot
				h = keccak.Sum(h[:], st.Slot[:], st.Value)
			}
			if slots != w.Slots {
				t.Fatalf("account %v: %d slots of %d", w.Hash, slots, w.Slots)
			}
		}
		return h
	}
	s := newState(t, 1./50_000)
	shape := s.shape
	shape.Seed++
	other, err := New(shape)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := digest(s), digest(newState(t, 1./50_000)); a != b {
		t.Errorf("two states of one seed: %v and %v", a, b)
	} else if a == digest(other) {
		t.Error("another seed gives the same state")
	}
}

// Of uniform keys, each sixteenth has a sixteenth, and gaps are exponentially distributed: a share
// of 1-1/e is smaller than the mean.
func TestKeysAreUniform(t *testing.T) {
	check := func(name string, n uint64, next func() common.Hash) {
		var nibbles [16]float64
		var smaller, before float64
		mean := math.Exp2(64) / float64(n)
		for range n {
			k := next()
			nibbles[k[0]>>4]++
			at := float64(k.Big().Rsh(k.Big(), 192).Uint64())
			if at-before < mean {
				smaller++
			}
			before = at
		}
		for _, c := range nibbles {
			// Five times the standard deviation.
			near(t, name+" below a nibble", c, float64(n)/16, 5*math.Sqrt(16/float64(n)))
		}
		near(t, name+" with small gaps", smaller/float64(n), 1-1/math.E, 5/math.Sqrt(float64(n)))
	}
	s := newState(t, 1./1000)
	w := s.Walk()
	check("accounts", s.Accounts(), func() common.Hash { w.Next(); return w.Hash })
	for w = s.Walk(); w.Next() && w.Slots != s.sizes.huge[0]; {
	}
	st := w.Storage()
	check("slots", w.Slots, func() common.Hash { st.Next(); return st.Slot })
}

func TestValuesHaveTheirLengths(t *testing.T) {
	s := newState(t, 1./1000)
	var w *Walk
	for w = s.Walk(); w.Next() && w.Slots != s.sizes.huge[0]; {
	}
	var lengths [33]float64
	for st := w.Storage(); st.Next(); {
		v, err := state.DecodeSlot(st.Value) // which refuses what is not canonical
		if err != nil {
			t.Fatalf("%x: %v", st.Value, err)
		}
		lengths[len(common.TrimLeftZeroes(v[:]))]++
	}
	n := float64(w.Slots)
	sum := func(from, to int) (x float64) {
		for _, l := range lengths[from : to+1] {
			x += l / n
		}
		return x
	}
	near(t, "1 byte", sum(1, 1), 0.30, 0.05)
	near(t, "2 to 9 bytes", sum(2, 9), 0.40, 0.05)
	near(t, "10 to 19 bytes", sum(10, 19), 0.10, 0.05)
	near(t, "20 bytes", sum(20, 20), 0.12, 0.05)
	near(t, "32 bytes", sum(32, 32), 0.08, 0.05)
}

func TestTailHasTheSmallTriesAlone(t *testing.T) {
	whole := newState(t, 1./1000)
	var accounts, slots uint64
	for w := whole.Walk(); w.Next(); {
		if w.Slots > 0 && w.Slots < 1000 {
			accounts++
			slots += w.Slots
		}
	}
	tail, err := New(whole.shape.Tail(1000))
	if err != nil {
		t.Fatal(err)
	}
	if tail.Accounts() != accounts || tail.StorageAccounts() != accounts || tail.Slots() != slots {
		t.Errorf("%d accounts, %d with storage, %d slots; want %d and %d", tail.Accounts(),
			tail.StorageAccounts(), tail.Slots(), accounts, slots)
	}
	var n, sum uint64
	for w := tail.Walk(); w.Next(); n++ {
		if w.Slots == 0 || w.Slots >= 1000 {
			t.Fatalf("an account with %d slots", w.Slots)
		}
		sum += w.Slots
	}
	if n != accounts || sum != slots {
		t.Errorf("the walk has %d accounts and %d slots", n, sum)
	}
}

func TestAWalkHoldsNothing(t *testing.T) {
	s := newState(t, 1./100)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	w := s.Walk()
	before := heap()
	for range s.Accounts() / 2 {
		w.Next()
	}
	if after := heap(); after > before+1<<20 {
		t.Errorf("%d bytes are held after half of %d accounts", after-before, s.Accounts())
	}
	runtime.KeepAlive(w)
}

func TestPermutationMeetsEachNumberOnce(t *testing.T) {
	for _, size := range []uint64{1, 2, 3, 4, 5, 255, 256, 257, 5000} {
		p := newPermutation(size, 7)
		seen := make([]bool, size)
		var inPlace int
		for i := range size {
			at := p.at(i)
			if at >= size || seen[at] {
				t.Fatalf("size %d: %d comes to %d", size, i, at)
			}
			seen[at] = true
			if at == i {
				inPlace++
			}
		}
		if size > 100 && inPlace > 10 {
			t.Errorf("size %d: %d numbers stay in place", size, inPlace)
		}
	}
}

func TestRootIsThatOfStackTries(t *testing.T) {
	s := newState(t, 1./20_000)
	accounts := gethtrie.NewStackTrie(nil)
	for w := s.Walk(); w.Next(); {
		storage := gethtrie.NewStackTrie(nil)
		for st := w.Storage(); st.Next(); {
			if err := storage.Update(st.Slot[:], st.Value); err != nil {
				t.Fatal(err)
			}
		}
		w.Account.StorageRoot = storage.Hash()
		if err := accounts.Update(w.Hash[:], w.Account.AppendFull(nil)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Root(t.Context())
	if err != nil || got != accounts.Hash() {
		t.Errorf("root %v, %v; StackTrie has %v", got, err, accounts.Hash())
	}
}

func TestBadShapesAreRefused(t *testing.T) {
	for _, text := range []string{"", "x", "1/0", "0", "-1", "2", "1/0.5", "1/1000000", "NaN"} {
		if _, err := ParseScale(text); !errors.Is(err, ErrBadShape) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"1/1000", " 0.001 ", "1e-3"} {
		if scale, err := ParseScale(text); err != nil || scale != 0.001 {
			t.Errorf("%q: %v, %v", text, scale, err)
		}
	}
	for _, s := range []Shape{{}, {Accounts: 10, Storage: 1000, Slots: 59_000},
		{Accounts: 1000, Storage: 1000, Slots: 1000}} {
		if _, err := New(s); !errors.Is(err, ErrBadShape) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, scale := range []float64{1. / 100_000, 1. / 30_000, 1. / 776, 0.05} {
		newState(t, scale)
	}
}

func BenchmarkWalk(b *testing.B) {
	s := newState(b, 1./1000)
	for b.Loop() {
		for w := s.Walk(); w.Next(); {
			for st := w.Storage(); st.Next(); {
			}
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(s.Slots()), "ns/slot")
}
