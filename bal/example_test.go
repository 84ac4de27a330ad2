package bal_test

import (
	"errors"
	"fmt"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func ExampleDecode() {
	sender, limits := common.HexToAddress("0xa1"), bal.Limits{GasLimit: 60_000_000, Transactions: 1}
	raw := bal.Encode(&bal.AccessList{Accounts: []bal.AccountChanges{{
		Address:        sender,
		BalanceChanges: []bal.BalanceChange{{Index: 1, Balance: *uint256.NewInt(79_000)}},
		NonceChanges:   []bal.NonceChange{{Index: 1, Nonce: 1}},
	}}})

	list, err := bal.Decode(raw, limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range list.PostState() {
		fmt.Println(a.Address, *a.Nonce, a.Balance, a.CodeSet)
	}

	_, err = bal.Decode([]byte{0x80}, limits)
	fmt.Println(errors.Is(err, bal.ErrNotAvailable))
	// Output:
	// 0x00000000000000000000000000000000000000A1 1 79000 false
	// true
}
