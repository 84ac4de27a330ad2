package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/flatfile"
)

// dumpFiles are what geth would export of the sample chain's genesis.
type dumpFiles struct {
	dir, header string
	head        *types.Header
	snapshot    []byte
}

func (f *dumpFiles) path(name string) string { return filepath.Join(f.dir, name) }

// writeDumps writes them the way geth does (cmd/utils, ExportChaindata). test/endtoend has dumps of
// go-ethereum's own making.
func writeDumps(t *testing.T) *dumpFiles {
	t.Helper()
	f := &dumpFiles{dir: t.TempDir()}
	runBalsa(t, "export", "--datadir", newStore(t), f.path("genesis.leaves")).want(t, exitDone)
	r, err := flatfile.Open(f.path("genesis.leaves"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parts := map[flatfile.Kind]*bytes.Buffer{
		flatfile.Account: {}, flatfile.Slot: {}, flatfile.Code: {},
	}
	put := func(to *bytes.Buffer, items ...any) {
		for _, v := range items {
			if err := rlp.Encode(to, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		key := map[flatfile.Kind]string{
			flatfile.Account: "a", flatfile.Slot: "o", flatfile.Code: "c",
		}[row.Kind] + string(row.Hash[:])
		if row.Kind == flatfile.Slot {
			key += string(row.Slot[:])
		}
		put(parts[row.Kind], byte(0), []byte(key), row.Value)
	}
	type head struct {
		Magic   string
		Version uint64
		Kind    string
		Time    uint64
	}
	var snapshot, codes bytes.Buffer
	put(&snapshot, &head{Magic: "gethdbdump", Kind: "snapshot"}, byte(1), []byte("SnapshotRoot"), "")
	put(&codes, &head{Magic: "gethdbdump", Kind: "code"})
	snapshot.Write(parts[flatfile.Account].Bytes())
	snapshot.Write(parts[flatfile.Slot].Bytes())
	codes.Write(parts[flatfile.Code].Bytes())
	f.head, f.snapshot = r.Header(), snapshot.Bytes()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(f.snapshot); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.write(t, "snapshot.gz", packed.Bytes())
	f.write(t, "codes", codes.Bytes())
	f.header = headerHex(t, f.head)
	return f
}

func (f *dumpFiles) write(t *testing.T, name string, b []byte) (path string) {
	t.Helper()
	if err := os.WriteFile(f.path(name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return f.path(name)
}

func headerHex(t *testing.T, h *types.Header) string {
	t.Helper()
	b, err := rlp.EncodeToBytes(h)
	if err != nil {
		t.Fatal(err)
	}
	return hexutil.Encode(b)
}

// A snapshot is imported, exported, imported again from a pipe, and rebuilt; each store verifies.
func TestAStateMovesFromGethToAStoreAndOn(t *testing.T) {
	f := writeDumps(t)
	a, b := f.path("a"), f.path("b")
	args := []string{"import", "--datadir", a, "--header", f.header, "--chainid", "1337",
		"--codes", f.path("codes"), "--verify", f.path("snapshot.gz")}
	head := f.head
	runBalsa(t, args...).want(t, exitDone, "root proven", "0 faults", "dispatcher wait",
		head.Hash().Hex(), "largest storage tries")
	runBalsa(t, args...).want(t, exitDone, "nothing was done")

	file := f.path("state.leaves")
	var exported struct {
		Cursor                 cursorJSON
		Accounts, Slots, Codes uint64
	}
	r := runBalsa(t, "export", "--datadir", a, "--json", file)
	r.want(t, exitDone)
	if r.decode(t, &exported); exported.Cursor.Hash != head.Hash() || exported.Slots == 0 {
		t.Errorf("%+v", exported)
	}
	out := runBalsa(t, "export", "--datadir", a, "-")
	out.want(t, exitDone)
	if text, err := os.ReadFile(file); err != nil || out.stdout != string(text) {
		t.Errorf("%v, or standard output got another file", err)
	}

	var imported struct {
		Cursor                                      cursorJSON
		Built                                       bool
		Accounts, Slots, Codes, CodesMissing        uint64
		Storage, AccountTrie                        struct{ Accounts, Leaves int }
		OrphanAccounts, OrphanSlots, CorrectedRoots uint64
	}
	r = runBalsaIn(t, context.Background(), strings.NewReader(out.stdout), "import", "--datadir", b,
		"--json", "--storage.workers", "3", "--storage.batch-accounts", "2", "-")
	r.want(t, exitDone)
	r.decode(t, &imported)
	if !imported.Built || imported.Cursor.Root != head.Root || imported.CodesMissing != 0 ||
		imported.Accounts != exported.Accounts || imported.Slots != exported.Slots ||
		imported.Storage.Leaves != int(exported.Slots) ||
		imported.AccountTrie.Leaves != int(exported.Accounts) {
		t.Errorf("%+v", imported)
	}
	runBalsa(t, "rebuild", "--datadir", b, "--verify").want(t, exitDone, "all tries built again",
		"root proven", "0 faults")
	r = runBalsa(t, "rebuild", "--datadir", b, "--json", "--storage.large-leaves", "2")
	r.want(t, exitDone)
	if r.decode(t, &imported); imported.Storage.Leaves != int(exported.Slots) {
		t.Errorf("%+v", imported)
	}
	runBalsa(t, "export", "--datadir", b, f.path("again.leaves")).want(t, exitDone)
	x, err := os.ReadFile(f.path("again.leaves"))
	if y, err2 := os.ReadFile(file); err != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Errorf("%v, %v, or the files differ", err, err2)
	}
}

func TestImportTakesAGenesisLikeInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	runBalsa(t, "import", "--datadir", dir, sampleGenesis).want(t, exitDone, "root proven")
	runBalsa(t, "init", "--datadir", dir, sampleGenesis).want(t, exitDone, "nothing was done")
	runBalsa(t, "import", "--datadir", dir, "--codes", "x", sampleGenesis).want(t, exitUsage, "codes")
	runBalsa(t, "replay", "--datadir", dir, "--to", "3", samplePayloads).
		want(t, exitDone, "3 roots proven")
}

func TestImportsThatCannotBeDone(t *testing.T) {
	f := writeDumps(t)
	snapshot, dir := f.path("snapshot.gz"), f.path("store")
	cut := f.write(t, "cut", f.snapshot[:len(f.snapshot)-1])
	text := f.write(t, "text", []byte("no state"))
	other := types.CopyHeader(f.head)
	other.Root[0]++
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no header":       {[]string{snapshot}, exitUsage, "--header"},
		"no file":         {[]string{}, exitUsage, "1 argument"},
		"missing file":    {[]string{f.path("gone")}, exitUsage, "gone"},
		"a text":          {[]string{text}, exitFailed, "neither a geth dump"},
		"a folder":        {[]string{f.dir}, exitFailed, "directory"},
		"another header":  {[]string{"--header", headerHex(t, other), snapshot}, exitVerify, "root"},
		"a file cut off":  {[]string{"--header", f.header, cut}, exitFailed, "cut off"},
		"codes of a dump": {[]string{"--header", f.header, f.path("codes")}, exitFailed, "no accounts"},
		"codes alone": {[]string{"--header", f.header, "--codes", snapshot, snapshot}, exitFailed,
			"not a file of codes"},
		"no workers": {[]string{"--storage.workers", "-1", snapshot}, exitUsage, "workers"},
	} {
		args := append([]string{"import", "--datadir", dir}, c.args...)
		t.Run(name, func(t *testing.T) { runBalsa(t, args...).want(t, c.code, c.says) })
	}
	runBalsa(t, "import", "--datadir", dir, "--header", f.header, snapshot).
		want(t, exitDone, "codes are missing")
	runBalsa(t, "verify", "--datadir", dir).want(t, exitDone)
}

// A device or a pipe is not replaced by a file, and neither is a link.
func TestExportWritesThroughWhatIsNoFile(t *testing.T) {
	store, dir := newStore(t), t.TempDir()
	plain, linked := filepath.Join(dir, "plain"), filepath.Join(dir, "linked")
	link := filepath.Join(dir, "link")
	for _, err := range []error{os.WriteFile(linked, nil, 0o600), os.Symlink(linked, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runBalsa(t, "export", "--datadir", store, plain).want(t, exitDone)
	runBalsa(t, "export", "--datadir", store, link).want(t, exitDone)
	want, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(linked)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes behind the link, want %d: %v", len(got), len(want), err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Fatalf("the link is %v, %v", st, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan []byte, 1)
	go func() {
		b, _ := os.ReadFile(pipe) // what is missing shows in the comparison
		read <- b
	}()
	runBalsa(t, "export", "--datadir", store, pipe).want(t, exitDone)
	if st, err := os.Lstat(pipe); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is %v, %v", st, err)
	}
	if got := <-read; !bytes.Equal(got, want) {
		t.Fatalf("%d bytes through the pipe, want %d", len(got), len(want))
	}
}

func TestExportLeavesNoFileWhereItFails(t *testing.T) {
	dir := t.TempDir()
	runBalsa(t, "export", "--datadir", filepath.Join(dir, "none"), filepath.Join(dir, "x")).
		want(t, exitStore)
	store := newStore(t)
	runBalsa(t, "export", "--datadir", store, filepath.Join(dir, "gone", "x")).want(t, exitUsage)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	runBalsaIn(t, ctx, nil, "export", "--datadir", store, filepath.Join(dir, "x"))
	if names, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestABuildsProgressComesEvery8Seconds(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	d := &buildDisplay{
		what: "importing", log: slog.New(slog.NewJSONHandler(&out, nil)),
		bytes: func() (int64, int64) { return 30, 60 }, now: func() time.Time { return now },
		start: now, latest: now,
	}
	for range 40 {
		now = now.Add(time.Second)
		d.update(balsa.BuildProgress{Loading: true, Accounts: 7, StorageLeaves: 16})
	}
	d.finish()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines in 40 seconds: %s", len(lines), out.String())
	}
	var line struct {
		Phase    string
		Percent  float64
		Accounts int
		PerS     float64 `json:"slots_per_s"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	// Half is loaded and nothing built: a quarter, of what is not the account trie.
	if got := fmt.Sprintf("%+v", line); got != "{Phase:loading Percent:23.8 Accounts:7 PerS:2}" {
		t.Error(got)
	}
	// All is loaded, and a quarter built: five eighths, of what is not the account trie.
	if name, share := d.phase(&balsa.BuildProgress{Share: 0.25}); name != "storage tries" ||
		share != 0.625*0.95 {
		t.Error(name, share)
	}
}
