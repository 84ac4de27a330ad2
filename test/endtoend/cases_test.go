package endtoend

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// blockCase is one block: the state before, its list, and the state that the rule says it leaves.
// Accounts are addr(1), addr(2), ..., so that a row's place in the list is its number.
type blockCase struct {
	name string
	pre  chaingen.State
	list []bal.AccountChanges
	post chaingen.State
}

func rows(r ...bal.AccountChanges) []bal.AccountChanges { return r }

// one is a state with one account under test, or without it.
func one(a *chaingen.Account) chaingen.State {
	if a == nil {
		return chaingen.State{}
	}
	return chaingen.State{addr(2): a}
}

const (
	delegation = "\xef\x01\x00 a delegation (EIP-7702)"
	contract   = "code of a contract"
)

// goneCases are accounts that end empty, so absent (EIP-161), whatever they went through.
func goneCases() []blockCase {
	return []blockCase{
		{"created and drained in one block",
			one(nil), rows(row(addr(2), balance(1, 7), balance(2, 0))), one(nil)},
		{"funded by one transaction, created and destroyed by the next",
			one(nil), rows(row(addr(2), reads(1, 2), balance(1, 7), balance(2, 0))), one(nil)},
		{"there before, created and destroyed by a transaction",
			one(acc(0, 9, "")), rows(row(addr(2), reads(1), balance(2, 0))), one(nil)},
		{"drained, with nothing else",
			one(acc(0, 9, "")), rows(row(addr(2), balance(1, 0))), one(nil)},
		{"absent, with a balance change to zero",
			one(nil), rows(row(addr(2), balance(1, 0))), one(nil)},
		{"absent, with a nonce change to zero",
			one(nil), rows(row(addr(2), nonce(1, 0))), one(nil)},
		{"absent, with code set and cleared again",
			one(nil), rows(row(addr(2), code(1, delegation), code(2, ""))), one(nil)},
		{"absent, with a slot set and cleared again, and nothing else",
			one(nil), rows(row(addr(2), writes(1, 1, 5, 2, 0))), one(nil)},
		{"nothing but code, which is cleared",
			one(acc(0, 0, delegation)), rows(row(addr(2), code(1, ""))), one(nil)},
		{"empty in the genesis, with a change that changes nothing",
			one(acc(0, 0, "")), rows(row(addr(2), balance(1, 0))), one(nil)},
		{"empty in the genesis, with slots, one of them cleared",
			one(acc(0, 0, "", 1, 1, 2, 2)), rows(row(addr(2), writes(1, 1, 0))), one(nil)},
		{"drained, with one slot",
			one(acc(0, 9, "", 1, 1)), rows(row(addr(2), balance(1, 0))), one(nil)},
		{"drained, with slots", one(acc(0, 9, "", 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)),
			rows(row(addr(2), balance(1, 0))), one(nil)},
		{"drained, with slots that the block clears, also one that was not there",
			one(acc(0, 9, "", 1, 1, 2, 2, 3, 3)),
			rows(row(addr(2), writes(1, 1, 5, 2, 0), writes(2, 1, 0), writes(9, 1, 9, 2, 0),
				balance(1, 0))), one(nil)},
		{"code cleared and drained, with slots", one(acc(0, 9, delegation, 1, 1, 2, 2)),
			rows(row(addr(2), balance(1, 0), code(1, ""))), one(nil)},
		{"nonce set to zero, with slots", one(acc(3, 0, "", 1, 1)),
			rows(row(addr(2), nonce(1, 0))), one(nil)},
		{"three neighbours at once", chaingen.State{
			addr(2): acc(0, 1, "", 1, 1), addr(3): acc(0, 2, ""), addr(4): acc(0, 3, "", 1, 2, 3, 4),
		}, rows(row(addr(2), balance(1, 0)), row(addr(3), balance(1, 0)), row(addr(4), balance(1, 0))),
			chaingen.State{}},
	}
}

