package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/blockfile"
	"github.com/balsa-sync/balsa/state"
)

// sample reads the first n blocks of the sample chain.
func sample(t *testing.T, n int) []blockfile.Block {
	t.Helper()
	r, err := blockfile.Open(blockfile.Options{Paths: []string{samplePayloads}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var blocks []blockfile.Block
	for range n {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Block()
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// headerLine writes a block as a line.
func headerLine(t *testing.T, h *types.Header, list []byte) string {
	t.Helper()
	enc, err := rlp.EncodeToBytes(h)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("{\"header\":\"%s\",\"blockAccessList\":\"%s\"}\n", hexutil.Encode(enc),
		hexutil.Encode(list))
}

// lineFile writes blocks as lines into a file.
func lineFile(t *testing.T, blocks ...blockfile.Block) string {
	t.Helper()
	var text strings.Builder
	for _, b := range blocks {
		text.WriteString(headerLine(t, b.Header, b.BAL))
	}
	return writeFile(t, text.String())
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSampleChainIsReplayedAndProven(t *testing.T) {
	dir := newStore(t)
	head := sample(t, sampleBlocks)[sampleBlocks-1].Header
	var sum struct {
		BlocksApplied, RootsProven, BlocksKnown, BlocksOlder, SlotsChanged int
		Cursor                                                             cursorJSON
		Error                                                              string
	}
	r := runBalsa(t, "replay", "--datadir", dir, "--json", samplePayloads)
	r.want(t, exitDone)
	r.decode(t, &sum)
	want := cursorJSON{head.Number.Uint64(), head.Hash(), head.Root}
	if sum.BlocksApplied != sampleBlocks || sum.RootsProven != sampleBlocks || sum.Cursor != want ||
		sum.SlotsChanged == 0 || sum.BlocksKnown != 0 || sum.Error != "" {
		t.Errorf("%+v, want %d blocks up to %+v", sum, sampleBlocks, want)
	}
	runBalsa(t, "verify", "--datadir", dir).want(t, exitDone, " 0 faults", head.Root.Hex())

	var report struct {
		FaultCount, Accounts, Slots, BranchRows, Codes uint64
		Cursor                                         cursorJSON
		Root                                           common.Hash
	}
	r = runBalsa(t, "verify", "--datadir", dir, "--json")
	r.want(t, exitDone)
	r.decode(t, &report)
	if report.FaultCount != 0 || report.Root != head.Root || report.Cursor != want ||
		report.Accounts == 0 || report.Slots == 0 || report.BranchRows == 0 {
		t.Errorf("%+v", report)
	}
	checkStatus(t, dir, want, report.Accounts, report.Slots, report.BranchRows, report.Codes)
}

func checkStatus(t *testing.T, dir string, cursor cursorJSON, accounts, slots, branches,
	codes uint64) {
	t.Helper()
	var st storeStatus
	r := runBalsa(t, "status", "--datadir", dir, "--json")
	r.want(t, exitDone)
	r.decode(t, &st)
	if st.Cursor == nil || *st.Cursor != cursor || st.Phase != "ready" || st.ChainID == 0 ||
		st.Sizes.Disk == 0 || st.Rows == nil {
		t.Fatalf("%+v, want %+v", st, cursor)
	}
	got := *st.Rows
	if n := got.AccountBranches + got.StorageBranches; n != branches {
		t.Errorf("%d branch rows, verify compared %d", n, branches)
	}
	want := rowCounts{
		Accounts: accounts, Slots: slots, Codes: codes,
		Headers: balsa.DefaultHistory + 1, AccessLists: balsa.DefaultHistory,
		ReverseDiffs:    balsa.DefaultHistory,
		AccountBranches: got.AccountBranches, StorageBranches: got.StorageBranches,
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	runBalsa(t, "status", "--datadir", dir).want(t, exitDone, cursor.Hash.Hex(), "accounts", "ready")
	r = runBalsa(t, "status", "--datadir", dir, "--counts=false")
	r.want(t, exitDone, cursor.Root.Hex())
	if strings.Contains(r.stdout, "accounts") {
		t.Errorf("counted all the same: %s", r.stdout)
	}
}

func TestReplayGoesOnWhereItStopped(t *testing.T) {
	dir := newStore(t)
	runBalsa(t, "replay", "--datadir", dir, "--to", "7", samplePayloads).
		want(t, exitDone, "7 blocks applied, 7 roots proven", "cursor 7 ")
	runBalsa(t, "replay", "--datadir", dir, "--to", "5", samplePayloads).
		want(t, exitDone, "5 blocks passed over", "0 blocks applied", "cursor 7 ")
	runBalsa(t, "replay", "--datadir", dir, "--to", "10", samplePayloads).
		want(t, exitDone, "7 blocks passed over", "3 blocks applied, 3 roots proven", "cursor 10 ")
}

func TestEngineChainIsProvenFromItsAlloc(t *testing.T) {
	data := os.Getenv("BALSA_TESTDATA")
	if data == "" {
		t.Skip("BALSA_TESTDATA is not set")
	}
	dir := filepath.Join(t.TempDir(), "store")
	runBalsa(t, "init", "--datadir", dir, "--chainid", "3503995874084926",
		"--alloc", filepath.Join(data, "engine-chain/state35.json.gz"),
		"--header", filepath.Join(data, "engine-chain/header35.rlp.hex")).want(t, exitDone, "cursor 35 ")
	// Blocks 0 to 34 lie below the store's first one, block 35 is it.
	runBalsa(t, "replay", "--datadir", dir, ethtest(t, "newpayload.json")).want(t, exitDone,
		"565 blocks applied, 565 roots proven", "35 blocks passed over", "cursor 600 ",
		"root 0x7714335f0d11ff7d9c447b48a5c8071bdead229c9b6a00f9a87ef663d1f5996c")
	runBalsa(t, "verify", "--datadir", dir).want(t, exitDone, " 0 faults")
	r := runBalsa(t, "status", "--datadir", dir, "--json")
	r.want(t, exitDone, `"chainId": 3503995874084926`)
}

func TestBlocksFromBeforeAmsterdamAreRefusedByName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	runBalsa(t, "init", "--datadir", dir, ethtest(t, "genesis.json")).want(t, exitDone)
	runBalsa(t, "replay", "--datadir", dir, ethtest(t, "newpayload.json")).want(t, exitFailed,
		"block 1 (0x32ba15a7b994ce94378ca844683be28be8f6b991d95cdfaab4517a7018d7eedb) was made before "+
			"Amsterdam and has no block access list: it cannot be applied without executing it",
		"newpayload.json:28 (element 2)", "cursor 0 ")
}

func TestWrongRootExitsWith3AndNamesBothRoots(t *testing.T) {
	dir := newStore(t)
	blocks := sample(t, 3)
	bad := blocks[2]
	right := bad.Header.Root
	bad.Header = types.CopyHeader(bad.Header)
	bad.Header.Root = common.Hash{1}
	path := lineFile(t, blocks[0], blocks[1], bad)
	runBalsa(t, "replay", "--datadir", dir, path).want(t, exitVerify,
		"2 blocks applied, 2 roots proven", "cursor 2 ", path+":3 (element 3)",
		fmt.Sprintf("block 3 (%s)", bad.Header.Hash()), right.Hex(), bad.Header.Root.Hex())
	var sum struct {
		RootsProven int
		Cursor      cursorJSON
		Error       string
	}
	r := runBalsa(t, "replay", "--datadir", dir, "--json", path)
	r.want(t, exitVerify)
	r.decode(t, &sum)
	if sum.RootsProven != 0 || sum.Cursor.Number != 2 || !strings.Contains(sum.Error, right.Hex()) {
		t.Errorf("%+v", sum)
	}
	runBalsa(t, "verify", "--datadir", dir).want(t, exitDone, " 0 faults", "cursor 2 ")
	runBalsa(t, "replay", "--datadir", dir, "--to", "3", samplePayloads).want(t, exitDone, "cursor 3 ")
}

func TestRejectedBlocksExitWith1(t *testing.T) {
	blocks := sample(t, 5)
	wrongList := blocks[1]
	wrongList.BAL = blocks[2].BAL
	noList := blocks[1]
	noList.BAL = []byte{0x80}
	for name, c := range map[string]struct {
		path string
		says []string
	}{
		"a gap": {lineFile(t, blocks[0], blocks[2]),
			[]string{"the parent is not the cursor", "block 3 (", "balsa status"}},
		"another access list": {lineFile(t, blocks[0], wrongList),
			[]string{"does not hash to what its header says", "block 2 ("}},
		"no access list": {lineFile(t, blocks[0], noList), []string{"not available", "block 2 ("}},
		"a broken line": {writeFile(t, headerLine(t, blocks[0].Header, blocks[0].BAL)+"{oops"),
			[]string{":2 (element 2)"}},
		"not for the job": {writeFile(t, `{"hello":"world"}`), []string{"not a block"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := runBalsa(t, "replay", "--datadir", newStore(t), c.path)
			r.want(t, exitFailed, c.says...)
			r.want(t, exitFailed, c.path+":")
		})
	}
}

func TestBlocksOfAnotherBranchAreRefused(t *testing.T) {
	dir := newStore(t)
	blocks := sample(t, 4)
	runBalsa(t, "replay", "--datadir", dir, "--to", "4", samplePayloads).want(t, exitDone)
	fork := func(b blockfile.Block) blockfile.Block {
		b.Header = types.CopyHeader(b.Header)
		b.Header.Extra = []byte("fork")
		return b
	}
	const says = "is on another branch than the store's, which has "
	runBalsa(t, "replay", "--datadir", dir, lineFile(t, fork(blocks[3]))).
		want(t, exitFailed, fmt.Sprintf("block 4 (%s)", fork(blocks[3]).Header.Hash()), says)
	runBalsa(t, "replay", "--datadir", dir, lineFile(t, blocks[1], fork(blocks[2]))).
		want(t, exitFailed, fmt.Sprintf("block 3 (%s)", fork(blocks[2]).Header.Hash()), says)
	// A branch that lies wholly below the cursor is told all the same.
	runBalsa(t, "replay", "--datadir", dir, lineFile(t, fork(blocks[1]))).
		want(t, exitFailed, fmt.Sprintf("block 2 (%s)", fork(blocks[1]).Header.Hash()), says)
}

func TestReplayReadsStandardInput(t *testing.T) {
	dir := newStore(t)
	blocks := sample(t, 2)
	text := headerLine(t, blocks[0].Header, blocks[0].BAL) + headerLine(t, blocks[1].Header,
		blocks[1].BAL)
	runBalsaIn(t, t.Context(), strings.NewReader(text), "replay", "--datadir", dir, "-").
		want(t, exitDone, "2 blocks applied, 2 roots proven")
}

func TestInitSaysWhatItFinds(t *testing.T) {
	dir := newStore(t)
	runBalsa(t, "init", "--datadir", dir, sampleGenesis).want(t, exitDone, "already; nothing was done",
		"cursor 0 ")
	runBalsa(t, "replay", "--datadir", dir, "--to", "2", samplePayloads).want(t, exitDone)
	runBalsa(t, "init", "--datadir", dir, sampleGenesis).want(t, exitDone, "already; nothing was done",
		"cursor 2 ")
	r := runBalsa(t, "init", "--datadir", dir, "--json", sampleGenesis)
	r.want(t, exitDone)
	var got struct {
		Built  bool
		Cursor cursorJSON
	}
	if r.decode(t, &got); got.Built || got.Cursor.Number != 2 {
		t.Errorf("%+v", got)
	}
	runBalsa(t, "init", "--datadir", dir, ethtest(t, "genesis.json")).
		want(t, exitFailed, "another state", "another directory")
}

func TestInitWithAnotherRootExitsWith3AndLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	alloc := writeFile(t, `{"0x00000000000000000000000000000000000000aa":{"balance":"0x1"}}`)
	h := sample(t, 1)[0].Header
	enc, err := rlp.EncodeToBytes(h)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"init", "--datadir", dir, "--alloc", alloc, "--header"}
	runBalsa(t, append(args, hexutil.Encode(enc))...).want(t, exitVerify, h.Root.Hex(), "block 1 (")
	runBalsa(t, "status", "--datadir", dir).want(t, exitDone, "empty")
	runBalsa(t, "init", "--datadir", dir, sampleGenesis).want(t, exitDone, "cursor 0 ")
}

func TestBadGenesisFilesExitWith1(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	path := writeFile(t, `{"config":{}`)
	runBalsa(t, "init", "--datadir", dir, path).want(t, exitFailed, path, "cut off")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a store was made: %v", err)
	}
}

// contradict commits a block whose rows do not belong to its root.
func contradict(t *testing.T, dir string) {
	t.Helper()
	s, err := state.Open(state.Options{Dir: dir, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	cursor, _ := s.Cursor()
	h := sample(t, 1)[0].Header
	a := state.NewAccount()
	a.Nonce = 7
	err = s.Commit(cursor, state.Block{Header: h, Hash: h.Hash(), BAL: []byte{0xc0}},
		&state.Layer{Accounts: []state.AccountWrite{{Hash: crypto.Keccak256Hash(nil),
			Post: a.AppendSlim(nil)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyExitsWith3AndNamesTheFaults(t *testing.T) {
	dir := newStore(t)
	contradict(t, dir)
	h := sample(t, 1)[0].Header
	runBalsa(t, "verify", "--datadir", dir).want(t, exitVerify, "fault: ", h.Root.Hex(),
		"does not verify")
	r := runBalsa(t, "verify", "--datadir", dir, "--json")
	r.want(t, exitVerify)
	var report struct {
		FaultCount int
		Faults     []string
	}
	if r.decode(t, &report); report.FaultCount == 0 || len(report.Faults) == 0 {
		t.Errorf("%+v", report)
	}
}

func TestFixturesPrintATable(t *testing.T) {
	data := os.Getenv("BALSA_TESTDATA")
	if data == "" {
		t.Skip("BALSA_TESTDATA is not set")
	}
	dir := filepath.Join(data, "eip7928/official")
	r := runBalsa(t, "fixtures", dir)
	r.want(t, exitDone, "test_bal_invalid_surplus_system_address_from_system_call")
	fields := strings.Join(strings.Fields(r.stdout), " ")
	for _, row := range []string{"tests 5", "passed 5", "failed 0", "blocks 5", "valid, proven 2",
		"rejected: wrong state root 2", "invalid, only execution can reject 1"} {
		if !strings.Contains(fields, row) {
			t.Errorf("%q is not in %s", row, r.stdout)
		}
	}
	var sum struct {
		Tests, Passed, Failed int
		Classes               map[string]int
		OnlyExecution         []string
	}
	r = runBalsa(t, "fixtures", "--json", dir)
	r.want(t, exitDone)
	r.decode(t, &sum)
	if sum.Tests != 5 || sum.Passed != 5 || sum.Classes["rejectedRoot"] != 2 ||
		len(sum.OnlyExecution) != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestFailedFixturesExitWith1(t *testing.T) {
	path := writeFile(t, `{"a test":{"network":"Amsterdam","pre":{},"blocks":[],"genesisRLP":"0xc0"}}`)
	runBalsa(t, "fixtures", path).want(t, exitFailed, "failed: a test", path, "1 of 1 tests failed")
	var out struct{ Failures []struct{ Test string } }
	r := runBalsa(t, "fixtures", "--json", path)
	r.want(t, exitFailed)
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || len(out.Failures) != 1 {
		t.Errorf("%v, %s", err, r.stdout)
	}
}
