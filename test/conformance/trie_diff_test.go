package conformance_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/balsa-sync/balsa/test/conformance"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// blockDiff is what a mainnet block did to the state: the roots before and behind it, the trie
// nodes on the paths that it touched, and the values that it left.
type blockDiff struct {
	Number        hexutil.Uint64
	PreStateRoot  common.Hash
	PostStateRoot common.Hash
	Nodes         []string // RLP as hex without 0x
	Post          map[common.Address]struct {
		Balance  *hexutil.U256
		Nonce    hexutil.Uint64
		CodeHash string // hex without 0x and without leading zeros
		Storage  map[common.Hash]common.Hash
	}
}

func loadDiff(t *testing.T, file string) *blockDiff {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(conformance.File(t, "mainnet-diffs", file)))
	if err != nil {
		t.Fatal(err)
	}
	d := new(blockDiff)
	if err := json.NewDecoder(unzipped).Decode(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// partial is the part of a trie that a set of nodes shows, read with go-ethereum's RLP alone.
type partial struct {
	*trietest.Trie
	nodes map[common.Hash][]byte
}

// newPartial makes rows and leaves of what lies below root in nodes.
func newPartial(t *testing.T, nodes map[common.Hash][]byte, root common.Hash) *partial {
	t.Helper()
	p := &partial{Trie: trietest.New(), nodes: nodes}
	if root == types.EmptyRootHash {
		return p
	}
	raw, ok := nodes[root]
	if !ok {
		t.Fatalf("the root node %x is not in the set", root)
	}
	if _, err := p.take(trie.Path{}, raw); err != nil {
		t.Fatal(err)
	}
	return p
}

// take makes rows and leaves of the node raw at path at and of what is known below it. It says
// whether a branch lies there.
func (p *partial) take(at trie.Path, raw []byte) (branch bool, err error) {
	items, err := rlp.SplitListValues(raw)
	if err != nil {
		return false, fmt.Errorf("node at %v: %w", at, err)
	}
	if len(items) == 17 {
		return true, p.takeBranch(at, items)
	}
	if len(items) != 2 {
		return false, fmt.Errorf("node at %v has %d items", at, len(items))
	}
	key, _, err := rlp.SplitString(items[0])
	if err != nil {
		return false, fmt.Errorf("node at %v: %w", at, err)
	}
	if key[0]&0x10 != 0 {
		at = at.Child(key[0] & 0x0f)
	}
	for _, b := range key[1:] {
		at = at.Child(b >> 4).Child(b & 0x0f)
	}
	if key[0]&0x20 == 0 {
		return true, p.takeRef(at, items[1])
	}
	value, _, err := rlp.SplitString(items[1])
	if err != nil {
		return false, fmt.Errorf("leaf at %v: %w", at, err)
	}
	p.SetLeaf(at.Key, value)
	return false, nil
}

// takeRef takes the node that an extension refers to.
func (p *partial) takeRef(at trie.Path, ref []byte) error {
	raw, known := p.resolve(ref)
	if !known {
		return nil
	}
	_, err := p.take(at, raw)
	return err
}

// resolve returns the node of a reference, if it is in the set.
func (p *partial) resolve(ref []byte) (raw []byte, known bool) {
	if len(ref) < 33 {
		return ref, true
	}
	raw, known = p.nodes[common.Hash(ref[1:])]
	return raw, known
}

func (p *partial) takeBranch(at trie.Path, items [][]byte) error {
	var b trie.Branch
	for x, ref := range items[:16] {
		if len(ref) == 1 {
			continue // 0x80: no child
		}
		b.Mask |= 1 << x
		b.Refs = append(b.Refs, ref...)
		// What is not in the set was not touched: it may be a branch. If an update asks for what
		// lies there after all, it misses the row.
		branch := true
		if raw, known := p.resolve(ref); known {
			var err error
			if branch, err = p.take(at.Child(byte(x)), raw); err != nil {
				return err
			}
		}
		if branch {
			b.Sub |= 1 << x
		}
	}
	p.SetRow(at, b)
	return nil
}

// path returns the nodes on the way to key, from the root to the last one that is in the set.
func (p *partial) path(t *testing.T, key common.Hash) [][]byte {
	t.Helper()
	proof, err := trie.Prove(p, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range proof {
		if _, ok := p.nodes[crypto.Keccak256Hash(raw)]; !ok {
			t.Fatalf("the proof of %x has a node that is not in the set: %x", key, raw)
		}
	}
	return proof
}

// update applies values to the part of a trie with root pre. The proofs before and behind it must
// show the values.
func (p *partial) update(t *testing.T, pre common.Hash, values map[common.Hash][]byte) common.Hash {
	t.Helper()
	for key := range values {
		got, err := trie.VerifyProof(pre, key, p.path(t, key))
		if err != nil || !bytes.Equal(got, p.Get(key)) {
			t.Fatalf("proof of %x before the block: %x, %v, want %x", key, got, err, p.Get(key))
		}
	}
	post, err := p.Update(values)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range values {
		proof, err := trie.Prove(p, key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := trie.VerifyProof(post, key, proof)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("proof of %x after the block: %x, %v, want %x", key, got, err, want)
		}
	}
	return post
}

// apply applies the post values, storage tries first, and returns the state root.
func (d *blockDiff) apply(t *testing.T) common.Hash {
	t.Helper()
	nodes := make(map[common.Hash][]byte, len(d.Nodes))
	for _, s := range d.Nodes {
		raw := common.FromHex(s)
		nodes[crypto.Keccak256Hash(raw)] = raw
	}
	accounts := newPartial(t, nodes, d.PreStateRoot)
	changed := make(map[common.Hash][]byte)
	for address, post := range d.Post {
		key := crypto.Keccak256Hash(address[:])
		account := types.StateAccount{
			Nonce: uint64(post.Nonce), Balance: (*uint256.Int)(post.Balance),
			Root: types.EmptyRootHash, CodeHash: common.HexToHash(post.CodeHash).Bytes(),
		}
		if leaf := accounts.Get(key); leaf != nil {
			var pre types.StateAccount
			if err := rlp.DecodeBytes(leaf, &pre); err != nil {
				t.Fatal(err)
			}
			account.Root = pre.Root
		}
		if len(post.Storage) > 0 {
			slots := make(map[common.Hash][]byte)
			for slot, value := range post.Storage {
				slots[crypto.Keccak256Hash(slot[:])] = nil
				if value != (common.Hash{}) {
					slots[crypto.Keccak256Hash(slot[:])] = slotLeaf(t, value)
				}
			}
			storage := newPartial(t, nodes, account.Root)
			account.Root = storage.update(t, account.Root, slots)
		}
		changed[key] = mustRLP(t, &account)
		empty := account.Nonce == 0 && account.Balance.IsZero() &&
			bytes.Equal(account.CodeHash, types.EmptyCodeHash[:])
		if empty {
			changed[key] = nil // EIP-161
		}
	}
	return accounts.update(t, d.PreStateRoot, changed)
}

func TestMainnetBlocksGiveTheirStateRoots(t *testing.T) {
	for _, c := range []struct {
		file     string
		number   uint64
		accounts int
		slots    int
	}{
		{"b19807080.json.gz", 19807080, 24, 45},
		{"b19840104.json.gz", 19840104, 2, 2},
	} {
		d := loadDiff(t, c.file)
		slots := 0
		for _, post := range d.Post {
			slots += len(post.Storage)
		}
		if uint64(d.Number) != c.number || len(d.Post) != c.accounts || slots != c.slots {
			t.Fatalf("%s: block %d, %d accounts, %d slots", c.file, d.Number, len(d.Post), slots)
		}
		if d.PreStateRoot == d.PostStateRoot {
			t.Fatalf("%s: the roots are equal", c.file)
		}
		if got := d.apply(t); got != d.PostStateRoot {
			t.Errorf("block %d: root %x, want %x", d.Number, got, d.PostStateRoot)
		}
	}
}
