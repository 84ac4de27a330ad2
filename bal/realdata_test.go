package bal_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

// open opens a gzipped file of the test data.
func open(t *testing.T, path ...string) io.Reader {
	t.Helper()
	root := os.Getenv("BALSA_TESTDATA")
	if root == "" {
		t.Skip("BALSA_TESTDATA is not set: it names the folder with the test data")
	}
	f, err := os.Open(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// brokenFixtures are the invalid blocks whose list itself breaks a rule. A name stands for the
// fixtures it is part of.
var brokenFixtures = []struct {
	name string
	want error
	n    int
}{
	{"bal_gas_limit_boundary[fork_Amsterdam-blockchain_test-below", bal.ErrTooManyItems, 1},
	{"bal_invalid_account[", bal.ErrAddressOrder, 1},
	{"bal_invalid_account_order[", bal.ErrAddressOrder, 1},
	{"bal_invalid_duplicate_account[", bal.ErrAddressOrder, 1},
	{"bal_invalid_complex_corruption[", bal.ErrIndexOrder, 1},
	{"bal_invalid_tx_order[", bal.ErrIndexOrder, 1},
	{"-duplicate_balance_change", bal.ErrIndexOrder, 1},
	{"-duplicate_code_change", bal.ErrIndexOrder, 1},
	{"-duplicate_nonce_change", bal.ErrIndexOrder, 1},
	{"-duplicate_slot_change", bal.ErrIndexOrder, 1},
	{"-duplicate_storage_read", bal.ErrReadOrder, 1},
	{"-duplicate_storage_slot", bal.ErrSlotOrder, 1},
	{"-storage_key_in_both_changes_and_reads", bal.ErrSlotInBoth, 1},
	{"-extra_storage_write_touched", bal.ErrSlotInBoth, 3},
}

type fixtureBlock struct {
	Header          hexutil.Bytes
	BAL             hexutil.Bytes
	ExpectException string
}

// check decodes one block's list and sorts the block into a class: "valid", "hash" (not the
// header's), a broken rule's text, or "later" for an invalid block with a flawless list.
func (b *fixtureBlock) check(t *testing.T, name string) string {
	var h types.Header
	if err := rlp.DecodeBytes(b.Header, &h); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	l, err := bal.Decode(b.BAL, bal.Limits{GasLimit: h.GasLimit, Transactions: -1})
	if err == nil && !bytes.Equal(bal.Encode(l), b.BAL) {
		t.Errorf("%s: encodes to other bytes", name)
	}
	hashes := bal.Hash(b.BAL) == *h.BlockAccessListHash
	switch {
	case b.ExpectException == "" && (err != nil || !hashes):
		t.Errorf("%s: a valid block's list: %v, hash matches: %v", name, err, hashes)
		return ""
	case b.ExpectException == "":
		return "valid"
	case !hashes:
		return "hash"
	case err == nil:
		return "later"
	}
	for i := range brokenFixtures {
		if f := &brokenFixtures[i]; strings.Contains(name, f.name) {
			if !errors.Is(err, f.want) {
				t.Errorf("%s: %v, want %v", name, err, f.want)
			}
			return f.name
		}
	}
	t.Errorf("%s: refused: %v", name, err)
	return ""
}

func TestEthereumsFixtures(t *testing.T) {
	d := json.NewDecoder(open(t, "eip7928", "eest-eip7928.jsonl.gz"))
	seen := map[string]int{}
	for d.More() {
		var f struct {
			Name   string
			Blocks []fixtureBlock
		}
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		for i := range f.Blocks {
			seen[f.Blocks[i].check(t, f.Name)]++
		}
	}
	// 562 valid and 56 invalid blocks: 1 has another list's hash, 15 break a rule of order or
	// uniqueness, 1 has too many items, and 39 show only when the list is applied or executed.
	if seen["valid"] != 562 || seen["hash"] != 1 || seen["later"] != 39 {
		t.Errorf("valid %d, wrong hash %d, flawless lists of invalid blocks %d",
			seen["valid"], seen["hash"], seen["later"])
	}
	for _, f := range brokenFixtures {
		if seen[f.name] != f.n {
			t.Errorf("%s: %d refused, want %d", f.name, seen[f.name], f.n)
		}
	}
}

// storedParent is the hash that the block's system call leaves in the history contract (EIP-2935)
// before the first transaction.
func storedParent(l *bal.AccessList, number uint64) common.Hash {
	for _, a := range l.PostState() {
		if a.Address != params.HistoryStorageAddress {
			continue
		}
		for _, s := range a.Slots {
			if s.Slot == numberHash((number-1)%params.HistoryServeWindow) {
				return s.Value
			}
		}
	}
	return common.Hash{}
}

func TestEveryListOfTheEngineChain(t *testing.T) {
	lists := map[common.Hash]hexutil.Bytes{}
	for d := json.NewDecoder(open(t, "engine-chain", "bals.jsonl.gz")); d.More(); {
		var l struct {
			BlockHash       common.Hash
			BlockAccessList hexutil.Bytes
		}
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lists[l.BlockHash] = l.BlockAccessList
	}
	s := rlp.NewStream(open(t, "engine-chain", "chain.rlp.gz"), 0)
	n := 0
	for {
		var b types.Block
		if err := s.Decode(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		raw, ok := lists[b.Hash()]
		if !ok {
			continue
		}
		n++
		l, err := bal.Decode(raw, bal.Limits{GasLimit: b.GasLimit(),
			Transactions: len(b.Transactions())})
		if err != nil {
			t.Errorf("block %d: %v", b.NumberU64(), err)
			continue
		}
		if !bytes.Equal(bal.Encode(l), raw) || bal.Hash(raw) != *b.Header().BlockAccessListHash {
			t.Errorf("block %d: other bytes or another hash", b.NumberU64())
		}
		if got := storedParent(l, b.NumberU64()); got != b.ParentHash() {
			t.Errorf("block %d: history contract has %v for its parent", b.NumberU64(), got)
		}
	}
	if n != 565 {
		t.Errorf("%d lists, want 565", n)
	}
}
