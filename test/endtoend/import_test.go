package endtoend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// dumps are the files that geth would export at a block of a chain.
type dumps struct {
	t               *testing.T
	chain           *chaingen.Chain
	at              *types.Block
	snapshot, codes string
}

func dumpAt(t *testing.T, c *chaingen.Chain, number uint64, suffix string) *dumps {
	t.Helper()
	dir := t.TempDir()
	d := &dumps{
		t: t, chain: c, snapshot: filepath.Join(dir, "snapshot"+suffix),
		codes: filepath.Join(dir, "codes"+suffix),
	}
	var err error
	if d.at, err = c.Block(number); err != nil {
		t.Fatal(err)
	}
	for path, write := range map[string]func(io.Writer) error{
		d.snapshot: func(w io.Writer) error { return c.WriteSnapshot(w, number) },
		d.codes:    c.WriteCodes,
	} {
		if err := chaingen.WriteFile(path, write); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// source opens the files.
func (d *dumps) source() *balsa.FileSource {
	d.t.Helper()
	return openFiles(d.t, balsa.Files{
		State: d.snapshot, Header: d.at.Header(), Codes: []string{d.codes},
		ChainID: d.chain.Genesis.Config.ChainID.Uint64(),
	})
}

func openFiles(t *testing.T, f balsa.Files) *balsa.FileSource {
	t.Helper()
	src, err := balsa.OpenFiles(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// mustImport imports and opens the store.
func mustImport(t *testing.T, o balsa.Options, src balsa.Source, io balsa.ImportOptions) (
	*node, balsa.ImportResult) {
	t.Helper()
	res, err := balsa.Import(t.Context(), o, src, io)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, opts: o}
	n.open()
	t.Cleanup(n.close)
	return n, res
}

// inMemory are the options of a store in memory whose tries are built in small pieces.
func inMemory() balsa.Options {
	return balsa.Options{
		Dir: "node", FS: state.MemFS(), Workers: 2,
		Storage: balsa.StorageOptions{Workers: 2, SegmentAccounts: 8, BatchAccounts: 3},
	}
}

// smallChunks has a small state loaded in several pieces.
var smallChunks = balsa.ImportOptions{ChunkRows: 40}

// A dump of any block gives that block's root, the state that go-ethereum has there, and a store
// that the next blocks can be applied to.
func TestADumpOfGethIsImportedToGethsState(t *testing.T) {
	for _, family := range chaingen.FamilyNames() {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			c := generate(t, family, 17, 6, unlessRace(30, 10))
			for i, number := range []uint64{0, 3, 6} {
				d := dumpAt(t, c, number, []string{"", ".gz"}[i%2])
				n, res := mustImport(t, inMemory(), d.source(), smallChunks)
				if res.Cursor.Root != d.at.Root() || n.engine.Cursor() != res.Cursor {
					t.Fatalf("block %d: the cursor is %v", number, res.Cursor)
				}
				if res.CodesMissing+res.OrphanAccounts+res.Corrected > 0 {
					t.Fatalf("block %d: %+v", number, res)
				}
				want, err := chaingen.Reference(c).At(number)
				if err != nil {
					t.Fatal(err)
				}
				n.compare(want)
				n.apply(c.Blocks[number:]...)
				n.verify()
				n.close()
			}
		})
	}
}

// A store that was exported and imported has the same rows, and gives the same file.
func TestAnExportIsImportedToTheSameRowsAndTheSameBytes(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 18, 12, 20)
	n := newNode(t, c, 2)
	n.apply(c.Blocks...)
	n.close()
	var files [2]bytes.Buffer
	export := func(o balsa.Options, to *bytes.Buffer) {
		t.Helper()
		if _, err := balsa.Export(t.Context(), o, to, nil); err != nil {
			t.Fatal(err)
		}
	}
	export(n.opts, &files[0])
	src := openFiles(t, balsa.Files{State: "-", Stdin: bytes.NewReader(files[0].Bytes())})
	m, res := mustImport(t, inMemory(), src, smallChunks)
	if res.CodesMissing > 0 {
		t.Fatalf("%d codes are missing", res.CodesMissing)
	}
	m.verify()
	a, b := n.rows(), m.rows()
	for _, space := range []byte("asASc") {
		sameRows(t, only(b, space), only(a, space))
	}
	m.close()
	export(m.opts, &files[1])
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Fatalf("%d bytes, then %d other ones", files[0].Len(), files[1].Len())
	}
}

func TestMissingCodesAreCounted(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 19, 2, 10)
	d := dumpAt(t, c, 2, "")
	src := openFiles(t, balsa.Files{State: d.snapshot, Header: d.at.Header()})
	m, res := mustImport(t, inMemory(), src, smallChunks)
	want, err := chaingen.Reference(c).At(2)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, a := range want {
		if len(a.Code) > 0 {
			codes[string(a.Code)] = true
		}
	}
	if res.CodesMissing != uint64(len(codes)) || len(codes) == 0 {
		t.Fatalf("%d codes are missing, want %d", res.CodesMissing, len(codes))
	}
	// The state is whole but for them: that is not a fault of the store.
	report, err := m.engine.Verify(t.Context(), nil)
	if err != nil || report.MissingCodes < res.CodesMissing {
		t.Fatalf("%+v, %v", report, err)
	}
}

