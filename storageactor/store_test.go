package storageactor

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// Into a real store: loaded without storage roots, with orphans, built, committed, read back.
func TestARealStoreIsBuiltAndCommitted(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 20))
	store, err := state.Open(state.Options{Dir: "store", FS: state.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sizes := mixed(600)
	hashes := randomHashes(r, len(sizes))
	orphan := randomHash(r)
	var leaves []messages.StorageLeaf
	var accounts []messages.StorageAccount
	slots := map[common.Hash][]messages.StorageLeaf{orphan: hashed(r, 5)}
	for i, h := range hashes {
		slots[h] = hashed(r, sizes[i])
		a := state.NewAccount()
		a.Nonce = uint64(i + 1)
		a.StorageRoot = stackRoot(t, slots[h])
		leaves = append(leaves, messages.StorageLeaf{Slot: h, Value: a.AppendFull(nil)})
		accounts = append(accounts, messages.StorageAccount{Account: h, Stored: trie.EmptyRoot})
	}
	root := stackRoot(t, leaves)
	header := &types.Header{Number: big.NewInt(7), Root: root}
	cursor := state.Cursor{Number: 7, Hash: header.Hash(), Root: root}
	bulk, err := store.NewBulk(state.BulkOptions{ChainID: 1, Target: cursor, Source: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hashes {
		a := state.NewAccount()
		a.Nonce = uint64(i + 1)
		if err := bulk.Account(h, &a); err != nil {
			t.Fatal(err)
		}
	}
	owners := append([]common.Hash{orphan}, hashes...)
	for _, l := range sorted(leavesOf(owners)) {
		for _, s := range slots[l.Slot] {
			if err := bulk.SlotRLP(&l.Slot, &s.Slot, s.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := bulk.Sync(); err != nil {
		t.Fatal(err)
	}
	rig := newRig(t, StoreOf(bulk), smallThresholds(3), nil)
	rig.build(accounts, 100)
	built, err := rig.client.BuildAccounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if built.Root != root {
		t.Fatalf("root %s, want %s", built.Root, root)
	}
	if len(rig.orphans) != 1 || rig.orphans[0] != (messages.OrphanStorage{Account: orphan, Slots: 5}) {
		t.Fatalf("orphans: %v", rig.orphans)
	}
	rig.stop()
	if err := bulk.Commit(header, cursor); err != nil {
		t.Fatal(err)
	}
	checkStored(t, store, slots, hashes, orphan)
}

func leavesOf(keys []common.Hash) (ls []messages.StorageLeaf) {
	for _, k := range keys {
		ls = append(ls, messages.StorageLeaf{Slot: k})
	}
	return ls
}

func checkStored(t *testing.T, store *state.Store, slots map[common.Hash][]messages.StorageLeaf,
	hashes []common.Hash, orphan common.Hash) {
	t.Helper()
	sn := store.NewSnapshot()
	defer sn.Close()
	reader, err := sn.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, h := range hashes {
		a, ok, err := reader.Account(&h)
		if err != nil || !ok || a.StorageRoot != stackRoot(t, slots[h]) {
			t.Fatalf("account %s: %+v, %v, %v", h, a, ok, err)
		}
	}
	it := sn.Slots(orphan, common.Hash{})
	defer it.Close()
	if it.Next() || it.Error() != nil {
		t.Fatalf("a slot of the orphan is left, %v", it.Error())
	}
}
