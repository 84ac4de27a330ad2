package bal_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

// noLimits accepts any number of items and any index.
var noLimits = bal.Limits{GasLimit: math.MaxUint64, Transactions: -1}

// list is an RLP list of whatever go-ethereum's encoder takes: an encoding that owes nothing to
// the package under test. Integers are uint64, strings []byte.
type list []any

func encode(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func addr(last byte) []byte { return append(make([]byte, 19), last) }

func num(n uint64) any { return n }

// row is an account's row; nil stands for an empty field.
func row(address []byte, storage, reads, balances, nonces, codes list) list {
	fields := list{address}
	for _, f := range []list{storage, reads, balances, nonces, codes} {
		if f == nil {
			f = list{}
		}
		fields = append(fields, f)
	}
	return fields
}

func change(index, value uint64) list { return list{num(index), num(value)} }

func slot(key uint64, changes ...any) list { return list{num(key), list(changes)} }

func TestDecodeReadsEveryField(t *testing.T) {
	value := bytes.Repeat([]byte{0xab}, 32)
	raw := encode(t, list{
		row(addr(1),
			list{slot(0, change(0, 0)), slot(0x80, change(1, 7), list{num(300), value})},
			list{num(1), value}, nil, nil, nil),
		row(addr(2), nil, nil,
			list{change(1, 0), list{num(2), value}},
			list{list{num(math.MaxUint32), num(math.MaxUint64)}},
			list{list{num(1), []byte{}}, list{num(2), []byte{0}}, list{num(3), value}}),
		row(addr(3), nil, nil, nil, nil, nil),
	})
	l, err := bal.Decode(raw, noLimits)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Accounts) != 3 || l.SlotsChanged() != 2 || l.SlotsRead() != 2 || l.Items() != 7 {
		t.Fatalf("%d accounts, %d changed, %d read, %d items",
			len(l.Accounts), l.SlotsChanged(), l.SlotsRead(), l.Items())
	}
	a := l.Accounts[0]
	if a.Address != common.HexToAddress("0x1") || len(a.BalanceChanges) != 0 || !a.Changed() {
		t.Errorf("first row: %+v", a)
	}
	s := a.StorageChanges[1]
	if s.Slot != common.HexToHash("0x80") || len(s.Changes) != 2 ||
		s.Changes[0] != (bal.StorageChange{Index: 1, Value: common.HexToHash("0x7")}) ||
		s.Changes[1] != (bal.StorageChange{Index: 300, Value: common.Hash(value)}) {
		t.Errorf("slot: %+v", s)
	}
	if zero := a.StorageChanges[0].Changes[0]; zero != (bal.StorageChange{}) {
		t.Errorf("zero change: %+v", zero)
	}
	if a.StorageReads[0] != common.HexToHash("0x1") || a.StorageReads[1] != common.Hash(value) {
		t.Errorf("reads: %v", a.StorageReads)
	}
	b := l.Accounts[1]
	if !b.BalanceChanges[0].Balance.IsZero() || b.BalanceChanges[1].Index != 2 ||
		b.BalanceChanges[1].Balance.Bytes32() != [32]byte(value) {
		t.Errorf("balances: %+v", b.BalanceChanges)
	}
	if b.NonceChanges[0] != (bal.NonceChange{Index: math.MaxUint32, Nonce: math.MaxUint64}) {
		t.Errorf("nonces: %+v", b.NonceChanges)
	}
	for i, want := range [][]byte{{}, {0}, value} {
		if c := b.CodeChanges[i]; c.Index != uint32(i+1) || !bytes.Equal(c.Code, want) {
			t.Errorf("code %d: %+v", i, c)
		}
	}
	if l.Accounts[2].Changed() {
		t.Error("a row without changes says it has some")
	}
}

