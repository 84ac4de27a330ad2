package bal_test

import (
	"reflect"
	"testing"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func TestPostStateIsTheLastValueOfEachField(t *testing.T) {
	nonce := func(n uint64) *uint64 { return &n }
	a1 := common.HexToAddress("0x1")
	slots := func(pairs ...uint64) (s []bal.PostSlot) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, bal.PostSlot{Slot: common.BigToHash(uint256.NewInt(pairs[i]).ToBig()),
				Value: common.BigToHash(uint256.NewInt(pairs[i+1]).ToBig())})
		}
		return s
	}
	code := []byte{0xef, 0x01, 0x00, 0xaa}
	for _, c := range []struct {
		name string
		row  list
		want []bal.PostAccount
	}{
		{"created and drained: a balance of zero, which is not no balance",
			row(addr(1), nil, nil, list{change(1, 5), change(2, 0)}, nil, nil),
			[]bal.PostAccount{{Address: a1, Balance: new(uint256.Int)}}},
		{"looked at: nothing", row(addr(1), nil, nil, nil, nil, nil), []bal.PostAccount{}},
		{"read, or written without effect: nothing",
			row(addr(1), nil, list{num(1), num(2)}, nil, nil, nil), []bal.PostAccount{}},
		{"a slot that ends where it began",
			row(addr(1), list{slot(7, change(0, 2), change(9, 1))}, nil, nil, nil, nil),
			[]bal.PostAccount{{Address: a1, Slots: slots(7, 1)}}},
		{"slots set, overwritten and cleared",
			row(addr(1), list{slot(0, change(1, 0)), slot(1, change(1, 3)),
				slot(2, change(1, 4), change(2, 0))}, nil, nil, nil, nil),
			[]bal.PostAccount{{Address: a1, Slots: slots(0, 0, 1, 3, 2, 0)}}},
		{"balance and storage on one row",
			row(addr(1), list{slot(1, change(1, 3))}, list{num(2)}, list{change(2, 8)}, nil, nil),
			[]bal.PostAccount{{Address: a1, Balance: uint256.NewInt(8), Slots: slots(1, 3)}}},
		{"nonce only", row(addr(1), nil, nil, nil, list{change(1, 4), change(3, 6)}, nil),
			[]bal.PostAccount{{Address: a1, Nonce: nonce(6)}}},
		{"nonce of zero", row(addr(1), nil, nil, nil, list{change(1, 0)}, nil),
			[]bal.PostAccount{{Address: a1, Nonce: nonce(0)}}},
		{"code only", row(addr(1), nil, nil, nil, nil, list{list{num(1), code}}),
			[]bal.PostAccount{{Address: a1, Code: code, CodeSet: true}}},
		{"delegation set and cleared: the empty code",
			row(addr(1), nil, nil, nil, nil, list{list{num(1), code}, list{num(2), []byte{}}}),
			[]bal.PostAccount{{Address: a1, Code: []byte{}, CodeSet: true}}},
		{"a fee recipient that is paid and pays: the balance after the last transaction",
			row(addr(1), nil, nil, list{change(1, 10), change(2, 3), change(3, 12)},
				list{change(2, 1)}, nil),
			[]bal.PostAccount{{Address: a1, Nonce: nonce(1), Balance: uint256.NewInt(12)}}},
	} {
		l, err := bal.Decode(encode(t, list{c.row}), noLimits)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := l.PostState(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestPostStateKeepsTheOrderOfTheListAndDropsReads(t *testing.T) {
	l, err := bal.Decode(encode(t, list{
		row(addr(1), list{slot(1, change(1, 1))}, nil, nil, nil, nil),
		row(addr(2), nil, list{num(1)}, nil, nil, nil),
		row(addr(3), list{slot(2, change(1, 2)), slot(3, change(1, 3))}, nil, nil, nil, nil),
	}), noLimits)
	if err != nil {
		t.Fatal(err)
	}
	post := l.PostState()
	if len(post) != 2 || post[0].Address != l.Accounts[0].Address ||
		post[1].Address != l.Accounts[2].Address || len(post[0].Slots) != 1 ||
		len(post[1].Slots) != 2 || post[1].Slots[1].Value != common.HexToHash("0x3") {
		t.Errorf("%+v", post)
	}
}
