package flatfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

// Whatever a file holds, it gives rows that a state can have, in order, and then its end or an
// error about its contents.
func FuzzRead(f *testing.F) {
	rows := sampleRows(6)
	leaves := leavesBytes(f, rows)
	f.Add(leaves)
	f.Add(leaves[:len(leaves)-3])
	f.Add(dumpBytes(f, dumpSnapshot, only(rows, Account, Slot)))
	f.Add(dumpBytes(f, dumpCode, only(rows, Code)))
	f.Add([]byte(`{"0x01":"0x02"}`))
	f.Add([]byte(`["0x6000", "0x"]`))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(dumpBytes(f, dumpSnapshot, only(rows, Account, Slot))); err != nil {
		f.Fatal(err)
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, reader, err := read(file)
		if err != nil && !errors.Is(err, ErrInput) {
			t.Fatalf("the error does not wrap ErrInput: %v", err)
		}
		last := map[Kind]*entry{}
		for i := range rows {
			r := &rows[i]
			checkFuzzed(t, r)
			ordered := reader.Format() != CodesJSON // a JSON object is in any order
			if before := last[r.kind]; ordered && before != nil && byKey(*before, *r) >= 0 {
				t.Fatalf("row %d does not ascend: %x %x after %x %x", i, r.hash, r.slot,
					before.hash, before.slot)
			}
			last[r.kind] = r
		}
	})
}

// checkFuzzed checks a row by go-ethereum's means.
func checkFuzzed(t *testing.T, r *entry) {
	switch r.kind {
	case Slot:
		var word []byte
		if err := rlp.DecodeBytes(r.value, &word); err != nil || len(word) == 0 ||
			len(word) > common.HashLength || word[0] == 0 {
			t.Fatalf("slot %x of %x: %x, %v", r.slot, r.hash, r.value, err)
		}
	case Code:
		if crypto.Keccak256Hash(r.value) != r.hash {
			t.Fatalf("code %x: %x", r.hash, r.value)
		}
	case Account:
	default:
		t.Fatalf("a row of kind %d", r.kind)
	}
}
