package flatfile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// entry is a row as tests write it.
type entry struct {
	kind       Kind
	hash, slot common.Hash
	value      []byte
}

// sampleRows gives the rows of a small state: accounts with the slots behind each, then codes.
func sampleRows(accounts int) (rows []entry) {
	rng := rand.New(rand.NewPCG(5, 0))
	word := func() (h common.Hash) {
		for i := range h {
			h[i] = byte(rng.Uint32())
		}
		return h
	}
	var codes []entry
	for i := range accounts {
		a := types.StateAccount{
			Nonce: rng.Uint64() >> rng.IntN(64), Balance: uint256.NewInt(rng.Uint64()),
			Root: types.EmptyRootHash, CodeHash: types.EmptyCodeHash[:],
		}
		code := append(bytes.Repeat([]byte{byte(i)}, rng.IntN(300)), byte(i>>8), byte(i))
		if i%2 == 1 {
			a.CodeHash, a.Root = crypto.Keccak256(code), word()
			codes = append(codes, entry{Code, common.Hash(a.CodeHash), common.Hash{}, code})
		}
		hash := word()
		rows = append(rows, entry{Account, hash, common.Hash{}, types.SlimAccountRLP(a)})
	}
	slices.SortFunc(rows, byKey)
	var all []entry
	for i, r := range rows {
		all = append(all, r)
		var slots []entry
		for range i % 4 {
			v := word()
			value, _ := rlp.EncodeToBytes(common.TrimLeftZeroes(v[rng.IntN(32):]))
			slots = append(slots, entry{Slot, r.hash, word(), value})
		}
		slices.SortFunc(slots, byKey)
		all = append(all, slots...)
	}
	slices.SortFunc(codes, byKey)
	return append(all, codes...)
}

func byKey(a, b entry) int {
	return bytes.Compare(append(a.hash[:], a.slot[:]...), append(b.hash[:], b.slot[:]...))
}

func only(rows []entry, kinds ...Kind) (out []entry) {
	for _, k := range kinds {
		for _, r := range rows {
			if r.kind == k {
				out = append(out, r)
			}
		}
	}
	return out
}

