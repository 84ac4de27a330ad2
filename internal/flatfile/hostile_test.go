package flatfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/rlp"
)

func TestRowsThatAreNoneAreRefused(t *testing.T) {
	rows := only(sampleRows(5), Account, Slot)
	accounts, slots := only(rows, Account), only(rows, Slot)
	swap := func(rows []entry, i, j int) []entry {
		rows = slices.Clone(rows)
		rows[i], rows[j] = rows[j], rows[i]
		return rows
	}
	with := func(e entry, value ...byte) []entry { e.value = value; return []entry{e} }
	code := entry{kind: Code, value: []byte{1}}
	for name, c := range map[string]struct {
		rows []entry
		want error
	}{
		"accounts out of order":    {swap(accounts, 0, 1), ErrOrder},
		"an account twice":         {[]entry{accounts[0], accounts[0]}, ErrDuplicate},
		"slots out of order":       {swap(slots, 0, 1), ErrOrder},
		"a slot twice":             {[]entry{slots[0], slots[0]}, ErrDuplicate},
		"an account behind slots":  {[]entry{accounts[0], slots[0], accounts[1]}, ErrOrder},
		"a zero slot, empty":       {with(slots[0]), ErrRow},
		"a zero slot, 00":          {with(slots[0], 0), ErrRow},
		"a zero slot, 80":          {with(slots[0], 0x80), ErrRow},
		"a slot with leading zero": {with(slots[0], 0x82, 0, 1), ErrRow},
		"a slot of a list":         {with(slots[0], 0xc1, 1), ErrRow},
		"a slot of two items":      {with(slots[0], 1, 1), ErrRow},
		"a slot of 33 bytes": {with(slots[0], append([]byte{0xa1}, make([]byte, 33)...)...),
			ErrRow},
		"an account of nothing":     {with(accounts[0]), ErrRow},
		"an account of three items": {with(accounts[0], 0xc3, 1, 1, 0x80), ErrRow},
		"an account and a byte": {with(accounts[0], append(bytes.Clone(accounts[0].value), 0)...),
			ErrRow},
		"a code in a snapshot": {[]entry{code}, ErrRow},
	} {
		if _, _, err := read(dumpBytes(t, dumpSnapshot, c.rows)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := read(dumpBytes(t, dumpCode, []entry{code})); !errors.Is(err, ErrRow) {
		t.Errorf("a code with another hash: %v", err)
	}
	if _, _, err := read(dumpBytes(t, dumpCode, accounts)); !errors.Is(err, ErrRow) {
		t.Errorf("accounts in a dump of codes: %v", err)
	}
}

func rlpBytes(t *testing.T, items ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, v := range items {
		if err := rlp.Encode(&out, v); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestDumpsThatAreNoneAreRefused(t *testing.T) {
	head := rlpBytes(t, &dumpHeader{Magic: dumpMagic, Kind: dumpSnapshot})
	del := rlpBytes(t, byte(dumpDel), rawdb.SnapshotRootKey, []byte(nil))
	huge := append([]byte{0xbf}, bytes.Repeat([]byte{0xff}, 8)...)
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"nothing": {nil, ErrFormat},
		"text":    {[]byte("a text"), ErrFormat},
		"another version": {rlpBytes(t, &dumpHeader{dumpMagic, 1, dumpSnapshot, 0}),
			ErrVersion},
		"preimages": {rlpBytes(t, &dumpHeader{dumpMagic, 0, "preimage", 0}), ErrFormat},
		"no deletion": {slices.Concat(head, rlpBytes(t, byte(0), []byte("a"), []byte("b"))),
			ErrRow},
		"another deletion": {slices.Concat(head, rlpBytes(t, byte(1), []byte("a"), []byte(nil))),
			ErrRow},
		"deletion of value": {slices.Concat(head, rlpBytes(t, byte(1), rawdb.SnapshotRootKey, []byte{1})),
			ErrRow},
		"a second deletion": {slices.Concat(head, del, del), ErrRow},
		"operation 2":       {slices.Concat(head, del, []byte{2}), ErrRow},
		"a list":            {slices.Concat(head, del, []byte{0xc0}), ErrRow},
		"a huge key":        {slices.Concat(head, del, []byte{0x80}, huge), ErrRow},
		"long form":         {slices.Concat(head, del, []byte{0x80, 0xb8, 33}), ErrRow},
		"one byte, long":    {slices.Concat(head, del, []byte{0x80, 0x81, 'a'}), ErrRow},
		"leading zero":      {slices.Concat(head, del, []byte{0x80, 0xb9, 0, 65}), ErrRow},
		"a strange key": {slices.Concat(head, del, rlpBytes(t, byte(0), []byte("A"), []byte("b"))),
			ErrRow},
		"a huge account": {slices.Concat(head, del, []byte{0x80, 0xa1, 'a'}, make([]byte, 32),
			[]byte{0xbb, 0xff, 0xff, 0xff, 0xff}), ErrRow},
	} {
		if _, _, err := read(c.bytes); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rawLeaves writes records as they are, with a right end.
func rawLeaves(t *testing.T, counts Counts, records ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, 1, testHeader)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range records {
		if err := w.write(b); err != nil {
			t.Fatal(err)
		}
	}
	w.counts = counts
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func record(kind byte, key common.Hash, value []byte) []byte {
	return slices.Concat([]byte{kind}, key[:], []byte{byte(len(value))}, value)
}

func TestLeavesThatAreNoneAreRefused(t *testing.T) {
	rows := sampleRows(4)
	a := only(rows, Account)
	one := record(recordAccount, a[0].hash, a[0].value)
	two := record(recordAccount, a[1].hash, a[1].value)
	slot := func(n byte, value ...byte) []byte { return record(recordSlot, common.Hash{n}, value) }
	code := func(n uint32, b ...byte) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{recordCode}, n), b...)
	}
	good := rawLeaves(t, Counts{1, 1, 0}, one, slot(1, 1))
	if _, _, err := read(good); err != nil {
		t.Fatal(err)
	}
	later := bytes.Clone(good)
	later[leavesVersionAt]++
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"a slot before an account": {rawLeaves(t, Counts{0, 1, 0}, slot(1, 1)), ErrRow},
		"accounts out of order":    {rawLeaves(t, Counts{2, 0, 0}, two, one), ErrOrder},
		"an account twice":         {rawLeaves(t, Counts{2, 0, 0}, one, one), ErrDuplicate},
		"slots out of order": {rawLeaves(t, Counts{1, 2, 0}, one, slot(2, 1), slot(1, 1)),
			ErrOrder},
		"a slot twice": {rawLeaves(t, Counts{1, 2, 0}, one, slot(1, 1), slot(1, 1)),
			ErrDuplicate},
		"a zero slot": {rawLeaves(t, Counts{1, 1, 0}, one, slot(1, 0x80)),
			ErrRow},
		"an account behind a code": {rawLeaves(t, Counts{1, 0, 1}, code(1, 7), one),
			ErrOrder},
		"a code twice": {rawLeaves(t, Counts{0, 0, 2}, code(1, 7), code(1, 7)),
			ErrDuplicate},
		"an empty code": {rawLeaves(t, Counts{0, 0, 1}, code(0)), ErrRow},
		"a huge code":   {rawLeaves(t, Counts{0, 0, 1}, code(1<<32-1)), ErrRow},
		"a code longer than the file": {rawLeaves(t, Counts{0, 0, 1}, code(MaxCode, 1)),
			ErrTruncated},
		"another kind":             {rawLeaves(t, Counts{}, []byte("X")), ErrRow},
		"a second header":          {rawLeaves(t, Counts{}, []byte("H")), ErrRow},
		"a wrong count":            {rawLeaves(t, Counts{2, 0, 0}, one), ErrDamaged},
		"something behind the end": {append(bytes.Clone(good), 1), ErrInput},
		"the file twice":           {append(bytes.Clone(good), good...), ErrDamaged},
		"a later version":          {later, ErrVersion},
	} {
		if _, _, err := read(c.bytes); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCodesThatAreNoneAreRefused(t *testing.T) {
	one := `"0x5fe7f977e71dba2ea1a68e21057beebb9be2ac30c6410aa38d4f3fbe41dcffd2":"0x01"`
	for text, want := range map[string]error{
		`{` + one + `}`: nil, `{ ` + one + "\n}\n": nil, `{}`: nil,
		`{` + one: ErrTruncated, `{` + one + `,`: ErrTruncated, `{` + one + `}x`: ErrRow,
		`{` + one + `,}`: ErrRow, `{,` + one + `}`: ErrRow, `{"0x01":"0x01"}`: ErrRow,
		`{` + one[:68] + `:"0x02"}`: ErrRow, `{` + one[:68] + `:"0x0"}`: ErrRow,
		`{` + one[:68] + `:""}`: ErrRow, `{` + one[:68] + `:1}`: ErrRow, `[` + one + `]`: ErrFormat,
		`{` + one[:68] + `:"zz"}`: ErrRow, `{` + one + ` ` + one + `}`: ErrRow,
	} {
		if _, _, err := read([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWritersRefuseWhatReadersWould(t *testing.T) {
	rows := sampleRows(4)
	a := only(rows, Account)
	for name, c := range map[string]struct {
		write func(w *Writer) error
		want  error
	}{
		"a slot first": {func(w *Writer) error { return w.Slot(common.Hash{}, []byte{1}) },
			ErrRow},
		"order": {func(w *Writer) error {
			return errors.Join(w.Account(a[1].hash, a[1].value), w.Account(a[0].hash, a[0].value))
		}, ErrOrder},
		"a zero slot": {func(w *Writer) error {
			return errors.Join(w.Account(a[0].hash, a[0].value), w.Slot(common.Hash{}, []byte{0x80}))
		}, ErrRow},
		"a code of another hash": {func(w *Writer) error {
			return w.Code(common.Hash{}, []byte{1})
		}, ErrRow},
		"an account behind a code": {func(w *Writer) error {
			c := only(rows, Code)[0]
			return errors.Join(w.Code(c.hash, c.value), w.Account(a[0].hash, a[0].value))
		}, ErrOrder},
	} {
		w, err := NewWriter(io.Discard, 1, testHeader)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.write(w); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zeros is a stream of n zero bytes behind a start.
type zeros struct {
	start io.Reader
	n     int64
}

func (z *zeros) Read(p []byte) (int, error) {
	if n, err := z.start.Read(p); n > 0 || err != io.EOF {
		return n, nil
	}
	if z.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), z.n)]
	clear(p)
	z.n -= int64(len(p))
	return len(p), nil
}

func TestArchivesThatUnpackToMuchCostLittle(t *testing.T) {
	const size = 64 << 20
	head := rlpBytes(t, &dumpHeader{Magic: dumpMagic, Kind: dumpSnapshot}, byte(dumpDel),
		rawdb.SnapshotRootKey, []byte(nil))
	codes := `{"0x5fe7f977e71dba2ea1a68e21057beebb9be2ac30c6410aa38d4f3fbe41dcffd2":"`
	for name, start := range map[string]string{
		"zeros behind a dump": string(head), "nothing but zeros": "",
		"a string without end": codes + strings.Repeat("0", 100),
	} {
		var bomb bytes.Buffer
		z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(z, &zeros{strings.NewReader(start), size}); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err = read(bomb.Bytes())
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s: %d bytes of memory", name, took)
		}
	}
}

// failing gives an error of its own after n bytes.
type failing struct {
	r   io.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

func TestAnErrorOfTheDiskIsNotTheFilesFault(t *testing.T) {
	boom := errors.New("boom")
	for format, f := range files(t, sampleRows(300)) {
		for _, b := range [][]byte{f.bytes, gzipped(t, f.bytes)} {
			r, err := Open(Stdin, failing{bytes.NewReader(b[:len(b)-9]), boom})
			for err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, boom) || errors.Is(err, ErrInput) {
				t.Errorf("%s: %v", format, err)
			}
		}
	}
}
