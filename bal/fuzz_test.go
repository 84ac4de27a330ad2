package bal_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/balsa-sync/balsa/bal"
)

// FuzzDecode: no bytes make Decode panic or take memory out of proportion; what it accepts is
// exactly what Encode gives back, and what go-ethereum accepts too.
//
//	go test -fuzz FuzzDecode ./bal
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x80}, uint64(0), 0)
	f.Add(bal.Empty, uint64(0), 0)
	f.Add(bal.Encode(bigList(3, 2)), uint64(60_000_000), 1)
	full := encode(f, list{row(addr(1), list{slot(1, change(0, 1), change(3, 0))},
		list{num(0), num(2)}, list{change(1, 1000)}, list{change(1, 1)},
		list{list{num(2), []byte{0xef, 1, 0}}}), row(addr(2), nil, nil, nil, nil, nil)})
	f.Add(full, uint64(10_000), 2)
	f.Fuzz(func(t *testing.T, raw []byte, gasLimit uint64, transactions int) {
		l, err := bal.Decode(raw, bal.Limits{GasLimit: gasLimit, Transactions: transactions})
		var where *bal.Error
		if err != nil && (!errors.As(err, &where) || where.Rule == nil || err.Error() == "") {
			t.Fatalf("%x: an error without a rule: %v", raw, err)
		}
		// go-ethereum has no "unknown", and adds 1 to the number in an int.
		if known := transactions >= 0 && transactions < 1<<40; known {
			if _, want := gethDecode(raw, gasLimit, transactions); (err == nil) != (want == nil) {
				t.Fatalf("%x: %v, go-ethereum: %v", raw, err, want)
			}
		}
		if err != nil {
			return
		}
		if again := bal.Encode(l); !bytes.Equal(again, raw) {
			t.Fatalf("%x encodes to %x", raw, again)
		}
		if n := memory(l); n > memoryFactor*len(raw)+64 {
			t.Fatalf("%d bytes decode to %d", len(raw), n)
		}
		if post := l.PostState(); len(post) > len(l.Accounts) {
			t.Fatalf("%d accounts, %d of them changed", len(l.Accounts), len(post))
		}
	})
}