// dumpBytes writes a dump the way geth does (cmd/utils, ExportChaindata).
func dumpBytes(t testing.TB, kind string, rows []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	put := func(items ...any) {
		for _, v := range items {
			if err := rlp.Encode(&out, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(&dumpHeader{Magic: dumpMagic, Kind: kind, UnixTime: 1_800_000_000})
	if kind == dumpSnapshot {
		put(byte(dumpDel), rawdb.SnapshotRootKey, []byte(nil))
	}
	for _, r := range rows {
		key := map[Kind]string{Account: "a", Slot: "o", Code: "c"}[r.kind] + string(r.hash[:])
		if r.kind == Slot {
			key += string(r.slot[:])
		}
		put(byte(dumpAdd), []byte(key), r.value)
	}
	return out.Bytes()
}

var testHeader = &types.Header{
	Number: big.NewInt(7), Difficulty: new(big.Int), Root: common.Hash{1}, Extra: []byte("x"),
}

const testChain = 1 << 40

func leavesBytes(t testing.TB, rows []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, testChain, testHeader)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		switch r.kind {
		case Account:
			err = w.Account(r.hash, r.value)
		case Slot:
			err = w.Slot(r.slot, r.value)
		case Code:
			err = w.Code(r.hash, r.value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read takes all rows of a stream.
func read(b []byte) (rows []entry, r *Reader, err error) {
	r, err = Open(Stdin, bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if err == io.EOF {
			return rows, r, nil
		}
		if err != nil {
			return rows, r, err
		}
		e := entry{row.Kind, row.Hash, common.Hash{}, bytes.Clone(row.Value)}
		if row.Kind == Slot {
			e.slot = row.Slot
		}
		rows = append(rows, e)
	}
}

func equal(a, b []entry) bool {
	return slices.EqualFunc(a, b, func(x, y entry) bool {
		return x.kind == y.kind && x.hash == y.hash && x.slot == y.slot && bytes.Equal(x.value, y.value)
	})
}

// files are the same state in each format.
func files(t *testing.T, rows []entry) map[Format]struct {
	bytes []byte
	rows  []entry
} {
	t.Helper()
	codes := make(map[common.Hash]hexutil.Bytes)
	for _, r := range only(rows, Code) {
		codes[r.hash] = r.value
	}
	text, err := json.Marshal(codes)
	if err != nil {
		t.Fatal(err)
	}
	flat := only(rows, Account, Slot)
	return map[Format]struct {
		bytes []byte
		rows  []entry
	}{
		GethSnapshot: {dumpBytes(t, dumpSnapshot, flat), flat},
		GethCode:     {dumpBytes(t, dumpCode, only(rows, Code)), only(rows, Code)},
		Leaves:       {leavesBytes(t, rows), rows},
		CodesJSON:    {text, only(rows, Code)}, // Go writes maps in order of their keys
	}
}

func TestEveryFormatGivesItsRowsAgain(t *testing.T) {
	for _, n := range []int{0, 1, 2, 300} {
		for format, f := range files(t, sampleRows(n)) {
			for _, b := range [][]byte{f.bytes, gzipped(t, f.bytes)} {
				got, r, err := read(b)
				if err != nil {
					t.Fatalf("%s of %d accounts: %v", format, n, err)
				}
				if r.Format() != format || !equal(got, f.rows) {
					t.Fatalf("%s of %d accounts: %s with %d rows, want %d", format, n, r.Format(),
						len(got), len(f.rows))
				}
				h := r.Header()
				if (h != nil) != (format == Leaves) || h != nil && h.Hash() != testHeader.Hash() {
					t.Fatalf("%s: header %v", format, h)
				}
				if (r.ChainID() == testChain) != (format == Leaves) {
					t.Fatalf("%s: chain %d", format, r.ChainID())
				}
			}
		}
	}
}

func TestAccountsAreDecoded(t *testing.T) {
	rows := only(sampleRows(20), Account)
	r, err := Open(Stdin, bytes.NewReader(dumpBytes(t, dumpSnapshot, rows)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range rows {
		row, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		a, err := types.FullAccount(want.value)
		if err != nil {
			t.Fatal(err)
		}
		if row.Account.Nonce != a.Nonce || row.Account.Balance != *a.Balance ||
			row.Account.StorageRoot != a.Root || row.Account.CodeHash != common.Hash(a.CodeHash) {
			t.Fatalf("%+v, want %+v", row.Account, a)
		}
	}
}

func TestAFileCutOffAnywhereIsTold(t *testing.T) {
	for format, f := range files(t, sampleRows(4)) {
		for i, b := range [][]byte{f.bytes, gzipped(t, f.bytes)} {
			for n := range b {
				rows, _, err := read(b[:n])
				atRow := i == 0 && (format == GethSnapshot || format == GethCode) && err == nil
				if atRow && len(rows) < len(f.rows) && equal(rows, f.rows[:len(rows)]) {
					continue // a dump has no end: the state root tells
				}
				if !errors.Is(err, ErrInput) {
					t.Fatalf("%s, %d of %d bytes: %v", format, n, len(b), err)
				}
			}
		}
	}
}

func TestAFileWithAFlippedBitIsToldOrHarmless(t *testing.T) {
	for format, f := range files(t, sampleRows(3)) {
		for i, b := range [][]byte{f.bytes, gzipped(t, f.bytes)} {
			step := 1
			if i == 1 || format != GethSnapshot { // that have checksums
				step = 9
			}
			for bit := 0; bit < 8*len(b); bit += step {
				c := bytes.Clone(b)
				c[bit/8] ^= 1 << (bit % 8)
				rows, r, err := read(c)
				if err != nil {
					if !errors.Is(err, ErrInput) {
						t.Fatalf("%s, bit %d: %v", format, bit, err)
					}
					continue
				}
				checked := i == 1 || format == Leaves || format == CodesJSON || format == GethCode
				if r.Format() == format && checked && !equal(rows, f.rows) {
					t.Fatalf("%s, bit %d: other rows", format, bit)
				}
			}
		}
	}
}

func TestLeavesAreTheSameBytesForTheSameState(t *testing.T) {
	rows := sampleRows(2000)
	if !bytes.Equal(leavesBytes(t, rows), leavesBytes(t, rows)) {
		t.Fatal("two files differ")
	}
}

func TestMarksTellFilesApart(t *testing.T) {
	dir := t.TempDir()
	mark := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Mark()
	}
	rows := sampleRows(500)
	a := leavesBytes(t, rows)
	rows[0].value = types.SlimAccountRLP(types.StateAccount{
		Balance: uint256.NewInt(12345), Root: types.EmptyRootHash, CodeHash: types.EmptyCodeHash[:],
	})
	b := leavesBytes(t, rows)
	if mark("a", a) != mark("copy", a) || mark("a", a) == mark("b", b) {
		t.Fatal("marks do not follow contents")
	}
}
