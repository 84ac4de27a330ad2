package bal_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	gethbal "github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// gethDecode is go-ethereum's verdict on the bytes: its decoder, then its validation.
func gethDecode(raw []byte, gasLimit uint64, transactions int) (*gethbal.BlockAccessList, error) {
	var l gethbal.BlockAccessList
	if err := rlp.DecodeBytes(raw, &l); err != nil {
		return nil, err
	}
	return &l, l.Validate(gasLimit, transactions)
}

// same says where the two lists differ, "" if they do not.
func same(l *bal.AccessList, g *gethbal.BlockAccessList) string {
	if len(l.Accounts) != len(*g) {
		return fmt.Sprintf("%d accounts, %d", len(l.Accounts), len(*g))
	}
	for i := range l.Accounts {
		a, b := &l.Accounts[i], &(*g)[i]
		if a.Address != b.Address || len(a.StorageChanges) != len(b.StorageChanges) ||
			len(a.StorageReads) != len(b.StorageReads) ||
			len(a.BalanceChanges) != len(b.BalanceChanges) ||
			len(a.NonceChanges) != len(b.NonceChanges) || len(a.CodeChanges) != len(b.CodeChanges) {
			return fmt.Sprintf("account %d: %+v, %+v", i, a, b)
		}
		for j, s := range a.StorageChanges {
			if s.Slot != b.StorageChanges[j].Slot.Bytes32() ||
				len(s.Changes) != len(b.StorageChanges[j].SlotChanges) {
				return fmt.Sprintf("account %d slot %d", i, j)
			}
			for k, c := range s.Changes {
				d := b.StorageChanges[j].SlotChanges[k]
				if c.Index != d.BlockAccessIndex || c.Value != d.PostValue.Bytes32() {
					return fmt.Sprintf("account %d slot %d change %d", i, j, k)
				}
			}
		}
		for j, s := range a.StorageReads {
			if s != b.StorageReads[j].Bytes32() {
				return fmt.Sprintf("account %d read %d", i, j)
			}
		}
		for j, c := range a.BalanceChanges {
			d := b.BalanceChanges[j]
			if c.Index != d.BlockAccessIndex || !c.Balance.Eq(d.PostBalance) {
				return fmt.Sprintf("account %d balance %d", i, j)
			}
		}
		for j, c := range a.NonceChanges {
			if d := b.NonceChanges[j]; c.Index != d.BlockAccessIndex || c.Nonce != d.PostNonce {
				return fmt.Sprintf("account %d nonce %d", i, j)
			}
		}
		for j, c := range a.CodeChanges {
			d := b.CodeChanges[j]
			if c.Index != d.BlockAccessIndex || !bytes.Equal(c.Code, d.NewCode) {
				return fmt.Sprintf("account %d code %d", i, j)
			}
		}
	}
	return ""
}

// randomNumber is an integer of a random number of bytes, often a small one.
func randomNumber(r *rand.Rand) (h common.Hash) {
	if r.Intn(2) == 0 {
		h[31] = byte(r.Intn(4))
		return h
	}
	r.Read(h[r.Intn(33):])
	return h
}

// randomList records random accesses with go-ethereum's own builder.
func randomList(r *rand.Rand, transactions int) *gethbal.BlockAccessList {
	b := gethbal.NewConstructionBlockAccessList()
	accounts := make([]common.Address, 1+r.Intn(6))
	for i := range accounts {
		r.Read(accounts[i][r.Intn(20):])
	}
	for range r.Intn(40) {
		a := accounts[r.Intn(len(accounts))]
		index := uint32(r.Intn(transactions + 2))
		v := randomNumber(r)
		switch r.Intn(6) {
		case 0:
			b.AccountRead(a)
		case 1:
			b.StorageRead(a, randomNumber(r))
		case 2:
			b.StorageWrite(index, a, randomNumber(r), v)
		case 3:
			b.BalanceChange(index, a, new(uint256.Int).SetBytes32(v[:]))
		case 4:
			b.NonceChange(a, index, uint256.NewInt(0).SetBytes32(v[:]).Uint64())
		case 5:
			b.CodeChange(a, index, v[:r.Intn(33)])
		}
	}
	return b.ToEncodingObj()
}

const gethGasLimit = 60_000_000

func TestListsOfGoEthereumsBuilderDecodeToTheSame(t *testing.T) {
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		transactions := r.Intn(200)
		g := randomList(r, transactions)
		raw := encode(t, g)
		if err := g.Validate(gethGasLimit, transactions); err != nil {
			t.Fatalf("seed %d: go-ethereum refuses its own list: %v", seed, err)
		}
		l, err := bal.Decode(raw, bal.Limits{GasLimit: gethGasLimit, Transactions: transactions})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := same(l, g); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if !bytes.Equal(bal.Encode(l), raw) || bal.Hash(raw) != g.Hash() {
			t.Fatalf("seed %d: other bytes or another hash", seed)
		}
	}
}