// sameCases change nothing: the root is the parent's, and the block has no flat row.
func sameCases() []blockCase {
	c := acc(1, 5, contract, 1, 10, 2, 20)
	eoa := acc(4, 100, "")
	return []blockCase{
		{"no account at all", one(c), nil, one(c)},
		{"touched and nothing else", one(c), rows(row(addr(2))), one(c)},
		{"touched and absent", one(nil), rows(row(addr(2))), one(nil)},
		{"touched and empty in the genesis", one(acc(0, 0, "")), rows(row(addr(2))),
			one(acc(0, 0, ""))},
		{"empty in the genesis with its slots only read", one(acc(0, 0, "", 1, 1)),
			rows(row(addr(2), reads(1, 2))), one(acc(0, 0, "", 1, 1))},
		{"a slot that ends where it began", one(c),
			rows(row(addr(2), writes(1, 1, 11, 2, 10))), one(c)},
		{"an absent slot that is absent again", one(c),
			rows(row(addr(2), writes(3, 1, 30, 2, 0))), one(c)},
		{"a slot cleared and set again", one(c),
			rows(row(addr(2), writes(2, 1, 0, 3, 20))), one(c)},
		{"a balance that ends where it began", one(eoa),
			rows(row(addr(2), balance(1, 7), balance(3, 100))), one(eoa)},
		{"a balance drained and given back", one(acc(0, 6, "", 1, 1)),
			rows(row(addr(2), balance(1, 0), balance(2, 6))), one(acc(0, 6, "", 1, 1))},
		{"code cleared and set again", one(acc(1, 0, delegation)),
			rows(row(addr(2), code(1, ""), code(2, delegation))), one(acc(1, 0, delegation))},
		{"code set and cleared again", one(eoa),
			rows(row(addr(2), code(1, delegation), code(2, ""))), one(eoa)},
		{"a slot set by the system call before and restored by the one after", one(c),
			rows(row(addr(2), writes(1, 0, 99, lastIndex, 10))), one(c)},
		{"a write of the same value listed as a read", one(c),
			rows(row(addr(2), reads(1, 2, 3))), one(c)},
		{"every field set to what it is", one(c), rows(row(addr(2), writes(1, 1, 10), writes(3, 1, 0),
			balance(1, 5), nonce(1, 1), code(1, contract))), one(c)},
		{"a withdrawal of zero to an absent account", one(nil), rows(row(addr(2))), one(nil)},
		{"a withdrawal of zero to an account", one(eoa), rows(row(addr(2))), one(eoa)},
	}
}

// changeCases set single fields and combinations of them.
func changeCases() []blockCase {
	return []blockCase{
		{"balance and storage on one row", one(acc(1, 5, contract, 1, 10)),
			rows(row(addr(2), writes(1, 1, 11), writes(2, 2, 20), balance(1, 6))),
			one(acc(1, 6, contract, 1, 11, 2, 20))},
		{"nonce only", one(acc(1, 5, "")), rows(row(addr(2), nonce(2, 2))), one(acc(2, 5, ""))},
		{"nonce only, on an absent account", one(nil), rows(row(addr(2), nonce(1, 1))),
			one(acc(1, 0, ""))},
		{"code only, on an absent account", one(nil), rows(row(addr(2), code(1, contract))),
			one(acc(0, 0, contract))},
		{"code and storage, on an absent account", one(nil),
			rows(row(addr(2), writes(1, 1, 10), writes(2, 1, 20), code(1, contract))),
			one(acc(0, 0, contract, 1, 10, 2, 20))},
		{"a contract created with nonce, balance, code and storage", one(nil),
			rows(row(addr(2), writes(0, 2, 1), writes(1, 2, 2), balance(2, 3), nonce(2, 1),
				code(2, contract))), one(acc(1, 3, contract, 0, 1, 1, 2))},
		{"a contract created on a funded account with slots", one(acc(0, 8, "", 5, 50)),
			rows(row(addr(2), writes(1, 1, 2), nonce(1, 1), code(1, contract))),
			one(acc(1, 8, contract, 1, 2, 5, 50))},
		{"code set to empty", one(acc(3, 9, delegation, 1, 10)),
			rows(row(addr(2), nonce(1, 4), code(1, ""))), one(acc(4, 9, "", 1, 10))},
		{"code replaced twice", one(acc(3, 9, delegation)),
			rows(row(addr(2), code(1, ""), code(2, contract))), one(acc(3, 9, contract))},
		{"storage that empties while the account stays", one(acc(1, 0, contract, 1, 1, 2, 2, 3, 3)),
			rows(row(addr(2), writes(1, 1, 0), writes(2, 2, 0), writes(3, 3, 0))),
			one(acc(1, 0, contract))},
		{"one slot of many left", one(acc(1, 0, contract, 1, 1, 2, 2, 3, 3)),
			rows(row(addr(2), writes(1, 1, 0), writes(3, 1, 0))), one(acc(1, 0, contract, 2, 2))},
		{"coinbase that is a transaction's target: value, then fees, then a withdrawal",
			one(acc(0, 100, "")), rows(row(addr(2), balance(1, 111), balance(2, 112), balance(3, 115),
				balance(lastIndex, 1115))), one(acc(0, 1115, ""))},
		{"withdrawals to an absent account", one(nil),
			rows(row(addr(2), balance(lastIndex, 32))), one(acc(0, 32, ""))},
		{"created, drained, and given a withdrawal", one(nil),
			rows(row(addr(2), balance(1, 5), balance(2, 0), balance(lastIndex, 6))),
			one(acc(0, 6, ""))},
		{"a slot set by the system call before, and by no other", one(acc(1, 0, contract, 7, 1)),
			rows(row(addr(2), writes(7, 0, 8))), one(acc(1, 0, contract, 7, 8))},
		{"one account drained into another that was absent", one(acc(0, 9, "", 1, 1)),
			rows(row(addr(2), balance(1, 0)), row(addr(3), balance(1, 9))),
			chaingen.State{addr(3): acc(0, 9, "")}},
		{"an account that is empty in the genesis gets a balance", one(acc(0, 0, "", 1, 1)),
			rows(row(addr(2), balance(1, 1))), one(acc(0, 1, "", 1, 1))},
		{"two accounts get the same slots", chaingen.State{
			addr(2): acc(1, 0, contract), addr(3): acc(1, 0, contract, 1, 1),
		}, rows(row(addr(2), writes(1, 1, 3), writes(2, 1, 4)),
			row(addr(3), writes(1, 2, 3), writes(2, 2, 4))),
			chaingen.State{
				addr(2): acc(1, 0, contract, 1, 3, 2, 4), addr(3): acc(1, 0, contract, 1, 3, 2, 4),
			},
		},
		largestValues(),
	}
}

