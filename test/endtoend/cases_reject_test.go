package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// tree is an RLP list as go-ethereum encodes it: of uint64, []byte, rlp.RawValue and trees. It can
// say what bal.Encode cannot.
type tree = []any

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// account is an account's row: storage changes, storage reads, balances, nonces, codes.
func account(a any, fields ...tree) tree {
	r := tree{a}
	for i := range 5 {
		if i < len(fields) && fields[i] != nil {
			r = append(r, fields[i])
		} else {
			r = append(r, tree{})
		}
	}
	return r
}

func at(index uint64, value any) tree { return tree{index, value} }

// badList is a list that breaks one rule.
type badList struct {
	name string
	list any
	want error
}

func addressBytes(n uint64) []byte { return addr(n).Bytes() }

// ruleBreakers break the rules on order, uniqueness and indices (EIP-7928, "Ordering and
// Determinism"), each in well-formed RLP.
func ruleBreakers() []badList {
	var n uint64 = 2
	a := addressBytes(n)
	change := tree{at(1, uint64(7))}
	slot := func(key uint64, changes ...any) tree { return tree{key, tree(changes)} }
	cases := []badList{
		{"addresses descend", tree{account(addressBytes(3)), account(a)}, bal.ErrAddressOrder},
		{"an address twice", tree{account(a, nil, nil, change), account(a, nil, nil, nil, change)},
			bal.ErrAddressOrder},
		{"an address twice, apart", tree{account(a), account(addressBytes(3)), account(a)},
			bal.ErrAddressOrder},
		{"changed slots descend",
			tree{account(a, tree{slot(2, at(1, n)), slot(1, at(1, n))})}, bal.ErrSlotOrder},
		{"a changed slot twice",
			tree{account(a, tree{slot(1, at(1, n)), slot(1, at(2, n))})}, bal.ErrSlotOrder},
		{"read slots descend", tree{account(a, nil, tree{n, uint64(1)})}, bal.ErrReadOrder},
		{"a read slot twice", tree{account(a, nil, tree{n, n})}, bal.ErrReadOrder},
		{"a slot in both lists", tree{account(a, tree{slot(1, at(1, n))}, tree{uint64(1)})},
			bal.ErrSlotInBoth},
		{"a slot in both lists, the last of each", tree{account(a,
			tree{slot(1, at(1, n)), slot(9, at(1, n))}, tree{n, uint64(9)})}, bal.ErrSlotInBoth},
		{"an empty slot-change list", tree{account(a, tree{slot(1)})}, bal.ErrEmptySlotChanges},
		{"an empty slot-change list behind a good one",
			tree{account(a, tree{slot(1, at(1, n)), slot(2)})}, bal.ErrEmptySlotChanges},
	}
	// The same indices in each of the four lists of changes.
	for field, in := range map[string]func(tree) tree{
		"storage": func(c tree) tree { return account(a, tree{tree{uint64(1), c}}) },
		"balance": func(c tree) tree { return account(a, nil, nil, c) },
		"nonce":   func(c tree) tree { return account(a, nil, nil, nil, c) },
		"code": func(c tree) tree {
			for _, change := range c {
				change.(tree)[1] = []byte(contract)
			}
			return account(a, nil, nil, nil, nil, c)
		},
	} {
		for name, c := range map[string]struct {
			changes tree
			want    error
		}{
			"indices that repeat":  {tree{at(1, n), at(1, n)}, bal.ErrIndexOrder},
			"indices that descend": {tree{at(2, n), at(1, n)}, bal.ErrIndexOrder},
			"an index past transactions + 1": {tree{at(1, n), at(lastIndex+1, n)},
				bal.ErrIndexRange},
		} {
			cases = append(cases, badList{field + ": " + name, tree{in(c.changes)}, c.want})
		}
	}
	return cases
}