// spoil breaks, or does not, some rule of a valid list: it swaps, doubles, drops or alters rows
// and entries.
func spoil(r *rand.Rand, g gethbal.BlockAccessList) gethbal.BlockAccessList {
	if len(g) == 0 {
		return g
	}
	a := &g[r.Intn(len(g))]
	switch r.Intn(9) {
	case 0:
		i, j := r.Intn(len(g)), r.Intn(len(g))
		g[i], g[j] = g[j], g[i]
	case 1:
		g = append(g, g[r.Intn(len(g))])
	case 2:
		a.StorageChanges = shuffleOrDouble(r, a.StorageChanges)
	case 3:
		a.StorageReads = shuffleOrDouble(r, a.StorageReads)
	case 4:
		a.BalanceChanges = shuffleOrDouble(r, a.BalanceChanges)
	case 5:
		a.NonceChanges = shuffleOrDouble(r, a.NonceChanges)
	case 6:
		a.CodeChanges = shuffleOrDouble(r, a.CodeChanges)
	case 7:
		if n := len(a.StorageChanges); n > 0 {
			s := &a.StorageChanges[r.Intn(n)]
			if s.SlotChanges = shuffleOrDouble(r, s.SlotChanges); r.Intn(4) == 0 {
				s.SlotChanges = nil
			}
			if r.Intn(2) == 0 {
				a.StorageReads = append(a.StorageReads, s.Slot)
			}
		}
	case 8:
		if n := len(a.NonceChanges); n > 0 {
			a.NonceChanges[r.Intn(n)].BlockAccessIndex = uint32(r.Intn(300))
		}
	}
	return g
}

func shuffleOrDouble[T any](r *rand.Rand, s []T) []T {
	if len(s) == 0 {
		return s
	}
	if r.Intn(2) == 0 {
		return append(s, s[r.Intn(len(s))])
	}
	r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

func TestSpoiledListsAreRefusedWhereGoEthereumRefusesThem(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range int64(4000) {
		r := rand.New(rand.NewSource(seed))
		transactions := r.Intn(20)
		g := spoil(r, *randomList(r, transactions))
		gas := uint64(gethGasLimit)
		if r.Intn(4) == 0 {
			gas = uint64(r.Intn(40)) * bal.ItemCost
		}
		_, want := gethDecode(encode(t, g), gas, transactions)
		_, err := bal.Decode(encode(t, g), bal.Limits{GasLimit: gas, Transactions: transactions})
		if (err == nil) != (want == nil) {
			t.Fatalf("seed %d: %v, go-ethereum: %v", seed, err, want)
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 500 || refused < 500 {
		t.Errorf("%d accepted and %d refused: the test has lost its point", accepted, refused)
	}
}

// mutate changes, inserts or removes a few bytes.
func mutate(r *rand.Rand, raw []byte) []byte {
	raw = bytes.Clone(raw)
	for range 1 + r.Intn(2) {
		i := r.Intn(len(raw))
		switch r.Intn(5) {
		case 0:
			raw[i] = byte(r.Intn(256))
		case 1:
			raw[i]++
		case 2:
			raw[i] ^= 1 << r.Intn(8)
		case 3:
			raw = append(raw[:i], append([]byte{byte(r.Intn(256))}, raw[i:]...)...)
		case 4:
			if len(raw) > 1 {
				raw = append(raw[:i], raw[i+1:]...)
			}
		}
	}
	return raw
}

func TestMutatedBytesGetGoEthereumsVerdict(t *testing.T) {
	accepted := 0
	for seed := range int64(15_000) {
		r := rand.New(rand.NewSource(seed))
		transactions := r.Intn(20)
		raw := mutate(r, encode(t, randomList(r, transactions)))
		g, want := gethDecode(raw, gethGasLimit, transactions)
		l, err := bal.Decode(raw, bal.Limits{GasLimit: gethGasLimit, Transactions: transactions})
		if (err == nil) != (want == nil) {
			t.Fatalf("seed %d: %x: %v, go-ethereum: %v", seed, raw, err, want)
		}
		if err != nil {
			continue
		}
		accepted++
		if diff := same(l, g); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if !bytes.Equal(bal.Encode(l), raw) || !bytes.Equal(encode(t, g), raw) {
			t.Fatalf("seed %d: %x is not the encoding of what it decodes to", seed, raw)
		}
	}
	if accepted < 400 {
		t.Errorf("%d accepted: the test has lost its point", accepted)
	}
}
