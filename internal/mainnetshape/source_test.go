package mainnetshape_test

import (
	"errors"
	"io"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
)

func TestSourceHasAllRows(t *testing.T) {
	shape, err := mainnetshape.Mainnet(1. / 50_000)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mainnetshape.New(shape)
	if err != nil {
		t.Fatal(err)
	}
	src := s.Source(mainnetshape.Header(common.Hash{1}))
	codes := map[common.Hash]bool{}
	var accounts, slots, storage uint64
	var last common.Hash
	for {
		r, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case balsa.CodeRow:
			codes[r.Hash] = true
		case balsa.AccountRow:
			accounts++
			last = r.Hash
			if r.Account.StorageRoot == balsa.UnknownRoot {
				storage++
			}
		case balsa.SlotRow:
			if slots++; r.Hash != last {
				t.Fatalf("a slot of %v behind account %v", r.Hash, last)
			}
		}
	}
	if accounts != s.Accounts() || slots != s.Slots() || storage != s.StorageAccounts() ||
		len(codes) != len(s.Codes()) {
		t.Errorf("%d accounts, %d with storage, %d slots, %d codes", accounts, storage, slots,
			len(codes))
	}
	if id, h := src.Target(); id != mainnetshape.ChainID || h.Root != (common.Hash{1}) {
		t.Errorf("target %d, %v", id, h)
	}
}

// What a generated state imports to is proven by its root, which is that of StackTries.
func TestStateImports(t *testing.T) {
	shape, err := mainnetshape.Mainnet(1. / 50_000)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mainnetshape.New(shape)
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	res, err := balsa.Import(t.Context(), balsa.Options{Dir: t.TempDir()},
		s.Source(mainnetshape.Header(root)), balsa.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Cursor.Root != root || res.Accounts != s.Accounts() || res.Slots != s.Slots() ||
		res.CodesMissing != 0 || res.Storage.Leaves != int(s.Slots()) {
		t.Errorf("%+v", res)
	}
}
