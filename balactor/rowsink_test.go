package balactor

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/balsa-sync/balsa/trie/trietest"
)

type writtenRow struct {
	tag  uint32
	path trie.Path
}

// TestRowsComeInTheStoresOrder has paths that differ late, and in their length alone.
func TestRowsComeInTheStoresOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := &rowSink{}
	for round := range 3 {
		s.begin(&wanted{})
		for i := range 5 {
			s.owners = append(s.owners, common.Hash{byte(i), byte(round)})
		}
		seen := map[writtenRow]bool{}
		for range 500 {
			var key common.Hash
			key[r.IntN(10)], key[31] = byte(r.IntN(3)), byte(r.IntN(2))
			p := trie.PathOf(key, r.IntN(64))
			tag := uint32(r.IntN(5))
			if seen[writtenRow{tag, p}] {
				continue
			}
			seen[writtenRow{tag, p}] = true
			if err := s.DeleteBranch(tag, p); err != nil {
				t.Fatal(err)
			}
		}
		rows := s.sorted()
		if len(rows) != len(seen) {
			t.Errorf("%d rows, want %d", len(rows), len(seen))
		}
		for i := 1; i < len(rows); i++ {
			a, b := &rows[i-1], &rows[i]
			order := bytes.Compare(a.Account[:], b.Account[:])
			if order > 0 || order == 0 && a.Path.Compare(b.Path) >= 0 {
				t.Fatalf("row %v of %x comes before %v of %x", a.Path, a.Account, b.Path, b.Account)
			}
		}
	}
}

// contracts is a parent whose accounts all are contracts with the same storage.
type contracts struct {
	account state.Account
	storage *trietest.Trie
}

func (c contracts) Account(*common.Hash) (state.Account, bool, error) {
	return c.account, true, nil
}

func (c contracts) Slot(_, slot *common.Hash) ([]byte, error) { return c.storage.Get(*slot), nil }

func (c contracts) StorageTrie(common.Hash) trie.Reader { return c.storage }

func (c contracts) HasCode(common.Hash) (bool, error) { return true, nil }

func (c contracts) EachSlot(common.Hash, func(common.Hash, []byte) error) error { return nil }

// laneCount is a Hasher that counts how full 8 lanes are.
type laneCount struct {
	keccak.Hasher
	runs, messages int
}

func (l *laneCount) Lanes() int { return 8 }

func (l *laneCount) Hash(ms []keccak.Message) {
	l.messages += len(ms)
	l.runs += (len(ms) + 7) / 8
	l.Hasher.Hash(ms)
}

func TestAccountsOfAJobShareLanes(t *testing.T) {
	storage := trietest.New()
	for i := range 100 {
		storage.SetLeaf(keccak.Sum([]byte{byte(i)}), []byte{1})
	}
	root, err := storage.Build()
	if err != nil {
		t.Fatal(err)
	}
	p := contracts{state.NewAccount(), storage}
	p.account.Nonce, p.account.StorageRoot = 1, root
	var slots []messages.SlotTarget
	for i := range 5 {
		slots = append(slots, messages.SlotTarget{Hash: keccak.Sum([]byte{byte(i)}), Value: []byte{2}})
	}
	slices.SortFunc(slots, func(a, b messages.SlotTarget) int { return a.Hash.Cmp(b.Hash) })
	m := &messages.UpdateStorage{}
	for i := range 64 {
		m.Targets = append(m.Targets, messages.AccountTarget{Hash: common.Hash{byte(i)}, Slots: slots})
	}
	u, lanes := newUpdater(), &laneCount{Hasher: keccak.New()}
	u.Updater = trie.NewUpdater(trie.Options{Sink: &u.sink, Hasher: lanes})
	done, err := updateStorage(u, p, m, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Accounts) != 64 {
		t.Errorf("%d accounts changed, want 64", len(done.Accounts))
	}
	if lanes.messages < 64*6 || 10*lanes.messages < 8*8*lanes.runs {
		t.Errorf("%d messages in %d runs of 8 lanes", lanes.messages, lanes.runs)
	}
}