// largestValues has every field at the top of its range, and slot and index at the bottom of it.
func largestValues() blockCase {
	var full common.Hash
	for i := range full {
		full[i] = 0xff
	}
	top := &chaingen.Account{
		Nonce: math.MaxUint64, Balance: *new(uint256.Int).SetAllOne(), Code: []byte(contract),
		Storage: map[common.Hash]common.Hash{{}: full, full: full},
	}
	last := common.Address(full[:20])
	change := bal.AccountChanges{Address: last,
		StorageChanges: []bal.SlotChanges{
			{Changes: []bal.StorageChange{{Index: 0, Value: full}}},
			{Slot: full, Changes: []bal.StorageChange{{Index: 0, Value: full}}},
		},
		BalanceChanges: []bal.BalanceChange{{Index: 0, Balance: top.Balance}},
		NonceChanges:   []bal.NonceChange{{Index: 0, Nonce: top.Nonce}},
		CodeChanges:    []bal.CodeChange{{Index: 0, Code: top.Code}},
	}
	zero := change
	zero.Address = common.Address{}
	return blockCase{"the least and the greatest address, slot and value", chaingen.State{},
		rows(zero, change), chaingen.State{{}: top, last: top}}
}

// Each rule of the post-state, alone in the state and among others: the root is the one that
// go-ethereum gives the state written here, the store holds that state and nothing else, and a
// rewind brings back every row.
func TestABlockLeavesThePostStateOfItsList(t *testing.T) {
	groups := map[string][]blockCase{
		"absent afterwards": goneCases(), "unchanged": sameCases(), "changed": changeCases(),
	}
	for group, cases := range groups {
		for i, c := range cases {
			if raceDetector && i%4 != 0 {
				continue
			}
			for _, among := range unlessRace([]int{0, 1, 40}, []int{40}) {
				bothWays(t, fmt.Sprintf("%s: %s, among %d", group, c.name, among),
					func(t *testing.T, how balsa.Apply) {
						t.Parallel()
						runCase(t, how, c, others(among))
					})
			}
		}
	}
}

// unlessRace is what a test works with, or something smaller under the race detector.
func unlessRace[T any](usual, race T) T {
	if raceDetector {
		return race
	}
	return usual
}

// others are accounts that the block does not touch: plain ones, and contracts with one slot, with
// a few, and without.
func others(n int) chaingen.State {
	s := chaingen.State{}
	for i := range uint64(n) {
		a := acc(i, 1000+i, "")
		switch i % 4 {
		case 1:
			a = acc(1, 0, contract, i, i)
		case 2:
			a = acc(1, i, fmt.Sprintf("code %d", i), 1, 1, 2, 2, 3, 3, 4, i)
		case 3:
			a = acc(1, 0, contract)
		}
		s[addr(1000+i)] = a
	}
	return s
}

func runCase(t *testing.T, how balsa.Apply, c blockCase, others chaingen.State) {
	h := newHandmadeBy(t, how, with(c.pre, others), 2)
	before := h.rows()
	b := h.extend(with(c.post, others), c.list...)
	h.check()
	if maps.EqualFunc(c.pre, c.post, sameAccount) && b.Header.Root != h.headers[0].Root {
		t.Fatal("the states are equal and their roots differ")
	}
	after := h.rows()
	h.backTo(0)
	sameRows(t, h.rows(), before)
	h.check()
	h.extend(with(c.post, others), c.list...)
	sameRows(t, h.rows(), after)
}

func sameAccount(a, b *chaingen.Account) bool {
	return a.Nonce == b.Nonce && a.Balance == b.Balance && string(a.Code) == string(b.Code) &&
		maps.Equal(a.Storage, b.Storage)
}