// With the header of another block the root is wrong, the store has nothing, and the right header
// is taken afterwards.
func TestAnImportWithAnotherHeaderLeavesNothing(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 20, 3, 10)
	d, o := dumpAt(t, c, 3, ""), inMemory()
	other := openFiles(t, balsa.Files{State: d.snapshot, Header: c.Blocks[1].Header()})
	_, err := balsa.Import(t.Context(), o, other, smallChunks)
	var wrong *balsa.WrongRootError
	if !errors.As(err, &wrong) || wrong.Got != d.at.Root() || wrong.Want != c.Blocks[1].Root() ||
		wrong.DifferingCount != 0 {
		t.Fatal(err)
	}
	if _, err := balsa.Open(t.Context(), o); !mayBuild(err) {
		t.Fatal(err)
	}
	n, _ := mustImport(t, o, d.source(), smallChunks)
	n.verify()
}

// rowsSource gives rows that were changed on their way.
type rowsSource struct {
	balsa.Source
	change func(r *balsa.Row) (keep bool)
}

func (s rowsSource) Next() (*balsa.Row, error) {
	for {
		r, err := s.Source.Next()
		if err != nil || s.change(r) {
			return r, err
		}
	}
}

func (s rowsSource) Mark() string { return "changed " + s.Source.Mark() }

// An account whose slots are not those of its storage root is named.
func TestAnImportNamesTheAccountsWhoseSlotsAreWrong(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 21, 2, 10)
	d := dumpAt(t, c, 2, "")
	dropped := false
	src := rowsSource{d.source(), nil}
	var of balsa.Row
	src.change = func(r *balsa.Row) bool {
		if r.Kind == balsa.SlotRow && !dropped {
			dropped, of = true, *r
			return false
		}
		return true
	}
	_, err := balsa.Import(t.Context(), inMemory(), src, smallChunks)
	var wrong *balsa.WrongRootError
	if !errors.As(err, &wrong) || wrong.DifferingCount != 1 || wrong.Differing[0] != of.Hash ||
		!strings.Contains(err.Error(), of.Hash.Hex()) {
		t.Fatal(err)
	}
}

// Slots of accounts that do not exist are left out, and an account whose row has another storage
// root than its slots is set right, where the state root shows it.
func TestAnImportPutsRightWhatTheRootShows(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 22, 2, 10)
	d := dumpAt(t, c, 2, "")
	plain, _ := mustImport(t, inMemory(), d.source(), smallChunks)
	src := rowsSource{d.source(), nil}
	changed := 0
	src.change = func(r *balsa.Row) bool {
		if r.Kind == balsa.AccountRow && r.Account.StorageRoot != types.EmptyRootHash {
			r.Account.StorageRoot[5]++
			changed++
		}
		return true
	}
	n, res := mustImport(t, inMemory(), src, smallChunks)
	if res.Corrected != uint64(changed) || changed == 0 {
		t.Fatalf("%d storage roots were set right, want %d", res.Corrected, changed)
	}
	sameRows(t, n.rows(), plain.rows())

	orphan := &orphanSource{Source: d.source()}
	n, res = mustImport(t, inMemory(), orphan, smallChunks)
	if res.OrphanAccounts != 1 || res.OrphanSlots != 1 {
		t.Fatalf("%+v", res)
	}
	sameRows(t, n.rows(), plain.rows())
}

// orphanSource gives a slot of an account that does not exist before the first slot.
type orphanSource struct {
	balsa.Source
	held *balsa.Row
	done bool
}

func (s *orphanSource) Next() (*balsa.Row, error) {
	if r := s.held; r != nil {
		s.held = nil
		return r, nil
	}
	r, err := s.Source.Next()
	if err == nil && r.Kind == balsa.SlotRow && !s.done {
		s.held, s.done = r, true
		return &balsa.Row{Kind: balsa.SlotRow, Value: []byte{1}}, nil
	}
	return r, err
}

// A file that is cut off leaves nothing; the whole one is taken afterwards.
func TestADamagedFileLeavesNothing(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 23, 2, 10)
	d, o := dumpAt(t, c, 2, ".gz"), inMemory()
	whole, err := chaingen.ReadFile(d.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	src := openFiles(t, balsa.Files{
		State: "-", Header: d.at.Header(), Stdin: bytes.NewReader(whole[:len(whole)-1]),
	})
	if _, err := balsa.Import(t.Context(), o, src, smallChunks); !errors.Is(err, balsa.ErrInput) {
		t.Fatal(err)
	}
	if _, err := balsa.Open(t.Context(), o); !mayBuild(err) {
		t.Fatal(err)
	}
	n, _ := mustImport(t, o, d.source(), smallChunks)
	n.verify()
}

// An import that is interrupted goes on, whenever that is.
func TestAnInterruptedImportGoesOn(t *testing.T) {
	t.Parallel()
	c := generate(t, "mix", 24, 2, 20)
	d := dumpAt(t, c, 2, "")
	plain, _ := mustImport(t, inMemory(), d.source(), smallChunks)
	want := plain.rows()
	for stop := 1; ; stop += unlessRace(31, 100) {
		o, told := inMemory(), 0
		ctx, cancel := context.WithCancel(t.Context())
		src := rowsSource{d.source(), func(*balsa.Row) bool {
			if told++; told == stop {
				cancel()
			}
			return true
		}}
		_, err := balsa.Import(ctx, o, src, smallChunks)
		cancel()
		if err == nil {
			if told < stop {
				return // it was over before
			}
			continue // the last chunk was on its way
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := balsa.Open(t.Context(), o); !mayBuild(err) {
			t.Fatal(err)
		}
		again := rowsSource{d.source(), func(*balsa.Row) bool { return true }}
		n, _ := mustImport(t, o, again, smallChunks)
		sameRows(t, n.rows(), want)
		n.close()
	}
}