// malformed are lists that are not the one canonical RLP of what they say.
func malformed(t *testing.T) []badList {
	a := addressBytes(2)
	raw := func(b ...byte) rlp.RawValue { return b }
	value := func(v any) tree { return tree{account(a, tree{tree{uint64(1), tree{at(1, v)}}})} }
	slot := func(v any) tree { return tree{account(a, tree{tree{v, tree{at(1, uint64(1))}}})} }
	index := func(v any) tree { return tree{account(a, nil, nil, tree{tree{v, uint64(1)}})} }
	balanceOf := func(v any) tree { return tree{account(a, nil, nil, tree{at(1, v)})} }
	nonceOf := func(v any) tree { return tree{account(a, nil, nil, nil, tree{at(1, v)})} }
	ones := func(n int) []byte { return bytes.Repeat([]byte{1}, n) }
	good := encode(t, value(uint64(9)))
	outer := good[1:] // the one row; its list's header is one byte
	return []badList{
		{"a slot's value with a leading zero", value([]byte{0, 1}), bal.ErrNotCanonical},
		{"a slot's value as 32 bytes with zeros", value(word(9).Bytes()), bal.ErrNotCanonical},
		{"a slot with a leading zero", slot([]byte{0, 1}), bal.ErrNotCanonical},
		{"slot zero as a zero byte", slot(raw(0)), bal.ErrNotCanonical},
		{"an index with a leading zero", index([]byte{0, 1}), bal.ErrNotCanonical},
		{"a balance with a leading zero", balanceOf([]byte{0, 1}), bal.ErrNotCanonical},
		{"a nonce with a leading zero", nonceOf([]byte{0, 1}), bal.ErrNotCanonical},
		{"a small value with a header", value(raw(0x81, 9)), bal.ErrNotCanonical},
		{"the long form for a short value", value(raw(0xb8, 2, 9, 9)), bal.ErrNotCanonical},
		{"a slot's value of 33 bytes", value(ones(33)), bal.ErrFieldSize},
		{"a slot of 33 bytes", slot(ones(33)), bal.ErrFieldSize},
		{"a balance of 33 bytes", balanceOf(ones(33)), bal.ErrFieldSize},
		{"a nonce of 9 bytes", nonceOf(ones(9)), bal.ErrFieldSize},
		{"an index of 5 bytes", index(ones(5)), bal.ErrFieldSize},
		{"an address of 21 bytes", tree{account(append([]byte{0}, a...))}, bal.ErrFieldSize},
		{"an address of 19 bytes", tree{account(a[1:])}, bal.ErrFieldSize},
		{"a row without codes", tree{tree{a, tree{}, tree{}, tree{}, tree{}}}, bal.ErrTruncated},
		{"a row with a seventh field", tree{append(account(a), tree{})}, bal.ErrTrailingBytes},
		{"a string for the list of reads", tree{tree{a, tree{}, []byte{}, tree{}, tree{}, tree{}}},
			bal.ErrKind},
		{"a list for a value", value(tree{}), bal.ErrKind},
		{"a string for the whole", []byte("not a list"), bal.ErrKind},
		{"the long form for the whole",
			rlp.RawValue(append([]byte{0xf8, byte(len(outer))}, outer...)), bal.ErrNotCanonical},
		{"a byte behind the list", rlp.RawValue(append(bytes.Clone(good), 0)), bal.ErrTrailingBytes},
		{"two lists", rlp.RawValue([]byte{0xc0, 0xc0}), bal.ErrTrailingBytes},
		{"the last byte missing", rlp.RawValue(good[:len(good)-1]), bal.ErrTruncated},
		{"a length of more bytes than there are",
			rlp.RawValue([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), bal.ErrTruncated},
		{"a code of more than the largest code's bytes",
			tree{account(a, nil, nil, nil, nil, tree{at(1, make([]byte, bal.MaxCodeSize+1))})},
			bal.ErrCodeTooLarge},
	}
}

// Every rule is named when it is broken, whatever the hash says, and the store stays as it was.
func TestAListThatBreaksARuleIsRejectedByItsName(t *testing.T) {
	bothWays(t, "", breakRules)
}

func breakRules(t *testing.T, how balsa.Apply) {
	pre := with(others(8), one(acc(1, 5, contract, 1, 10, 2, 20)))
	h := newHandmadeBy(t, how, pre, 2)
	before := h.rows()
	for _, c := range append(ruleBreakers(), malformed(t)...) {
		t.Run(c.name, func(t *testing.T) {
			raw := encode(t, c.list)
			in := balsa.Block{
				Header: header(1, h.head().Hash(), h.head().Root, raw), BAL: raw,
				Transactions: transactions,
			}
			_, err := h.engine.Apply(t.Context(), in)
			var where *bal.Error
			if !errors.Is(err, c.want) || !errors.As(err, &where) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			sameRows(t, h.rows(), before)
		})
	}
	post := with(pre, one(acc(1, 6, contract, 1, 11, 2, 20)))
	h.extend(post, row(addr(2), writes(1, 1, 11), balance(1, 6)))
	h.check()
}

// An index of transactions + 1 stands for what comes after the last; where the number is not
// known, an index has only its 4 bytes for a bound.
func TestAnIndexMayReachTransactionsPlusOne(t *testing.T) {
	for _, c := range []struct {
		transactions int
		index        uint32
		want         error
	}{
		{0, 0, nil}, {0, 1, nil}, {0, 2, bal.ErrIndexRange},
		{transactions, lastIndex, nil}, {transactions, lastIndex + 1, bal.ErrIndexRange},
		{-1, 1 << 31, nil}, {-1, 1<<32 - 1, nil},
	} {
		name := fmt.Sprintf("index %d of %d transactions", c.index, c.transactions)
		bothWays(t, name, func(t *testing.T, how balsa.Apply) {
			pre := others(3)
			post := with(pre, one(acc(0, 9, "")))
			h := newHandmadeBy(t, how, pre, 1)
			b := h.next(post, row(addr(2), balance(c.index, 9)))
			b.Transactions = c.transactions
			if c.want != nil {
				h.rejects(b, c.want)
				return
			}
			h.applyTo(post, b)
			h.check()
		})
	}
}

// Addresses and storage keys, written or read, count against gas limit / 2000; a slot counts once.
func TestItemsMayReachTheGasLimitDividedByTheItemCost(t *testing.T) {
	pre := with(others(3), one(acc(1, 0, contract, 1, 1)))
	post := with(pre, one(acc(1, 0, contract, 1, 5, 2, 2)))
	list := []bal.AccountChanges{ // 3 addresses, 2 slots written, 3 read
		row(addr(1)),
		row(addr(2), writes(1, 1, 3, 2, 4, 3, 5), writes(2, 1, 2), reads(5, 6)),
		row(addr(3), reads(1)),
	}
	const items = 8
	for name, c := range map[string]struct {
		limit uint64
		want  error
	}{
		"exactly at it":       {items * bal.ItemCost, nil},
		"just below the next": {(items+1)*bal.ItemCost - 1, nil},
		"one gas short":       {items*bal.ItemCost - 1, bal.ErrTooManyItems},
		"one item short":      {(items - 1) * bal.ItemCost, bal.ErrTooManyItems},
		"a gas limit of zero": {0, bal.ErrTooManyItems},
		"the largest limit":   {1<<64 - 1, nil},
	} {
		bothWays(t, name, func(t *testing.T, how balsa.Apply) {
			h := newHandmadeBy(t, how, pre, 1)
			b := h.next(post, list...)
			b.Header.GasLimit = c.limit
			if c.want != nil {
				h.rejects(b, c.want)
				return
			}
			h.applyTo(post, b)
			h.check()
		})
	}
}

// 0x80, like nothing at all, is how a peer says that it has no list: it is not the empty list, even
// where the header commits to it.
func TestAListThatIsNotAvailableIsNoEmptyList(t *testing.T) {
	bothWays(t, "", notAvailable)
}

func notAvailable(t *testing.T, how balsa.Apply) {
	h := newHandmadeBy(t, how, others(8), 1)
	for name, raw := range map[string][]byte{"nil": nil, "no bytes": {}, "0x80": {0x80}} {
		for committed, hash := range map[string]common.Hash{
			"the empty list": bal.Hash(bal.Empty), "these bytes": bal.Hash(raw),
		} {
			t.Run(name+" where the header has "+committed, func(t *testing.T) {
				b := h.next(others(8))
				b.BAL, b.Header.BlockAccessListHash = raw, &hash
				h.rejects(b, balsa.ErrNoBAL)
			})
		}
	}
	h.extend(others(8))
	h.check()
}

// A right list is not taken where the header has the hash of another, in any order of the two.
func TestAListUnderAnotherHashIsRejected(t *testing.T) { bothWays(t, "", otherHash) }

func otherHash(t *testing.T, how balsa.Apply) {
	pre := others(8)
	h := newHandmadeBy(t, how, pre, 1)
	post := with(pre, one(acc(0, 1, "")))
	good := h.next(post, row(addr(2), balance(1, 1)))
	empty := h.next(pre)
	swapped := good
	swapped.BAL = empty.BAL
	h.rejects(swapped, balsa.ErrBALHash)
	swapped = empty
	swapped.BAL = good.BAL
	h.rejects(swapped, balsa.ErrBALHash)
	h.applyTo(post, good)
	h.check()
}

// No execution leaves a slot to an account that does not exist afterwards: a list that does is
// refused by name, whatever its root.
func TestASlotLeftToAnAccountThatIsAbsentIsRejected(t *testing.T) {
	for name, c := range map[string]struct {
		pre *chaingen.Account
		row bal.AccountChanges
	}{
		"absent before": {nil, row(addr(2), writes(1, 1, 5))},
		"created and drained": {nil,
			row(addr(2), writes(1, 1, 5), balance(1, 1), balance(2, 0), nonce(1, 0))},
		"drained with its slots": {acc(0, 9, "", 1, 1, 2, 2),
			row(addr(2), writes(1, 1, 0), writes(2, 1, 3), balance(1, 0))},
		"empty in the genesis": {acc(0, 0, "", 1, 1), row(addr(2), writes(1, 1, 5))},
		"the slot as it is":    {acc(0, 9, "", 1, 1), row(addr(2), writes(1, 1, 1), balance(1, 0))},
	} {
		bothWays(t, name, func(t *testing.T, how balsa.Apply) {
			h := newHandmadeBy(t, how, with(others(8), one(c.pre)), 2)
			h.rejects(h.next(others(8), c.row), balsa.ErrOrphanSlot)
		})
	}
}
