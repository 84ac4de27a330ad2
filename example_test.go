package balsa_test

import (
	"context"
	"fmt"
	"log"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
)

// A node embeds the engine: it builds a store once, opens it, and hands over each block with its
// access list as the consensus client names it.
func Example() {
	dir, err := os.MkdirTemp("", "balsa-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, o := context.Background(), balsa.Options{Dir: dir}

	alice, bob := common.Address{0xa1}, common.Address{0xb0}
	genesis := &types.Header{
		Number: new(big.Int),
		Root:   common.HexToHash("0xde9508e85f36d1e8c6e57411629d93b48ee1a2e54ccd7c3b7f1130043880161b"),
	}
	if _, err := balsa.Init(ctx, o, balsa.Genesis{
		ChainID: 1, Header: genesis,
		Alloc: map[common.Address]types.Account{alice: {Balance: big.NewInt(100)}},
	}); err != nil {
		log.Fatal(err)
	}

	engine, err := balsa.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)

	header, accessList := transfer(genesis, alice, bob)
	applied, err := engine.Apply(ctx, balsa.Block{Header: header, BAL: accessList, Transactions: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("block %d: %d accounts changed, root proven\n", applied.Number, applied.Accounts)

	view, err := engine.View()
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	account, _, err := view.Account(bob)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("bob has %s wei\n", account.Balance.Dec())
	// Output:
	// block 1: 2 accounts changed, root proven
	// bob has 30 wei
}

// transfer makes block 1, in which Alice sends 30 of her 100 wei to Bob.
func transfer(parent *types.Header, alice, bob common.Address) (*types.Header, []byte) {
	list := &bal.AccessList{Accounts: []bal.AccountChanges{
		{
			Address:        alice,
			BalanceChanges: []bal.BalanceChange{{Index: 1, Balance: *uint256.NewInt(70)}},
			NonceChanges:   []bal.NonceChange{{Index: 1, Nonce: 1}},
		},
		{
			Address:        bob,
			BalanceChanges: []bal.BalanceChange{{Index: 1, Balance: *uint256.NewInt(30)}},
		},
	}}
	raw := bal.Encode(list)
	hash := bal.Hash(raw)
	return &types.Header{
		Number: big.NewInt(1), ParentHash: parent.Hash(), GasLimit: 30_000_000,
		Root:                common.HexToHash("0x81da1af0f10a0ff289f83964e672330e37f9a4a87830dd0890cc27cf8a028431"),
		BlockAccessListHash: &hash,
	}, raw
}
