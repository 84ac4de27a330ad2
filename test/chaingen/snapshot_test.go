package chaingen

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

// The dump has the accounts of go-ethereum's own state, and each code.
func TestASnapshotHasTheStatesAccounts(t *testing.T) {
	c, err := Generate(Config{Family: "mix", Seed: 3, Blocks: 4, Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.WriteSnapshot(&out, 4); err != nil {
		t.Fatal(err)
	}
	want, err := Reference(c).At(4)
	if err != nil {
		t.Fatal(err)
	}
	accounts, slots := map[common.Hash]bool{}, 0
	s := rlp.NewStream(&out, 0)
	if _, err := s.Raw(); err != nil {
		t.Fatal(err)
	}
	for i := 0; out.Len() > 0; i++ {
		var op byte
		var key, value []byte
		for _, v := range []any{&op, &key, &value} {
			if err := s.Decode(v); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case i == 0 && op == 1 && string(key) == "SnapshotRoot":
		case op == 0 && len(key) == 33 && key[0] == 'a':
			accounts[common.Hash(key[1:])] = true
		case op == 0 && len(key) == 65 && key[0] == 'o':
			slots++
		default:
			t.Fatalf("entry %d: %d %x", i, op, key)
		}
	}
	for addr, a := range want {
		if !accounts[crypto.Keccak256Hash(addr[:])] {
			t.Errorf("account %s is missing", addr)
		}
		slots -= len(a.Storage)
	}
	if len(accounts) != len(want) || slots != 0 {
		t.Errorf("%d accounts of %d, %d slots too many", len(accounts), len(want), slots)
	}
}