func TestEmptyListIsNotAnUnavailableOne(t *testing.T) {
	l, err := bal.Decode(bal.Empty, bal.Limits{})
	if err != nil || len(l.Accounts) != 0 || l.PostState() == nil {
		t.Errorf("0xc0: %v, %v", l, err)
	}
	// The hash of the empty list as EIP-7928 gives it.
	want := common.HexToHash("0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
	if got := bal.Hash(bal.Empty); got != want {
		t.Errorf("hash of 0xc0: %v", got)
	}
	for _, raw := range [][]byte{{0x80}, {}, nil} {
		if _, err := bal.Decode(raw, noLimits); !errors.Is(err, bal.ErrNotAvailable) {
			t.Errorf("%#x: %v", raw, err)
		}
	}
	if _, err := bal.Decode([]byte{0x80, 0x80}, noLimits); errors.Is(err, bal.ErrNotAvailable) {
		t.Error("0x8080 counts as not available")
	}
}

// ruleCase is a list that breaks one rule, or none where want is nil.
type ruleCase struct {
	name string
	rows list
	want error
	at   []string // parts of the error that say where
}

func orderCases() []ruleCase {
	one := list{change(1, 1)}
	return []ruleCase{
		{"addresses descend", list{row(addr(2), nil, nil, nil, nil, nil),
			row(addr(1), nil, nil, nil, nil, nil)}, bal.ErrAddressOrder, []string{"account 1"}},
		{"address twice", list{row(addr(2), nil, nil, one, nil, nil),
			row(addr(2), nil, nil, nil, one, nil)}, bal.ErrAddressOrder, []string{"account 1"}},
		{"changed slots descend", list{row(addr(9), list{slot(2, change(1, 1)),
			slot(1, change(1, 1))}, nil, nil, nil, nil)},
			bal.ErrSlotOrder, []string{"account 0", "09", "storage_changes", "01"}},
		{"changed slots in order of their bytes, not of their value", list{row(addr(1),
			list{slot(0x1000, change(1, 1)), slot(0x20, change(1, 1))}, nil, nil, nil, nil)},
			bal.ErrSlotOrder, []string{"storage_changes"}},
		{"changed slot twice", list{row(addr(1), list{slot(2, change(1, 1)),
			slot(2, change(2, 1))}, nil, nil, nil, nil)},
			bal.ErrSlotOrder, []string{"storage_changes"}},
		{"read slots descend", list{row(addr(1), nil, list{num(2), num(1)}, nil, nil, nil)},
			bal.ErrReadOrder, []string{"storage_reads", "01"}},
		{"read slot zero twice", list{row(addr(1), nil, list{num(0), num(0)}, nil, nil, nil)},
			bal.ErrReadOrder, []string{"storage_reads"}},
		{"slot changed and read", list{row(addr(1), list{slot(1, change(1, 1)),
			slot(5, change(1, 1))}, list{num(0), num(5), num(6)}, nil, nil, nil)},
			bal.ErrSlotInBoth, []string{"account 0", "storage_reads", "05"}},
		{"one slot changed, its neighbours read", list{row(addr(1), list{slot(5, change(1, 1))},
			list{num(4), num(6)}, nil, nil, nil)}, nil, nil},
		{"the same slot of two accounts, changed here and read there", list{
			row(addr(1), list{slot(5, change(1, 1))}, nil, nil, nil, nil),
			row(addr(2), nil, list{num(5)}, nil, nil, nil)}, nil, nil},
		{"slot without changes", list{row(addr(1), list{slot(1)}, nil, nil, nil, nil)},
			bal.ErrEmptySlotChanges, []string{"storage_changes", "01"}},
		{"second slot without changes", list{row(addr(1), list{slot(1, change(1, 1)), slot(2)},
			nil, nil, nil, nil)}, bal.ErrEmptySlotChanges, []string{"storage_changes", "02"}},
		{"a row with nothing in it", list{row(addr(1), nil, nil, nil, nil, nil)}, nil, nil},
	}
}

// indexCases puts the same indices into each of the four kinds of lists of changes.
func indexCases() (cases []ruleCase) {
	kinds := []struct {
		field string
		rows  func(list) list
	}{
		{"storage_changes", func(c list) list {
			return list{row(addr(1), list{slot(3, c...)}, nil, nil, nil, nil)}
		}},
		{"balance_changes", func(c list) list {
			return list{row(addr(1), nil, nil, c, nil, nil)}
		}},
		{"nonce_changes", func(c list) list {
			return list{row(addr(1), nil, nil, nil, c, nil)}
		}},
		{"code_changes", func(c list) list {
			return list{row(addr(1), nil, nil, nil, nil, c)}
		}},
	}
	for _, k := range kinds {
		at := []string{"account 0", k.field}
		cases = append(cases,
			ruleCase{k.field + ": index twice", k.rows(list{change(2, 1), change(2, 2)}),
				bal.ErrIndexOrder, at},
			ruleCase{k.field + ": index 0 twice", k.rows(list{change(0, 1), change(0, 2)}),
				bal.ErrIndexOrder, at},
			ruleCase{k.field + ": indices descend", k.rows(list{change(2, 1), change(1, 2)}),
				bal.ErrIndexOrder, at},
			ruleCase{k.field + ": index transactions + 2", k.rows(list{change(12, 1)}),
				bal.ErrIndexRange, at},
			ruleCase{k.field + ": index transactions + 1", k.rows(list{change(11, 1)}), nil, nil},
			ruleCase{k.field + ": all indices", k.rows(list{change(0, 1), change(1, 1),
				change(2, 1), change(11, 1)}), nil, nil},
		)
	}
	return cases
}

func TestEveryRuleHasItsError(t *testing.T) {
	limits := bal.Limits{GasLimit: 60_000_000, Transactions: 10}
	for _, c := range append(orderCases(), indexCases()...) {
		raw := encode(t, c.rows)
		l, err := bal.Decode(raw, limits)
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if !bytes.Equal(bal.Encode(l), raw) {
				t.Errorf("%s: encodes to other bytes", c.name)
			}
			continue
		}
		var where *bal.Error
		if !errors.Is(err, c.want) || !errors.As(err, &where) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
			continue
		}
		for _, part := range c.at {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", c.name, err, part)
			}
		}
	}
}

