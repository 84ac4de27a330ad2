package trie_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// The block of BenchmarkBlock and the state below it.
const (
	stateAccounts  = 1_000_000
	contractSlots  = 100
	blockBalances  = 1000
	blockContracts = 200
	blockSlots     = 10 // of each
)

// recorded is one answer of a Reader.
type recorded struct {
	at     trie.Path // the question
	path   trie.Path
	branch trie.Branch
	key    common.Hash
	value  []byte
	ok     bool
}

// recorder is a Reader that first records another's answers, and then gives them again in the same
// order, so that a benchmark of updates does not measure how rows are found.
type recorder struct {
	trie.Reader // nil: play
	answers     []recorded
	next        int
	lost        int // answers to other questions
}

func (r *recorder) play(p trie.Path) *recorded {
	a := &r.answers[r.next]
	r.next++
	if a.at != p {
		r.lost++
	}
	return a
}

func (r *recorder) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	if r.Reader != nil {
		a := recorded{at: p}
		a.path, a.branch, a.ok, _ = r.Reader.FirstBranch(p)
		r.answers = append(r.answers, a)
	}
	a := r.play(p)
	return a.path, a.branch, a.ok, nil
}

func (r *recorder) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	if r.Reader != nil {
		a := recorded{at: p}
		a.key, a.value, a.ok, _ = r.Reader.FirstLeaf(p)
		r.answers = append(r.answers, a)
	}
	a := r.play(p)
	return a.key, a.value, a.ok, nil
}

// blockBench is a block of balances and slots that change, ready to be applied again and again.
type blockBench struct {
	addresses []common.Address
	slots     []common.Hash // in plain, blockSlots for each contract
	keys      []common.Hash // of the slots, and of the addresses
	contracts []*recorder
	changes   [][]trie.Change
	accounts  *recorder
	balances  []trie.Change
}

// sortedReader is a trie of the keys of n names.
func sortedReader(t testing.TB, name func(i int) []byte, n int, value []byte) *sliceReader {
	keys := make([]common.Hash, n)
	for i := range keys {
		keys[i] = keccak.Sum(name(i))
	}
	slices.SortFunc(keys, common.Hash.Cmp)
	return newSliceReader(t, keys, value)
}

func addressOf(i int) (a common.Address) {
	binary.BigEndian.PutUint64(a[4:], uint64(i)*7919)
	return a
}

func slotOf(contract, i int) (s common.Hash) {
	binary.BigEndian.PutUint64(s[16:], uint64(contract))
	binary.BigEndian.PutUint64(s[24:], uint64(i))
	return s
}

func newBlockBench(t testing.TB) *blockBench {
	bb := &blockBench{}
	account, slot := slices.Repeat([]byte{1}, 75), []byte{0x84, 1, 2, 3, 4}
	state := sortedReader(t, func(i int) []byte { a := addressOf(i); return a[:] },
		stateAccounts, account)
	bb.accounts = &recorder{Reader: state}
	for c := range blockContracts {
		storage := sortedReader(t, func(i int) []byte { s := slotOf(c, i); return s[:] },
			contractSlots, slot)
		bb.contracts = append(bb.contracts, &recorder{Reader: storage})
		for i := range blockSlots {
			bb.slots = append(bb.slots, slotOf(c, i*contractSlots/blockSlots))
		}
	}
	for i := range blockContracts + blockBalances {
		bb.addresses = append(bb.addresses, addressOf(i*500))
	}
	bb.keys = make([]common.Hash, len(bb.slots)+len(bb.addresses))
	return bb
}

// apply derives the keys, updates the storage tries, and then the account trie.
func (bb *blockBench) apply(t testing.TB, u *trie.Updater) {
	slots, accounts := bb.keys[:len(bb.slots)], bb.keys[len(bb.slots):]
	keccak.SumSlots(slots, bb.slots)
	keccak.SumAddresses(accounts, bb.addresses)
	u.Reset()
	bb.balances = bb.balances[:0]
	value := []byte{0x84, 9, 2, 3, 4}
	bb.changes = slices.Grow(bb.changes[:0], blockContracts)[:blockContracts]
	for c, r := range bb.contracts {
		bb.changes[c] = sortedChanges(bb.changes[c][:0], slots[c*blockSlots:][:blockSlots], value)
		r.next = 0
		if _, err := u.Update(uint32(c), r, false, bb.changes[c]); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Flush(); err != nil {
		t.Fatal(err)
	}
	bb.accounts.next = 0
	bb.balances = sortedChanges(bb.balances, accounts, slices.Repeat([]byte{2}, 75))
	_, err := u.Update(0, bb.accounts, false, bb.balances)
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sortedChanges appends changes of existing leaves, in order.
func sortedChanges(cs []trie.Change, keys []common.Hash, value []byte) []trie.Change {
	for _, k := range keys {
		cs = append(cs, trie.Change{Key: k, Value: value, Existed: true})
	}
	slices.SortFunc(cs, func(a, b trie.Change) int { return a.Key.Cmp(b.Key) })
	return cs
}

// BenchmarkBlock is the part of a block that is neither read nor written: keys, structure, hashing
// of 1,000 balances and 200 times 10 slots, on a state of 1 M accounts and contracts of 100 slots.
func BenchmarkBlock(b *testing.B) {
	bb := newBlockBench(b)
	record := trie.NewUpdater(trie.Options{})
	bb.apply(b, record)
	for _, r := range append(bb.contracts, bb.accounts) {
		r.Reader = nil
	}
	b.Run("keys alone", func(b *testing.B) {
		for b.Loop() {
			keccak.SumSlots(bb.keys, bb.slots)
			keccak.SumAddresses(bb.keys[len(bb.slots):], bb.addresses)
		}
	})
	run := func(name string, h keccak.Hasher) {
		b.Run(name, func(b *testing.B) {
			u := trie.NewUpdater(trie.Options{Hasher: h, Sink: &discard{}})
			b.ReportAllocs()
			for b.Loop() {
				bb.apply(b, u)
			}
		})
	}
	run("no hashing", noHasher{})
	for _, lanes := range keccak.Widths() {
		run(fmt.Sprintf("%d lanes", lanes), keccak.NewLanes(lanes))
	}
	for _, r := range append(bb.contracts, bb.accounts) {
		if r.lost > 0 {
			b.Errorf("%d questions that were not recorded", r.lost)
		}
	}
}
