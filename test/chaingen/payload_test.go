package chaingen

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

func TestGenesisJSONGivesTheSameGenesisBlock(t *testing.T) {
	c := chainOf(t, "mix")
	var buf bytes.Buffer
	if err := c.WriteGenesis(&buf); err != nil {
		t.Fatal(err)
	}
	var g core.Genesis
	if err := json.Unmarshal(buf.Bytes(), &g); err != nil {
		t.Fatal(err)
	}
	if got, want := g.ToBlock().Hash(), c.Blocks[0].ParentHash(); got != want {
		t.Errorf("genesis %v, block 1 wants %v", got, want)
	}
	if err := g.Config.CheckConfigForkOrder(); err != nil {
		t.Error(err)
	}
	if b := c.Blocks[0]; !g.Config.IsAmsterdam(b.Number(), b.Time()) {
		t.Error("block 1 is not an Amsterdam block by the genesis read back")
	}
}

func TestPayloadsGiveTheSameBlocks(t *testing.T) {
	eachFamily(t, func(t *testing.T, c *Chain) {
		var buf bytes.Buffer
		if err := c.WritePayloads(&buf); err != nil {
			t.Fatal(err)
		}
		blocks, err := ReadPayloads(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(blocks) != len(c.Blocks) {
			t.Fatalf("%d blocks, want %d", len(blocks), len(c.Blocks))
		}
		for i, b := range blocks {
			if b.Hash() != c.Blocks[i].Hash() {
				t.Errorf("block %d: hash %v, want %v", i+1, b.Hash(), c.Blocks[i].Hash())
			}
			if got, want := b.AccessList().Hash(), *c.Blocks[i].BlockAccessListHash(); got != want {
				t.Errorf("block %d: access list %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestPayloadLinesAreEngineRequestsWithTheRawAccessList(t *testing.T) {
	c := chainOf(t, "mix")
	var buf bytes.Buffer
	if err := c.WritePayloads(&buf); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	if len(lines) != len(c.Blocks) {
		t.Fatalf("%d lines, want %d", len(lines), len(c.Blocks))
	}
	for i, line := range lines {
		var r struct {
			JSONRPC string `json:"jsonrpc"`
			ID      int    `json:"id"`
			Method  string `json:"method"`
			Params  []any  `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.JSONRPC != "2.0" || r.Method != "engine_newPayloadV5" || r.ID != i+1 {
			t.Errorf("line %d: version %q, method %q, id %d", i+1, r.JSONRPC, r.Method, r.ID)
		}
		payload, ok := r.Params[0].(map[string]any)
		if !ok || len(r.Params) != 4 {
			t.Fatalf("line %d: parameters %v", i+1, r.Params)
		}
		text, _ := payload["blockAccessList"].(string)
		raw, err := hexutil.Decode(text)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got, want := crypto.Keccak256Hash(raw), *c.Blocks[i].BlockAccessListHash(); got != want {
			t.Errorf("line %d: access list hash %v, want %v", i+1, got, want)
		}
	}
}

func TestHeaderLinesHoldHeaderAndAccessList(t *testing.T) {
	c := chainOf(t, "mix")
	var buf bytes.Buffer
	if err := c.WriteHeaders(&buf); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&buf)
	for i, b := range c.Blocks {
		var line struct{ Header, BlockAccessList hexutil.Bytes }
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		var h types.Header
		if err := rlp.DecodeBytes(line.Header, &h); err != nil {
			t.Fatal(err)
		}
		if h.Hash() != b.Hash() {
			t.Errorf("line %d: header %v, want %v", i+1, h.Hash(), b.Hash())
		}
		if got := crypto.Keccak256Hash(line.BlockAccessList); got != *h.BlockAccessListHash {
			t.Errorf("line %d: access list hash %v, want %v", i+1, got, *h.BlockAccessListHash)
		}
	}
	if dec.More() {
		t.Error("more lines than blocks")
	}
}

func TestReadPayloadsRefusesWhatIsNoPayload(t *testing.T) {
	c := chainOf(t, "empty")
	var buf bytes.Buffer
	if err := c.WritePayloads(&buf); err != nil {
		t.Fatal(err)
	}
	good, _, _ := strings.Cut(buf.String(), "\n")
	for name, text := range map[string]string{
		"cut off":          good[:len(good)-2],
		"another method":   strings.Replace(good, payloadMethod, "engine_newPayloadV4", 1),
		"no parameters":    `{"method":"engine_newPayloadV5","params":[]}`,
		"wrong parameters": `{"method":"engine_newPayloadV5","params":[1,2,3,4]}`,
		"another root":     strings.Replace(good, `"stateRoot":"0x`, `"stateRoot":"0xff`, 1),
		"another gas used": strings.Replace(good, `"gasUsed":"0x`, `"gasUsed":"0x1`, 1),
	} {
		if text == good {
			t.Fatalf("%s: the payload is unchanged", name)
		}
		if _, err := ReadPayloads(strings.NewReader(text)); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: %v, want ErrPayload", name, err)
		}
	}
}

func TestFilesAreTheSameBytesEachTime(t *testing.T) {
	c := chainOf(t, "mix")
	var written [2][]byte
	for i := range written {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		if err := c.WriteDir(dir); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, PayloadsFile))
		if err != nil {
			t.Fatal(err)
		}
		written[i] = raw
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("%v, %v, want the two files alone", entries, err)
		}
	}
	if !bytes.Equal(written[0], written[1]) {
		t.Error("two compressed files of one chain differ")
	}
	// RFC 1952: bytes 4 to 7 are the modification time, bit 3 of byte 3 says that a name follows.
	if h := written[0]; h[3] != 0 || !bytes.Equal(h[4:8], make([]byte, 4)) {
		t.Errorf("gzip header %x holds a name or a time", h[:10])
	}
}

func TestWriteFileLeavesNothingBehindWhereWritingFails(t *testing.T) {
	broken := errors.New("broken")
	for _, name := range []string{"plain", "packed.gz"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := WriteFile(path, func(w io.Writer) error {
			_, _ = w.Write([]byte("half"))
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v, want the writer's error", name, err)
		}
		entries, _ := os.ReadDir(dir)
		old, _ := os.ReadFile(path)
		if len(entries) != 1 || string(old) != "old" {
			t.Errorf("%s: the folder has %v, the file %q", name, entries, old)
		}
	}
}

func TestReadFileTellsWhatIsNotGzip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gz")
	if err := os.WriteFile(path, []byte("plain text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want an error that names the file", err)
	}
}
