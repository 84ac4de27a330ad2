package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/blockfile"
	"github.com/balsa-sync/balsa/internal/genesisfile"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// The chain that geth made, from its state at block 35 (the last before Amsterdam) to its head.
const (
	engineChainStart  = 35
	engineChainHead   = 600
	engineChainBlocks = 565
)

// gethModule is the folder of the go-ethereum module.
func gethModule(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/ethereum/go-ethereum").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// gunzip reads a compressed file of the test data.
func gunzip(t *testing.T, elem ...string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(File(t, elem...)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// headAccount is an account of headstate.json, a dump that geth made.
type headAccount struct {
	Balance string                 `json:"balance"`
	Nonce   uint64                 `json:"nonce"`
	Code    hexutil.Bytes          `json:"code"`
	Root    common.Hash            `json:"root"`
	Storage map[common.Hash]string `json:"storage"`
}

func openEngineChain(t *testing.T) *balsa.Engine {
	t.Helper()
	dir := filepath.Join(Dir(t), "engine-chain")
	alloc, err := genesisfile.ReadAlloc(filepath.Join(dir, "state35.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	header, err := genesisfile.ReadHeader(filepath.Join(dir, "header35.rlp.hex"))
	if err != nil {
		t.Fatal(err)
	}
	o := balsa.Options{Dir: "chain", FS: state.MemFS()}
	at, err := balsa.Init(t.Context(), o, balsa.Genesis{ChainID: 1, Header: header, Alloc: alloc})
	if err != nil {
		t.Fatal(err)
	}
	if at.Number != engineChainStart {
		t.Fatalf("the state is that of block %d", at.Number)
	}
	e, err := balsa.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	return e
}

func TestAChainMadeByGethIsProvenBlockByBlock(t *testing.T) {
	e := openEngineChain(t)
	blocks, err := blockfile.Open(blockfile.Options{Paths: []string{filepath.Join(gethModule(t),
		"cmd", "devp2p", "internal", "ethtest", "testdata", "newpayload.json")}})
	if err != nil {
		t.Fatal(err)
	}
	defer blocks.Close()
	proven := 0
	for {
		entry, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry.Number <= engineChainStart { // before Amsterdam
			continue
		}
		b, err := entry.Block()
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Apply(t.Context(), balsa.Block{
			Header: b.Header, BAL: b.BAL, Transactions: b.Transactions,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Known || got.Root != b.Header.Root {
			t.Fatalf("block %d: %+v", entry.Number, got)
		}
		proven++
	}
	if proven != engineChainBlocks || e.Cursor().Number != engineChainHead {
		t.Fatalf("%d roots proven, the cursor is %v", proven, e.Cursor())
	}
	compareHead(t, e)
}

// compareHead checks the state at the head against geth's dump of it.
func compareHead(t *testing.T, e *balsa.Engine) {
	t.Helper()
	var head struct {
		Root     string                         `json:"root"`
		Accounts map[common.Address]headAccount `json:"accounts"`
	}
	if err := json.Unmarshal(gunzip(t, "engine-chain", "headstate.json.gz"), &head); err != nil {
		t.Fatal(err)
	}
	root := common.HexToHash(head.Root)
	if e.Cursor().Root != root {
		t.Fatalf("the root is %s, want %s", e.Cursor().Root, root)
	}
	view, err := e.View()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	slots := uint64(0)
	for addr, want := range head.Accounts {
		a, ok, err := view.Account(addr)
		if err != nil || !ok {
			t.Fatalf("account %s: present %v, %v", addr, ok, err)
		}
		code, err := view.Code(addr)
		if err != nil {
			t.Fatal(err)
		}
		balance := uint256.MustFromDecimal(want.Balance)
		if a.Nonce != want.Nonce || a.Balance != *balance || a.StorageRoot != want.Root ||
			!bytes.Equal(code, want.Code) {
			t.Fatalf("account %s: %+v, want %+v", addr, a, want)
		}
		for slot, hex := range want.Storage {
			slots++
			value := common.HexToHash(hex)
			if got, err := view.Storage(addr, slot); err != nil || got != value {
				t.Fatalf("account %s, slot %s: %s, %v, want %s", addr, slot, got, err, value)
			}
		}
		proveAccount(t, view, addr, root, a)
	}
	r, err := e.Verify(t.Context(), nil)
	if err != nil || r.Accounts != uint64(len(head.Accounts)) || r.Slots != slots {
		t.Fatalf("%+v, %v: want %d accounts and %d slots", r, err, len(head.Accounts), slots)
	}
}

// proveAccount checks that the engine's proof of an account leads to it.
func proveAccount(t *testing.T, v *balsa.View, addr common.Address, root common.Hash,
	want state.Account) {
	t.Helper()
	p, err := v.Proof(addr)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := trie.VerifyProof(root, keccak.Sum(addr[:]), p.Proof)
	if err != nil {
		t.Fatalf("account %s: %v", addr, err)
	}
	if got, err := state.DecodeFull(leaf); err != nil || got != want {
		t.Fatalf("account %s is proven to be %+v (%v), want %+v", addr, got, err, want)
	}
}