func TestIndexIsOnlyBoundedByFourBytesWhereTransactionsAreUnknown(t *testing.T) {
	rows := list{row(addr(1), nil, nil, list{change(math.MaxUint32, 1)}, nil, nil)}
	if _, err := bal.Decode(encode(t, rows), noLimits); err != nil {
		t.Error(err)
	}
	rows = list{row(addr(1), nil, nil, list{change(math.MaxUint32+1, 1)}, nil, nil)}
	if _, err := bal.Decode(encode(t, rows), noLimits); !errors.Is(err, bal.ErrFieldSize) {
		t.Errorf("index of five bytes: %v", err)
	}
	limits := bal.Limits{GasLimit: math.MaxUint64, Transactions: 0}
	rows = list{row(addr(1), nil, nil, list{change(1, 1)}, nil, nil)}
	if _, err := bal.Decode(encode(t, rows), limits); err != nil {
		t.Errorf("post-execution change of a block without transactions: %v", err)
	}
}

func TestItemLimit(t *testing.T) {
	// 2 addresses, 2 changed slots (one of them changed twice) and 3 read ones.
	raw := encode(t, list{
		row(addr(1), list{slot(1, change(1, 1), change(2, 1)), slot(2, change(1, 1))},
			list{num(3)}, list{change(1, 1), change(2, 2)}, nil, nil),
		row(addr(2), nil, list{num(1), num(2)}, nil, nil, nil),
	})
	for gas, want := range map[uint64]error{
		0: bal.ErrTooManyItems, 6*2000 + 1999: bal.ErrTooManyItems, 7 * 2000: nil,
	} {
		_, err := bal.Decode(raw, bal.Limits{GasLimit: gas, Transactions: -1})
		if !errors.Is(err, want) {
			t.Errorf("7 items at gas limit %d: %v", gas, err)
		}
	}
	if bal.ItemCost != params.BALItemCost {
		t.Errorf("item cost %d, go-ethereum has %d", bal.ItemCost, params.BALItemCost)
	}
}

func TestCodeSizeLimit(t *testing.T) {
	if bal.MaxCodeSize != params.MaxCodeSizeAmsterdam {
		t.Fatalf("limit %d, go-ethereum has %d", bal.MaxCodeSize, params.MaxCodeSizeAmsterdam)
	}
	for n, want := range map[int]error{
		bal.MaxCodeSize: nil, bal.MaxCodeSize + 1: bal.ErrCodeTooLarge,
	} {
		code := list{num(1), make([]byte, n)}
		raw := encode(t, list{row(addr(1), nil, nil, nil, nil, list{code})})
		if _, err := bal.Decode(raw, noLimits); !errors.Is(err, want) {
			t.Errorf("code of %d bytes: %v", n, err)
		}
	}
}
