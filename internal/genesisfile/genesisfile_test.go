package genesisfile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

func write(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "g.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("BALSA_TESTDATA")
	if dir == "" {
		t.Skip("BALSA_TESTDATA is not set")
	}
	return filepath.Join(dir, name)
}

func TestPublicNetworksHaveTheirGenesisHash(t *testing.T) {
	for name, c := range map[string]struct {
		genesis *core.Genesis
		hash    common.Hash
		root    string
	}{
		"mainnet": {core.DefaultGenesisBlock(), params.MainnetGenesisHash,
			"d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544"},
		"sepolia": {core.DefaultSepoliaGenesisBlock(), params.SepoliaGenesisHash, ""},
		"hoodi":   {core.DefaultHoodiGenesisBlock(), params.HoodiGenesisHash, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.genesis)
			if err != nil {
				t.Fatal(err)
			}
			g, err := Read(write(t, text))
			if err != nil {
				t.Fatal(err)
			}
			if g.Header.Hash() != c.hash {
				t.Errorf("hash %s, want %s", g.Header.Hash(), c.hash)
			}
			if c.root != "" && g.Header.Root != common.HexToHash(c.root) {
				t.Errorf("root %s, want %s", g.Header.Root, c.root)
			}
			if g.ChainID != c.genesis.Config.ChainID.Uint64() || len(g.Alloc) != len(c.genesis.Alloc) {
				t.Errorf("chain %d, %d accounts", g.ChainID, len(g.Alloc))
			}
		})
	}
}

