package blockfile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

// enginePayloads is go-ethereum's own engine chain: blocks 0 to 600 as engine_newPayload requests,
// Amsterdam from block 36 on.
func enginePayloads(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/ethereum/go-ethereum").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)),
		"cmd/devp2p/internal/ethtest/testdata/newpayload.json")
}

// readAll reads all entries, up to the first error.
func readAll(t *testing.T, o Options) ([]*Entry, error) {
	t.Helper()
	r, err := Open(o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []*Entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

// write makes a file in a fresh directory.
func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// testHeader is the header of an empty Amsterdam block.
func testHeader(n uint64) *types.Header {
	var zero uint64
	balHash := crypto.Keccak256Hash([]byte{0xc0})
	return &types.Header{
		ParentHash: common.Hash{31: byte(n)}, UncleHash: types.EmptyUncleHash,
		Root: common.Hash{1}, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash,
		Difficulty: new(big.Int), Number: new(big.Int).SetUint64(n), GasLimit: 30_000_000,
		Extra: []byte{}, BaseFee: big.NewInt(7), WithdrawalsHash: &types.EmptyWithdrawalsHash,
		BlobGasUsed: &zero, ExcessBlobGas: &zero, ParentBeaconRoot: &common.Hash{5},
		RequestsHash: &types.EmptyRequestsHash, BlockAccessListHash: &balHash, SlotNumber: &zero,
	}
}

// payloadOf gives a header's payload as go-ethereum writes it.
func payloadOf(t *testing.T, h *types.Header) string {
	t.Helper()
	block := types.NewBlockWithHeader(h).WithBody(types.Body{Withdrawals: []*types.Withdrawal{}})
	p := engine.BlockToExecutableData(block, nil, nil, nil).ExecutionPayload
	p.BlockAccessList = []byte{0xc0}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func requestOf(t *testing.T, h *types.Header) string {
	t.Helper()
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"engine_newPayloadV5","params":[%s,[],"%s",[]]}`,
		payloadOf(t, h), h.ParentBeaconRoot)
}

func headerLineOf(t *testing.T, h *types.Header) string {
	t.Helper()
	enc, err := rlp.EncodeToBytes(h)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"header":"%s","blockAccessList":"0xc0"}`, hexutil.Encode(enc))
}

func headerJSONOf(t *testing.T, h *types.Header) string {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"header":%s,"blockAccessList":"0xc0"}`, text)
}

func TestEngineChainHeadersAreRebuiltWithTheirHashes(t *testing.T) {
	all, err := readAll(t, Options{Paths: []string{enginePayloads(t)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 601 {
		t.Fatalf("%d payloads, want 601", len(all))
	}
	for i, e := range all {
		if e.Number != uint64(i) || e.At.Element != i+1 {
			t.Fatalf("%s: block %d at element %d", e.At, e.Number, i+1)
		}
		b, err := e.Block()
		if i < 36 {
			if !errors.Is(err, ErrPreAmsterdam) || e.HasAccessList() {
				t.Fatalf("block %d from before Amsterdam: %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Header.Hash() != e.Hash || b.Header.ParentHash != all[i-1].Hash {
			t.Fatalf("block %d: header %s", i, b.Header.Hash())
		}
		if crypto.Keccak256Hash(b.BAL) != *b.Header.BlockAccessListHash {
			t.Fatalf("block %d: its access list does not belong to its header", i)
		}
	}
}

func TestPreAmsterdamErrorNamesBlockAndReason(t *testing.T) {
	all, err := readAll(t, Options{Paths: []string{enginePayloads(t)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = all[35].Block()
	want := "block 35 (0xb331b420ef6ccb2d949a7b64c6609d15d1f25929a3cc6821c5370d9ea09e59c2) was made " +
		"before Amsterdam and has no block access list: it cannot be applied without executing it"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Fatalf("error %v", err)
	}
}

func TestEveryFormIsRead(t *testing.T) {
	a, b := testHeader(1), testHeader(2)
	indented := new(bytes.Buffer)
	if err := json.Indent(indented, []byte("["+requestOf(t, a)+","+requestOf(t, b)+"]"), "",
		"  "); err != nil {
		t.Fatal(err)
	}
	none := testHeader(1)
	none.ParentBeaconRoot = new(common.Hash)
	forms := map[string]struct {
		text string
		want []*types.Header
		txs  int
	}{
		"one request":          {requestOf(t, a), []*types.Header{a}, 0},
		"an array, indented":   {indented.String(), []*types.Header{a, b}, 0},
		"an empty array first": {"[ ]\n" + requestOf(t, a), []*types.Header{a}, 0},
		"lines": {requestOf(t, a) + "\n" + requestOf(t, b) + "\n", []*types.Header{a, b},
			0},
		"no line break": {requestOf(t, a) + requestOf(t, b), []*types.Header{a, b}, 0},
		"DOS line breaks": {requestOf(t, a) + "\r\n" + requestOf(t, b) + "\r\n", []*types.Header{a,
			b}, 0},
		"header lines": {headerLineOf(t, a) + "\n" + headerLineOf(t, b), []*types.Header{a, b},
			-1},
		"header objects": {"[" + headerJSONOf(t, a) + "]", []*types.Header{a}, -1},
		"a bare payload": {payloadOf(t, none), []*types.Header{none}, 0},
	}
	for name, f := range forms {
		for _, zip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gzip %v", name, zip), func(t *testing.T) {
				text := []byte(f.text)
				if zip {
					text = gzipped(t, text)
				}
				all, err := readAll(t, Options{Paths: []string{write(t, "blocks.json", text)}})
				if err != nil {
					t.Fatal(err)
				}
				if len(all) != len(f.want) {
					t.Fatalf("%d blocks, want %d", len(all), len(f.want))
				}
				for i, e := range all {
					b, err := e.Block()
					if err != nil {
						t.Fatal(err)
					}
					if b.Header.Hash() != f.want[i].Hash() || e.Hash != f.want[i].Hash() {
						t.Errorf("block %d: header %s, want %s", i, b.Header.Hash(), f.want[i].Hash())
					}
					if !bytes.Equal(b.BAL, []byte{0xc0}) || b.Transactions != f.txs {
						t.Errorf("block %d: access list %x, %d transactions", i, b.BAL, b.Transactions)
					}
				}
			})
		}
	}
}

// geth's own conversion from payload to block is the reference for blocks with transactions,
// withdrawals and requests.
func TestHeaderEqualsGoEthereums(t *testing.T) {
	text, err := os.ReadFile(enginePayloads(t))
	if err != nil {
		t.Fatal(err)
	}
	var requests []struct{ Params []json.RawMessage }
	if err := json.Unmarshal(text, &requests); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, r := range requests[36:] {
		var p engine.ExecutableData
		var versioned []common.Hash
		var beaconRoot *common.Hash
		var execution []hexutil.Bytes
		for i, v := range []any{&p, &versioned, &beaconRoot, &execution} {
			if err := json.Unmarshal(r.Params[i], v); err != nil {
				t.Fatal(err)
			}
		}
		raw := make([][]byte, len(execution))
		for i := range execution {
			raw[i] = execution[i]
		}
		block, err := engine.ExecutableDataToBlock(p, versioned, beaconRoot, raw)
		if err != nil {
			t.Fatal(err)
		}
		params, err := decodeParams(r.Params[1:])
		if err != nil {
			t.Fatal(err)
		}
		h, err := rebuildHeader(&p, params)
		if err != nil {
			t.Fatal(err)
		}
		if h.Hash() != block.Hash() {
			t.Fatalf("block %d: %s, go-ethereum has %s", p.Number, h.Hash(), block.Hash())
		}
		checked++
	}
	if checked != 565 {
		t.Fatalf("%d blocks compared, want 565", checked)
	}
}

func TestBadInputIsNamed(t *testing.T) {
	good := requestOf(t, testHeader(1))
	otherRoot := strings.Replace(good, `"stateRoot":"0x01`, `"stateRoot":"0x02`, 1)
	other := strings.Replace(headerJSONOf(t, testHeader(1)), `"gasUsed":"0x0"`, `"gasUsed":"0x1"`, 1)
	pre := testHeader(1)
	pre.BlockAccessListHash, pre.SlotNumber = nil, nil
	cases := map[string]struct {
		text string
		want error
		says string
	}{
		"empty file":           {"", ErrSyntax, "holds no block"},
		"an empty array alone": {"[]", ErrSyntax, "holds no block"},
		"not JSON":             {"hello", ErrSyntax, "f.json:1 (element 1): not a block: 'h'"},
		"cut off in an object": {good + "\n" + good[:100], ErrTruncated, "f.json:2 (element 2)"},
		"cut off in an array":  {"[" + good, ErrTruncated, "array is not closed"},
		"a comma too many":     {"[" + good + ",]", ErrSyntax, "']'"},
		"a comma missing":      {"[" + good + good + "]", ErrSyntax, "'{'"},
		"a comma at the top":   {good + ",", ErrSyntax, "','"},
		"nested array":         {"[[" + good + "]]", ErrSyntax, "'['"},
		"broken JSON":          {good + "\n\n{\"params\":}", ErrSyntax, "f.json:3 (element 2)"},
		"brackets crossed":     {`{"params":[}]`, ErrSyntax, "f.json:1"},
		"wrong hex": {strings.Replace(good, `"gasUsed":"0x0"`, `"gasUsed":"0xzz"`, 1),
			ErrSyntax, "gasUsed"},
		"short hash": {strings.Replace(good, `"stateRoot":"0x01`, `"stateRoot":"0x`, 1),
			ErrSyntax, "want 64"},
		"another method":  {`{"method":"engine_forkchoiceUpdatedV3","params":[{}]}`, ErrSyntax, "engine_forkchoiceUpdatedV3"},
		"no params":       {`{"method":"engine_newPayloadV5","params":[]}`, ErrSyntax, "without params"},
		"payload is null": {`{"method":"engine_newPayloadV5","params":[null]}`, ErrSyntax, "parentHash"},
		"beacon root is bad": {strings.Replace(good, `[],"0x05`, `[],"0x`, 1), ErrSyntax,
			"parent beacon root"},
		"short bloom": {`{"params":[` + shortBloom(t) + `]}`, ErrSyntax, "logsBloom"},
		"null withdrawal": {strings.Replace(good, `"withdrawals":[]`, `"withdrawals":[null]`, 1),
			ErrSyntax, "withdrawal is null"},
		"null transaction": {strings.Replace(good, `"transactions":[]`, `"transactions":[null]`, 1),
			ErrSyntax, "transactions"},
		"unknown form":       {`{"blockNumber":"0x1"}`, ErrSyntax, "neither"},
		"another state root": {otherRoot, ErrBlockHash, "block 1 (0x"},
		"header's hash":      {other, ErrBlockHash, "hashes to"},
		"no beacon root":     {payloadOf(t, testHeader(1)), ErrBarePayload, "parent beacon root"},
		"header is cut":      {`{"header":"0xf90102","blockAccessList":"0xc0"}`, ErrSyntax, "header"},
		"header is empty":    {`{"header":"0x","blockAccessList":"0xc0"}`, ErrSyntax, "header"},
		"params are null":    {`{"method":"engine_newPayloadV5","params":null}`, ErrSyntax, ""},
		"many params": {`{"params":[` + strings.Repeat("0,", 100_000) + `0]}`, ErrSyntax,
			"f.json:1"},
		"header is a number": {`{"header":5,"blockAccessList":"0xc0"}`, ErrSyntax, "header"},
		"header, no list": {strings.Replace(headerLineOf(t, testHeader(1)), "blockAccessList", "x",
			1), ErrSyntax, "missing"},
		"pre-Amsterdam header": {strings.Replace(headerLineOf(t, pre), "blockAccessList", "x", 1),
			ErrPreAmsterdam, "block 1 (0x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := readAll(t, Options{Paths: []string{write(t, "f.json", []byte(c.text))}})
			for _, e := range all {
				if _, berr := e.Block(); berr != nil {
					err = berr
				}
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v\nwant %v with %q", err, c.want, c.says)
			}
			if errors.Is(err, io.EOF) { // which would be taken for the end of the files
				t.Fatalf("error %v is io.EOF", err)
			}
		})
	}
}

func shortBloom(t *testing.T) string {
	p := payloadOf(t, testHeader(1))
	return strings.Replace(p, `"logsBloom":"0x00`, `"logsBloom":"0x`, 1)
}

func TestTruncatedArchiveGivesItsBlocksThenSaysSo(t *testing.T) {
	var text strings.Builder
	for i := range uint64(200) {
		h := testHeader(i)
		h.Root = crypto.Keccak256Hash([]byte{byte(i)}) // so that it compresses badly
		h.MixDigest = crypto.Keccak256Hash(h.Root[:])
		text.WriteString(requestOf(t, h) + "\n")
	}
	zip := gzipped(t, []byte(text.String()))
	all, err := readAll(t, Options{Paths: []string{write(t, "b.jsonl.gz", zip[:len(zip)/2])}})
	if !errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), "b.jsonl.gz:") {
		t.Fatalf("error %v, want ErrTruncated", err)
	}
	if len(all) == 0 || len(all) >= 200 {
		t.Fatalf("%d blocks before the cut", len(all))
	}
	for _, cut := range []int{3, 9} { // within the archive's own header
		_, err := readAll(t, Options{Paths: []string{write(t, "b.gz", zip[:cut])}})
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut at %d: error %v", cut, err)
		}
	}
}

func TestLargeObjectIsRefusedWithoutBeingHeld(t *testing.T) {
	// 64 MiB of spaces in 64 KiB of archive: the reader must stop at its limit.
	var zip bytes.Buffer
	w := gzip.NewWriter(&zip)
	io.WriteString(w, `{"params":["`)
	for range 64 {
		w.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	w.Close()
	r, err := Open(Options{Paths: []string{write(t, "bomb.gz", zip.Bytes())}, MaxBlockBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Next()
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	if held := cap(r.objects.buf); held > 4<<20 {
		t.Errorf("%d bytes held", held)
	}
}

func TestObjectOfExactlyTheLimitIsRead(t *testing.T) {
	text := requestOf(t, testHeader(1))
	path := write(t, "b.json", []byte(text+"\n"))
	if _, err := readAll(t, Options{Paths: []string{path},
		MaxBlockBytes: int64(len(text))}); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	_, err := readAll(t, Options{Paths: []string{path}, MaxBlockBytes: int64(len(text)) - 1})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("above the limit: %v", err)
	}
}

func TestFilesAndDirectoriesComeInOrder(t *testing.T) {
	dir := t.TempDir()
	for n, name := range map[uint64]string{2: "b-2.json", 10: "b-10.json.gz", 11: "b-011.jsonl"} {
		text := []byte(requestOf(t, testHeader(n)))
		if strings.HasSuffix(name, ".gz") {
			text = gzipped(t, text)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"notes.txt", ".hidden.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("no block"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := write(t, "z", []byte(requestOf(t, testHeader(1))))
	all, err := readAll(t, Options{Paths: []string{first, dir, Stdin},
		Stdin: strings.NewReader(requestOf(t, testHeader(12)))})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, e := range all {
		got = append(got, e.Number)
	}
	if fmt.Sprint(got) != "[1 2 10 11 12]" {
		t.Fatalf("blocks %v", got)
	}
}

func TestMissingPathsAreFoundAtOnce(t *testing.T) {
	if _, err := Open(Options{Paths: []string{"no-such-file.json"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(Options{Paths: []string{t.TempDir()}}); !errors.Is(err, ErrNoFiles) {
		t.Errorf("directory without blocks: %v", err)
	}
}

func TestProgressEndsAtTheSizeOfTheFiles(t *testing.T) {
	plain := write(t, "a.json", []byte(requestOf(t, testHeader(1))))
	zipped := write(t, "b.json.gz", gzipped(t, []byte(requestOf(t, testHeader(2)))))
	r, err := Open(Options{Paths: []string{plain, zipped}})
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, p := range []string{plain, zipped} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		want += st.Size()
	}
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if done, total := r.Progress(); done != want || total != want {
		t.Fatalf("%d of %d bytes, want %d", done, total, want)
	}
}

func TestNamesAreOrderedWithNumbersAsNumbers(t *testing.T) {
	for _, c := range [][2]string{
		{"b9", "b10"}, {"b9.json", "b010.json"}, {"a10", "b9"}, {"b1-2", "b1-10"},
		{"b", "b1"}, {"", "a"}, {"b01", "b1x"}, {"99999999999999999999", "100000000000000000000"},
	} {
		if compareNames(c[0], c[1]) >= 0 || compareNames(c[1], c[0]) <= 0 {
			t.Errorf("%q does not come before %q", c[0], c[1])
		}
	}
	if compareNames("b01", "b1") == 0 || compareNames("b1", "b1") != 0 {
		t.Error("only equal names compare as equal")
	}
}

func FuzzAnyBytes(f *testing.F) {
	f.Add([]byte(`{"header":"0xc0","blockAccessList":"0xc0"}`))
	f.Add([]byte(`[{"params":[{}]},{"a":"\""}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e := NewObjects(bytes.NewReader(text), 1<<16, 1<<10)
		for {
			object, _, err := e.Next()
			if err != nil {
				return
			}
			if entry, err := decodeEntry(object); err == nil {
				entry.Block() // must not panic
			}
		}
	})
}
