package state

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

func randomAccount(r *rand.Rand) Account {
	a := NewAccount()
	a.Nonce = []uint64{0, 1, 0x7f, 0x80, 0xff, 0x100, 1<<64 - 1, r.Uint64()}[r.Intn(8)]
	var b [32]byte
	r.Read(b[r.Intn(33):])
	a.Balance.SetBytes32(b[:])
	if r.Intn(2) == 0 {
		r.Read(a.StorageRoot[:])
	}
	if r.Intn(2) == 0 {
		r.Read(a.CodeHash[:])
	}
	return a
}

func TestAccountEncodingsAreThoseOfGoEthereum(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 5000 {
		a := randomAccount(r)
		g := types.StateAccount{Nonce: a.Nonce, Balance: &a.Balance, Root: a.StorageRoot,
			CodeHash: a.CodeHash[:]}
		slim, full := types.SlimAccountRLP(g), mustRLP(t, &g)
		if got := a.AppendSlim(nil); !bytes.Equal(got, slim) {
			t.Fatalf("slim %x, want %x", got, slim)
		}
		if got := a.AppendFull([]byte{1})[1:]; !bytes.Equal(got, full) {
			t.Fatalf("full %x, want %x", got, full)
		}
		if got, err := DecodeSlim(slim); err != nil || got != a {
			t.Fatalf("slim %x: %+v, %v", slim, got, err)
		}
		if got, err := DecodeFull(full); err != nil || got != a {
			t.Fatalf("full %x: %+v, %v", full, got, err)
		}
	}
}

func TestNewAccountIsEmpty(t *testing.T) {
	a := NewAccount()
	if !a.IsEmpty() || common.Hash(types.EmptyCodeHash) != EmptyCodeHash ||
		a.StorageRoot != types.EmptyRootHash {
		t.Fatalf("%+v", a)
	}
	for name, change := range map[string]func(*Account){
		"nonce":   func(a *Account) { a.Nonce = 1 },
		"balance": func(a *Account) { a.Balance = *uint256.NewInt(1) },
		"code":    func(a *Account) { a.CodeHash = common.Hash{} },
	} {
		b := a
		if change(&b); b.IsEmpty() {
			t.Errorf("%s does not count", name)
		}
	}
	a.StorageRoot = common.Hash{1}
	if !a.IsEmpty() {
		t.Error("EIP-161 does not look at storage")
	}
}

func TestAccountDecodersRefuseOtherEncodings(t *testing.T) {
	h := func(lead string, h common.Hash) string { return lead + string(h[:]) }
	root, code := h("\xa0", trie.EmptyRoot), h("\xa0", EmptyCodeHash)
	for name, b := range map[string]string{
		"nothing":                  "",
		"a string":                 "\x84\x80\x80\x80\x80",
		"a list too short":         "\xc3\x80\x80\x80",
		"a list too long":          "\xc5\x80\x80\x80\x80\x80",
		"bytes behind":             "\xc4\x80\x80\x80\x80\x80",
		"nonce with leading zero":  "\xc4\x00\x80\x80\x80",
		"nonce of nine bytes":      "\xcd\x89\x01\x02\x03\x04\x05\x06\x07\x08\x09\x80\x80\x80",
		"short nonce as string":    "\xc5\x81\x01\x80\x80\x80",
		"balance leading zero":     "\xc6\x80\x82\x00\x01\x80\x80",
		"balance a list":           "\xc4\x80\xc0\x80\x80",
		"root of the empty trie":   "\xe4\x80\x80" + root + "\x80",
		"hash of the empty code":   "\xe4\x80\x80\x80" + code,
		"root cut off":             "\xc4\x80\x80\xa0\x80",
		"long form of a short":     "\xf8\x04\x80\x80\x80\x80",
		"header alone":             "\xf8",
		"long list of wrong bytes": "\xf8\x40\x80\x80" + root,
	} {
		if _, err := DecodeSlim([]byte(b)); !errors.Is(err, ErrBadAccount) {
			t.Errorf("slim, %s: %v", name, err)
		}
		if _, err := DecodeFull([]byte(b)); !errors.Is(err, ErrBadAccount) {
			t.Errorf("full, %s: %v", name, err)
		}
	}
	if _, err := DecodeFull([]byte("\xf8\x44\x80\x80" + root + code)); err != nil {
		t.Errorf("the empty account: %v", err)
	}
}

func FuzzDecodeSlim(f *testing.F) {
	r := rand.New(rand.NewSource(1))
	for range 20 {
		a := randomAccount(r)
		f.Add(a.AppendSlim(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g, gethErr := types.FullAccount(b)
		a, err := DecodeSlim(b)
		if err != nil {
			// What go-ethereum would write itself of a real account must be accepted.
			if gethErr == nil && len(g.CodeHash) == 32 && bytes.Equal(types.SlimAccountRLP(*g), b) {
				t.Fatalf("%x refused: %v", b, err)
			}
			return
		}
		if gethErr != nil || g.Nonce != a.Nonce || !g.Balance.Eq(&a.Balance) ||
			g.Root != a.StorageRoot || common.Hash(g.CodeHash) != a.CodeHash {
			t.Fatalf("%x: %+v; go-ethereum %+v, %v", b, a, g, gethErr)
		}
		if again := a.AppendSlim(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x encodes as %x", b, again)
		}
	})
}

func FuzzDecodeFull(f *testing.F) {
	r := rand.New(rand.NewSource(1))
	for range 20 {
		a := randomAccount(r)
		f.Add(a.AppendFull(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeFull(b)
		if err == nil {
			if again := a.AppendFull(nil); !bytes.Equal(again, b) {
				t.Fatalf("%x encodes as %x", b, again)
			}
		}
	})
}