func TestEngineChainAllocAndHeaderBelongTogether(t *testing.T) {
	alloc, err := ReadAlloc(testdata(t, "engine-chain/state35.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := ReadHeader(testdata(t, "engine-chain/header35.rlp.hex"))
	if err != nil {
		t.Fatal(err)
	}
	want := common.HexToHash("0xb331b420ef6ccb2d949a7b64c6609d15d1f25929a3cc6821c5370d9ea09e59c2")
	if h.Number.Uint64() != 35 || h.Hash() != want {
		t.Errorf("header %d %s", h.Number, h.Hash())
	}
	// go-ethereum computes the state root of the accounts that were read.
	block := (&core.Genesis{Config: &params.ChainConfig{}, Alloc: alloc}).ToBlock()
	if block.Root() != h.Root {
		t.Errorf("%d accounts have root %s, header says %s", len(alloc), block.Root(), h.Root)
	}
}

func TestEngineChainGenesisIsTheParentOfBlock1(t *testing.T) {
	g, err := Read(testdata(t, "engine-chain/genesis.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	// Named by blockHash in go-ethereum's newpayload.json, as the parent of block 1.
	want := common.HexToHash("0x1518c33dab6ed4dbb2d0c48239ac2f00acc0e28dc43660bb745a0f127552024c")
	if g.Header.Hash() != want || g.ChainID != 3503995874084926 {
		t.Errorf("genesis %s of chain %d", g.Header.Hash(), g.ChainID)
	}
}

const accountA = "0x00000000000000000000000000000000000000aB"

func TestAllocFormsAreRead(t *testing.T) {
	want := types.Account{
		Nonce: 3, Balance: big.NewInt(255), Code: []byte{0x60, 0},
		Storage: map[common.Hash]common.Hash{{31: 1}: {31: 0x0f}, {31: 0xff}: {30: 1}},
	}
	account := `{"nonce":"0x3","balance":"0xff","code":"6000",
		"storage":{"0x01":"0xf","ff":"0x0100","0x02":"0x00"},"secretKey":"0x12"}`
	decimal := `{"nonce":3,"balance":"255","code":"0x6000",
		"storage":{"0x1":"0x0f","0xff":"0x100"}}`
	for name, text := range map[string]string{
		"bare":         `{"` + accountA + `":` + account + `}`,
		"no prefix":    `{"` + strings.ToLower(accountA[2:]) + `":` + account + `}`,
		"decimal":      `{"` + accountA + `":` + decimal + `}`,
		"below alloc":  `{"number":35,"alloc":{"` + accountA + `":` + account + `},"hash":"0x"}`,
		"other first":  `{"x":{"y":[1,2]},"alloc":{"` + accountA + `":` + account + `}}`,
		"spaces after": `{"` + accountA + `":` + account + "}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range [][]byte{[]byte(text), gzipped(t, text)} {
				alloc, err := ReadAlloc(write(t, text))
				if err != nil {
					t.Fatal(err)
				}
				a, ok := alloc[common.HexToAddress(accountA)]
				if len(alloc) != 1 || !ok {
					t.Fatalf("accounts %v", alloc)
				}
				if a.Nonce != want.Nonce || a.Balance.Cmp(want.Balance) != 0 ||
					!bytes.Equal(a.Code, want.Code) || !maps.Equal(a.Storage, want.Storage) {
					t.Errorf("account %+v\nwant %+v", a, want)
				}
			}
		})
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBadAllocsAreNamed(t *testing.T) {
	a, b := accountA, strings.ToLower(accountA[2:])
	wide := strings.Repeat("00", 33)
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"empty file":          {``, ErrSyntax, "cut off"},
		"an array":            {`[]`, ErrSyntax, "object should start"},
		"nothing":             {`{}`, ErrSyntax, "neither"},
		"no accounts":         {`{"number":1}`, ErrSyntax, "neither"},
		"cut off":             {`{"` + a + `":{"balance":"0x1"`, ErrSyntax, "cut off"},
		"cut off in a string": {`{"` + a + `":{"balance":"0x`, ErrSyntax, "cut off"},
		"same address twice":  {`{"` + a + `":{},"0x` + b + `":{}}`, ErrDuplicate, "AB comes twice"},
		"twice below alloc": {`{"alloc":{"` + a + `":{},"` + b + `":{}}}`, ErrDuplicate,
			"AB comes twice"},
		"alloc twice":        {`{"alloc":{},"alloc":{}}`, ErrDuplicate, "alloc"},
		"alloc and accounts": {`{"alloc":{},"` + a + `":{}}`, ErrSyntax, "beside"},
		"something behind":   {`{"` + a + `":{}} {}`, ErrSyntax, "behind"},
		"short address":      {`{"alloc":{"0x01":{}}}`, ErrSyntax, "0x01"},
		"balance twice": {`{"` + a + `":{"balance":"0x1","balance":"0x2"}}`, ErrDuplicate,
			"balance"},
		"balance of 257 bits": {`{"` + a + `":{"balance":"0x1` + wide[:64] + `"}}`, ErrSyntax,
			"balance"},
		"negative balance":     {`{"` + a + `":{"balance":"-5"}}`, ErrSyntax, "-5"},
		"balance is no number": {`{"` + a + `":{"balance":"abc"}}`, ErrSyntax, "balance"},
		"nonce of 65 bits":     {`{"` + a + `":{"nonce":"0x10000000000000000"}}`, ErrSyntax, "nonce"},
		"code is no hex":       {`{"` + a + `":{"code":"0x6z"}}`, ErrSyntax, "code"},
		"code of half a byte":  {`{"` + a + `":{"code":"0x600"}}`, ErrSyntax, "code"},
		"key of 33 bytes": {`{"` + a + `":{"storage":{"0x` + wide + `":"0x1"}}}`, ErrSyntax,
			"32 bytes"},
		"value of 33 bytes": {`{"` + a + `":{"storage":{"0x1":"0x` + wide + `"}}}`, ErrSyntax,
			"32 bytes"},
		"value is a number": {`{"` + a + `":{"storage":{"0x1":5}}}`, ErrSyntax, "storage at"},
		"key twice, padded": {`{"` + a + `":{"storage":{"0x1":"0x1","0x01":"0x2"}}}`, ErrDuplicate, "storage key"},
		"key twice, zero":   {`{"` + a + `":{"storage":{"0x1":"0x0","0x01":"0x2"}}}`, ErrDuplicate, "storage key"},
		"storage is a list": {`{"` + a + `":{"storage":[]}}`, ErrSyntax, "object should start"},
		"broken JSON":       {`{"` + a + `":{]}`, ErrSyntax, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadAlloc(write(t, []byte(c.text)))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), "g.json: ") {
				t.Fatalf("error %v\nwant %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestBadGenesesAreNamed(t *testing.T) {
	const rest = `"gasLimit":"0x1","difficulty":"0x0","alloc":{}`
	for name, c := range map[string]struct{ text, says string }{
		"no config":       {`{` + rest + `}`, "--header"},
		"config is null":  {`{"config":null,` + rest + `}`, "null"},
		"no alloc":        {`{"config":{},"gasLimit":"0x1","difficulty":"0x0"}`, "alloc"},
		"no gas limit":    {`{"config":{},"difficulty":"0x0","alloc":{}}`, "gasLimit"},
		"config twice":    {`{"config":{},"config":{},` + rest + `}`, "comes twice"},
		"chain id":        {`{"config":{"chainId":18446744073709551616},` + rest + `}`, "64 bits"},
		"binary trie":     {`{"config":{"enableUBTAtGenesis":true},` + rest + `}`, "binary trie"},
		"number":          {`{"config":{},"number":"0xffffffffffffffff",` + rest + `}`, "number"},
		"extra is no hex": {`{"config":{},"extraData":"0xz",` + rest + `}`, "hex"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(write(t, []byte(c.text)))
			if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v\nwant %q", err, c.says)
			}
		})
	}
}

func TestFileAboveTheLimitIsRefused(t *testing.T) {
	path := write(t, gzipped(t, `{"x":"`+strings.Repeat("a", 1<<20)+`"}`))
	parse := func(r io.Reader) error {
		_, _, err := parseFile(r)
		return err
	}
	if err := limitedFile(path, 1<<20, parse); !errors.Is(err, ErrTooLarge) {
		t.Errorf("above the limit: %v", err)
	}
	if err := limitedFile(path, 1<<20+8, parse); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func TestHeaderIsReadFromHexAndFiles(t *testing.T) {
	h := &types.Header{Number: big.NewInt(7), Difficulty: new(big.Int), Extra: []byte("x")}
	enc, err := rlp.EncodeToBytes(h)
	if err != nil {
		t.Fatal(err)
	}
	text := hexutil.Encode(enc)
	for name, arg := range map[string]string{
		"hex":           text,
		"hex, no 0x":    text[2:],
		"file":          write(t, []byte(text)),
		"file, no 0x":   write(t, []byte(text[2:]+"\n")),
		"file of bytes": write(t, enc),
		"zipped file":   write(t, gzipped(t, text)),
	} {
		got, err := ReadHeader(arg)
		if err != nil || got.Hash() != h.Hash() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestBadHeadersAreNamed(t *testing.T) {
	for name, arg := range map[string]string{
		"no header":      "0xc0",
		"cut off":        "0xf90210a0",
		"an empty file":  write(t, nil),
		"a large file":   write(t, bytes.Repeat([]byte("00"), maxHeaderBytes)),
		"not hex inside": write(t, []byte("0xzz")),
	} {
		if _, err := ReadHeader(arg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := ReadHeader("no-such-file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := ReadHeader(write(t, bytes.Repeat([]byte("00"), maxHeaderBytes))); !errors.Is(err,
		ErrTooLarge) {
		t.Errorf("large file: %v", err)
	}
}

func FuzzAlloc(f *testing.F) {
	f.Add(fmt.Sprintf(`{"alloc":{"%s":{"storage":{"0x1":"0x2"},"balance":"0x1"}}}`, accountA))
	f.Fuzz(func(t *testing.T, text string) {
		alloc, _, err := parseFile(strings.NewReader(text))
		if err != nil {
			return
		}
		for addr, a := range alloc {
			if a.Balance.Sign() < 0 || a.Balance.BitLen() > 256 {
				t.Errorf("%s: balance %s", addr, a.Balance)
			}
		}
	})
}
