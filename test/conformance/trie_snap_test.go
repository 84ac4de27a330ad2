package conformance_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/test/conformance"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/eth/protocols/snap"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
)

// snapRange is a recorded range of leaves with its proof.
type snapRange struct {
	name        string
	root, start common.Hash
	keys        []common.Hash
	values      [][]byte
	proof       [][]byte
}

// check verifies the range as go-ethereum does, and that nothing passes with a leaf less, a leaf
// changed, or without the root node.
func (r *snapRange) check(t *testing.T) (more bool) {
	t.Helper()
	more, err := trie.VerifyRange(r.root, r.start, r.keys, r.values, r.proof)
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	list := make(trienode.ProofList, len(r.proof))
	for i := range r.proof {
		list[i] = r.proof[i]
	}
	keys := make([][]byte, len(r.keys))
	for i := range r.keys {
		keys[i] = r.keys[i][:]
	}
	want, err := gethtrie.VerifyRangeProof(r.root, r.start[:], keys, r.values, list.Set())
	if err != nil || want != more {
		t.Fatalf("%s: more %v, go-ethereum has %v, %v", r.name, more, want, err)
	}
	for i := range r.keys {
		// Without the last leaf it is a smaller range, which the nodes may happen to prove.
		more, err := trie.VerifyRange(r.root, r.start, slices.Delete(slices.Clone(r.keys), i, i+1),
			slices.Delete(slices.Clone(r.values), i, i+1), r.proof)
		shorter := i == len(r.keys)-1 && err == nil && more
		if !errors.Is(err, trie.ErrBadProof) && !shorter {
			t.Errorf("%s without leaf %d: more %v, %v", r.name, i, more, err)
		}
		values := slices.Clone(r.values)
		values[i] = append(bytes.Clone(values[i]), 0)
		_, err = trie.VerifyRange(r.root, r.start, r.keys, values, r.proof)
		if !errors.Is(err, trie.ErrBadProof) {
			t.Errorf("%s with leaf %d changed: %v", r.name, i, err)
		}
	}
	_, err = trie.VerifyRange(r.root, r.start, r.keys, r.values, r.proof[1:])
	if !errors.Is(err, trie.ErrBadProof) {
		t.Errorf("%s without the root node: %v", r.name, err)
	}
	return more
}

// packets decodes the recorded packets by name.
type packets map[string]hexutil.Bytes

