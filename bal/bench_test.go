package bal_test

import (
	"testing"

	"github.com/balsa-sync/balsa/bal"
	gethbal "github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/rlp"
)

// BenchmarkDecode: 1,000 accounts with a balance and two slots each, 44 KB. Beside it
// go-ethereum's decoder and validation on the same bytes.
//
//	go test -bench Decode ./bal
func BenchmarkDecode(b *testing.B) {
	raw := bal.Encode(bigList(1000, 2))
	limits := bal.Limits{GasLimit: gethGasLimit, Transactions: 10}
	b.Run("balsa", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bal.Decode(raw, limits); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("geth", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			var l gethbal.BlockAccessList
			if err := rlp.DecodeBytes(raw, &l); err != nil {
				b.Fatal(err)
			}
			if err := l.Validate(gethGasLimit, 10); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPostState(b *testing.B) {
	l := bigList(1000, 2)
	b.ReportAllocs()
	for b.Loop() {
		if len(l.PostState()) != 1000 {
			b.Fatal("accounts are missing")
		}
	}
}
