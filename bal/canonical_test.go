package bal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/balsa-sync/balsa/bal"
	"github.com/ethereum/go-ethereum/rlp"
)

// raw is RLP that go-ethereum's encoder takes over as it is, canonical or not.
type raw = rlp.RawValue

func unhex(t testing.TB, s string) raw {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An integer of a list stands in each of these places in turn.
var integerPlaces = map[string]func(v any) list{
	"slot": func(v any) list {
		return list{row(addr(1), list{list{v, list{change(1, 1)}}}, nil, nil, nil, nil)}
	},
	"slot's index": func(v any) list {
		return list{row(addr(1), list{slot(1, list{v, num(1)})}, nil, nil, nil, nil)}
	},
	"slot's value": func(v any) list {
		return list{row(addr(1), list{slot(1, list{num(1), v})}, nil, nil, nil, nil)}
	},
	"read": func(v any) list { return list{row(addr(1), nil, list{v}, nil, nil, nil)} },
	"balance": func(v any) list {
		return list{row(addr(1), nil, nil, list{list{num(1), v}}, nil, nil)}
	},
	"balance's index": func(v any) list {
		return list{row(addr(1), nil, nil, list{list{v, num(1)}}, nil, nil)}
	},
	"nonce": func(v any) list {
		return list{row(addr(1), nil, nil, nil, list{list{num(1), v}}, nil)}
	},
	"nonce's index": func(v any) list {
		return list{row(addr(1), nil, nil, nil, list{list{v, num(1)}}, nil)}
	},
	"code's index": func(v any) list {
		return list{row(addr(1), nil, nil, nil, nil, list{list{v, []byte{1}}})}
	},
}

func TestIntegersAreCanonicalEverywhere(t *testing.T) {
	cases := []struct {
		name, hex string
		want      error
	}{
		{"zero as a byte", "00", bal.ErrNotCanonical},
		{"leading zero", "82 0001", bal.ErrNotCanonical},
		{"leading zero before a high byte", "82 0080", bal.ErrNotCanonical},
		{"small byte with a header", "81 01", bal.ErrNotCanonical},
		{"zero byte with a header", "81 00", bal.ErrNotCanonical},
		{"long form for a short string", "b8 02 0101", bal.ErrNotCanonical},
		{"long form for the empty string", "b8 00", bal.ErrNotCanonical},
		{"length with a leading zero", "b9 0002 0101", bal.ErrNotCanonical},
		{"33 bytes", "a1 01" + strings.Repeat("00", 32), bal.ErrFieldSize},
		{"list instead of string", "c0", bal.ErrKind},
		{"list around the integer", "c1 01", bal.ErrKind},
	}
	for place, build := range integerPlaces {
		for _, c := range cases {
			_, err := bal.Decode(encode(t, build(unhex(t, c.hex))), noLimits)
			if !errors.Is(err, c.want) || !errors.Is(err, bal.ErrNotCanonical) {
				t.Errorf("%s, %s: got %v, want %v", place, c.name, err, c.want)
			}
		}
		if _, err := bal.Decode(encode(t, build(num(1))), noLimits); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestIntegersHaveTheSizeOfTheirField(t *testing.T) {
	for place, size := range map[string]int{
		"slot": 32, "slot's value": 32, "read": 32, "balance": 32, "nonce": 8,
		"slot's index": 4, "balance's index": 4, "nonce's index": 4, "code's index": 4,
	} {
		for n, want := range map[int]error{size: nil, size + 1: bal.ErrFieldSize} {
			v := bytes.Repeat([]byte{0xff}, n)
			_, err := bal.Decode(encode(t, integerPlaces[place](v)), noLimits)
			if !errors.Is(err, want) {
				t.Errorf("%s of %d bytes: got %v, want %v", place, n, err, want)
			}
		}
	}
}

func TestAddressHasTwentyBytes(t *testing.T) {
	for n, want := range map[int]error{
		0: bal.ErrFieldSize, 1: bal.ErrFieldSize, 19: bal.ErrFieldSize, 20: nil,
		21: bal.ErrFieldSize, 32: bal.ErrFieldSize, 56: bal.ErrFieldSize,
	} {
		rows := list{row(bytes.Repeat([]byte{0xff}, n), nil, nil, nil, nil, nil)}
		if _, err := bal.Decode(encode(t, rows), noLimits); !errors.Is(err, want) {
			t.Errorf("address of %d bytes: %v", n, err)
		}
	}
	rows := list{list{list{}, list{}, list{}, list{}, list{}, list{}}}
	if _, err := bal.Decode(encode(t, rows), noLimits); !errors.Is(err, bal.ErrKind) {
		t.Errorf("list for an address: %v", err)
	}
}

func TestListsHaveTheRightElements(t *testing.T) {
	e := list{}
	cases := []struct {
		name string
		v    any
		want error
	}{
		{"string for the list", []byte("a list this is not"), bal.ErrKind},
		{"string for a row", list{addr(1)}, bal.ErrKind},
		{"empty row", list{e}, bal.ErrTruncated},
		{"row of five", list{list{addr(1), e, e, e, e}}, bal.ErrTruncated},
		{"row of seven", list{list{addr(1), e, e, e, e, e, e}}, bal.ErrTrailingBytes},
		{"string for storage_changes", list{list{addr(1), []byte{}, e, e, e, e}}, bal.ErrKind},
		{"string for storage_reads", list{list{addr(1), e, []byte{}, e, e, e}}, bal.ErrKind},
		{"string for balance_changes", list{list{addr(1), e, e, []byte{}, e, e}}, bal.ErrKind},
		{"string for nonce_changes", list{list{addr(1), e, e, e, []byte{}, e}}, bal.ErrKind},
		{"string for code_changes", list{list{addr(1), e, e, e, e, []byte{}}}, bal.ErrKind},
		{"string for a slot's entry", list{row(addr(1), list{num(1)}, e, e, e, e)}, bal.ErrKind},
		{"slot's entry of one", list{row(addr(1), list{list{num(1)}}, e, e, e, e)},
			bal.ErrTruncated},
		{"slot's entry of three", list{row(addr(1), list{list{num(1), list{change(1, 1)}, e}},
			e, e, e, e)}, bal.ErrTrailingBytes},
		{"string for a slot's changes", list{row(addr(1), list{list{num(1), num(1)}},
			e, e, e, e)}, bal.ErrKind},
		{"change of one", list{row(addr(1), e, e, list{list{num(1)}}, e, e)}, bal.ErrTruncated},
		{"change of three", list{row(addr(1), e, e, list{list{num(1), num(1), num(1)}}, e, e)},
			bal.ErrTrailingBytes},
		{"string for a change", list{row(addr(1), e, e, e, list{num(1)}, e)}, bal.ErrKind},
		{"empty change", list{row(addr(1), e, e, e, list{e}, e)}, bal.ErrTruncated},
		{"list for a code", list{row(addr(1), e, e, e, e, list{list{num(1), e}})}, bal.ErrKind},
		{"code with a superfluous header", list{row(addr(1), e, e, e, e,
			list{list{num(1), unhex(t, "81 01")}})}, bal.ErrNotCanonical},
	}
	for _, c := range cases {
		_, err := bal.Decode(encode(t, c.v), noLimits)
		if !errors.Is(err, c.want) || !errors.Is(err, bal.ErrNotCanonical) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestBytesAroundTheListAreRefused(t *testing.T) {
	good := encode(t, list{row(addr(1), nil, nil, list{change(1, 1)}, nil, nil)})
	for _, tail := range [][]byte{{0}, {0x80}, {0xc0}, good} {
		_, err := bal.Decode(append(bytes.Clone(good), tail...), noLimits)
		if !errors.Is(err, bal.ErrTrailingBytes) {
			t.Errorf("%x after the list: %v", tail, err)
		}
	}
	if _, err := bal.Decode([]byte{0xc0, 0xc0}, noLimits); !errors.Is(err, bal.ErrTrailingBytes) {
		t.Errorf("two empty lists: %v", err)
	}
	for n := 1; n < len(good); n++ {
		if _, err := bal.Decode(good[:n], noLimits); !errors.Is(err, bal.ErrTruncated) {
			t.Errorf("first %d of %d bytes: %v", n, len(good), err)
		}
	}
}

func TestListHeadersAreCanonical(t *testing.T) {
	for name, c := range map[string]struct {
		hex  string
		want error
	}{
		"long form for the empty list": {"f8 00", bal.ErrNotCanonical},
		"long form for a short list":   {"f8 01 c0", bal.ErrNotCanonical},
		"length with a leading zero": {"f9 0040" + strings.Repeat("c0", 64),
			bal.ErrNotCanonical},
		"length of 8 bytes, all ones":   {"ff ffffffffffffffff c0", bal.ErrTruncated},
		"length of 8 bytes, sign bit":   {"ff 8000000000000000 c0", bal.ErrTruncated},
		"length of 8 bytes, wraps":      {"ff fffffffffffffff7 c0", bal.ErrTruncated},
		"length cut off":                {"f9 01", bal.ErrTruncated},
		"string of 8-byte length":       {"c9 bf ffffffffffffffff", bal.ErrTruncated},
		"element longer than its list":  {"c2 c2 c0 c0", bal.ErrTruncated},
		"header longer than its list":   {"c1 f8 38", bal.ErrTruncated},
		"all of it is one long length":  {"fb 7fffffff", bal.ErrTruncated},
		"a byte that is its own string": {"7f", bal.ErrKind},
	} {
		if _, err := bal.Decode(unhex(t, c.hex), noLimits); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