func (p packets) decode(t *testing.T, name string, v any) {
	t.Helper()
	if err := rlp.DecodeBytes(p[name], v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (p packets) accountRange(t *testing.T, name string) *snapRange {
	t.Helper()
	var packet snap.AccountRangePacket
	p.decode(t, name, &packet)
	keys, values, err := packet.Unpack() // slim to full
	if err != nil {
		t.Fatal(err)
	}
	return &snapRange{name: name, keys: keys, values: values, proof: packet.Proof}
}

func TestRecordedSnapPackets(t *testing.T) {
	var wire packets
	if err := json.Unmarshal(conformance.File(t, "snap-wire", "snap_wire.json"), &wire); err != nil {
		t.Fatal(err)
	}
	var getAccounts snap.GetAccountRangePacket
	wire.decode(t, "getAccountRangeRLP", &getAccounts)
	accounts := wire.accountRange(t, "accountRangeRLP")
	accounts.root, accounts.start = getAccounts.Root, getAccounts.Origin
	if more := accounts.check(t); !more || len(accounts.keys) != 3 {
		t.Errorf("account range: %d accounts, more %v", len(accounts.keys), more)
	}

	// The request for these two accounts is not recorded; the storage request names the root, and
	// the proof is that of a range from the first account on.
	var getStorage snap.GetStorageRangesPacket
	wire.decode(t, "_getStorageRangesRLP", &getStorage)
	contracts := wire.accountRange(t, "contractAccountRangeRLP")
	contracts.root, contracts.start = getStorage.Root, contracts.keys[0]
	if more := contracts.check(t); !more || len(contracts.keys) != 2 {
		t.Errorf("contract range: %d accounts, more %v", len(contracts.keys), more)
	}

	// The storage root is the second account's, which the range before has proven.
	if len(getStorage.Accounts) != 1 || getStorage.Accounts[0] != contracts.keys[1] {
		t.Fatalf("storage of %x was asked for, want that of %x", getStorage.Accounts, contracts.keys[1])
	}
	var account struct {
		Nonce    uint64
		Balance  []byte
		Root     common.Hash
		CodeHash common.Hash
	}
	if err := rlp.DecodeBytes(contracts.values[1], &account); err != nil {
		t.Fatal(err)
	}
	var ranges snap.StorageRangesPacket
	wire.decode(t, "storageRangesRLP", &ranges)
	keys, values := ranges.Unpack()
	storage := &snapRange{name: "storageRangesRLP", root: account.Root,
		start: common.BytesToHash(getStorage.Origin), keys: keys[0], values: values[0],
		proof: ranges.Proof}
	if storage.check(t); len(storage.keys) != 3 {
		t.Errorf("storage range: %d slots", len(storage.keys))
	}

	// Trie nodes and code come by hash: the root of the state, and the contract's code.
	var getNodes snap.GetTrieNodesPacket
	wire.decode(t, "_getTrieNodesRLP", &getNodes)
	var nodes snap.TrieNodesPacket
	wire.decode(t, "trieNodesRLP", &nodes)
	var codes snap.ByteCodesPacket
	wire.decode(t, "byteCodesRLP", &codes)
	if len(nodes.Nodes) != 2 || len(codes.Codes) != 1 {
		t.Fatalf("%d nodes and %d codes", len(nodes.Nodes), len(codes.Codes))
	}
	for _, raw := range nodes.Nodes {
		if got := keccak.Sum(raw); got != getNodes.Root {
			t.Errorf("root node has hash %x, want %x", got, getNodes.Root)
		}
	}
	if got := keccak.Sum(codes.Codes[0]); got != account.CodeHash {
		t.Errorf("code has hash %x, want %x", got, account.CodeHash)
	}
}

// TestRecordedAccountRanges verifies ranges of one state in a row. Each block of the file says
// "accounts L N", the root, the origin, then L lines of key and full account RLP, then N nodes.
func TestRecordedAccountRanges(t *testing.T) {
	unzipped, err := gzip.NewReader(bytes.NewReader(
		conformance.File(t, "snap-wire", "sample0.txt.gz")))
	if err != nil {
		t.Fatal(err)
	}
	ranges, leaves := 0, 0
	lines := bufio.NewReader(unzipped)
	for {
		r, err := readRange(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ranges++
		leaves += len(r.keys)
		r.name = fmt.Sprintf("range %d", ranges)
		if more := r.check(t); !more {
			t.Errorf("%s: no more accounts, but the next range has some", r.name)
		}
	}
	if ranges != 20 || leaves != 361 {
		t.Errorf("%d ranges with %d accounts, want 20 with 361", ranges, leaves)
	}
}

func readRange(lines *bufio.Reader) (*snapRange, error) {
	var n, m int
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Sscanf(line, "accounts %d %d", &n, &m); err == nil {
			break
		}
	}
	r := new(snapRange)
	var root, start []byte
	if _, err := fmt.Fscanf(lines, "%x\n%x\n", &root, &start); err != nil {
		return nil, fmt.Errorf("root and origin: %w", err)
	}
	r.root, r.start = common.BytesToHash(root), common.BytesToHash(start)
	for range n {
		var key, value []byte
		if _, err := fmt.Fscanf(lines, "%x %x\n", &key, &value); err != nil {
			return nil, fmt.Errorf("leaf: %w", err)
		}
		r.keys = append(r.keys, common.BytesToHash(key))
		r.values = append(r.values, value)
	}
	for range m {
		var raw []byte
		if _, err := fmt.Fscanf(lines, "%x\n", &raw); err != nil {
			return nil, fmt.Errorf("node: %w", err)
		}
		r.proof = append(r.proof, raw)
	}
	return r, nil
}
