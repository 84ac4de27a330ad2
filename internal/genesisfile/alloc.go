package genesisfile

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"
)

// parseFile reads a JSON object with accounts in it: below "alloc", or at its top. The other
// members come back as they are. alloc is nil where there are neither.
func parseFile(r io.Reader) (
	alloc map[common.Address]types.Account, rest map[string]json.RawMessage, err error,
) {
	dec := json.NewDecoder(&spaceLimiter{r: r})
	rest = make(map[string]json.RawMessage)
	nested, bare := false, make(map[common.Address]types.Account)
	err = object(dec, func(key string) error {
		if key == "alloc" {
			if nested {
				return fmt.Errorf(`%w: "alloc" %w`, ErrSyntax, ErrDuplicate)
			}
			nested = true
			alloc, err = parseAlloc(dec)
			return err
		}
		if addr, ok := parseAddress(key); ok {
			return parseInto(dec, bare, addr)
		}
		if _, ok := rest[key]; ok {
			return fmt.Errorf("%w: %.60q %w", ErrSyntax, key, ErrDuplicate)
		}
		if len(rest) == maxMembers {
			return fmt.Errorf("%w: more than %d members", ErrSyntax, maxMembers)
		}
		if !headerMembers[strings.ToLower(key)] {
			rest[key] = nil
			return skip(dec)
		}
		var v json.RawMessage
		err := dec.Decode(&v)
		rest[key] = v
		return err
	})
	if err != nil {
		return nil, nil, asSyntax(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%w: there is something behind its last bracket", ErrSyntax)
	}
	if len(bare) > 0 {
		if nested {
			return nil, nil, fmt.Errorf(`%w: accounts beside the "alloc"`, ErrSyntax)
		}
		alloc = bare
	}
	return alloc, rest, nil
}

// maxMembers bounds the members of a file beside the accounts.
const maxMembers = 1 << 10

// headerMembers are the members of a genesis that its header and its chain id are made of, as
// go-ethereum names them.
var headerMembers = map[string]bool{
	"config": true, "nonce": true, "timestamp": true, "extradata": true, "gaslimit": true,
	"difficulty": true, "mixhash": true, "coinbase": true, "number": true, "gasused": true,
	"parenthash": true, "basefeepergas": true, "excessblobgas": true, "blobgasused": true,
	"slotnumber": true,
}

// maxDepth bounds the nesting of a value that is passed over.
const maxDepth = 1000

// skip passes over a value without holding it.
func skip(dec *json.Decoder) error {
	for depth := 0; ; {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: nested too deep", ErrSyntax)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// asSyntax marks the errors of the JSON decoder, which have no sentinel.
func asSyntax(err error) error {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &value) {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return err
}

// object reads a JSON object and calls f at each member's value, which f must read.
func object(dec *json.Decoder, f func(key string) error) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%w: %v where an object should start, at byte %d",
			ErrSyntax, t, dec.InputOffset())
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if err := f(key.(string)); err != nil { // the decoder lets only strings be keys
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func parseAlloc(dec *json.Decoder) (map[common.Address]types.Account, error) {
	alloc := make(map[common.Address]types.Account)
	err := object(dec, func(key string) error {
		addr, ok := parseAddress(key)
		if !ok {
			return fmt.Errorf("%w: %.60q is no address of 20 bytes in hex", ErrSyntax, key)
		}
		return parseInto(dec, alloc, addr)
	})
	return alloc, err
}

func parseInto(
	dec *json.Decoder, alloc map[common.Address]types.Account, addr common.Address,
) error {
	if _, ok := alloc[addr]; ok {
		return fmt.Errorf("%w: account %s %w", ErrSyntax, addr, ErrDuplicate)
	}
	a, err := parseAccount(dec)
	if err != nil {
		return fmt.Errorf("account %s: %w", addr, err)
	}
	alloc[addr] = a
	return nil
}

func parseAddress(s string) (common.Address, bool) {
	b, err := hex.DecodeString(strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"))
	return common.BytesToAddress(b), err == nil && len(b) == common.AddressLength
}

// parseAccount reads an account's balance, nonce, code and storage; other members are passed over.
func parseAccount(dec *json.Decoder) (types.Account, error) {
	a := types.Account{Balance: new(big.Int)}
	seen := make(map[string]bool)
	err := object(dec, func(key string) error {
		key = strings.ToLower(key)
		if seen[key] {
			return fmt.Errorf("%w: %.60q %w", ErrSyntax, key, ErrDuplicate)
		}
		seen[key] = true
		var err error
		switch key {
		case "balance":
			a.Balance, err = parseBalance(dec)
		case "nonce":
			err = decodeAs(dec, key, (*math.HexOrDecimal64)(&a.Nonce))
		case "code":
			a.Code, err = parseCode(dec)
		case "storage":
			a.Storage, err = parseStorage(dec)
		default:
			err = skip(dec)
		}
		return err
	})
	return a, err
}

func decodeAs(dec *json.Decoder, what string, v any) error {
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrTooLarge) {
			return err
		}
		return fmt.Errorf("%w: %s: %w", ErrSyntax, what, err)
	}
	return nil
}

// parseBalance reads hex or decimal, as a string or a number.
func parseBalance(dec *json.Decoder) (*big.Int, error) {
	var v math.HexOrDecimal256
	if err := decodeAs(dec, "balance", &v); err != nil {
		return nil, err
	}
	b := big.Int(v)
	if b.Sign() < 0 || b.BitLen() > 256 {
		return nil, fmt.Errorf("%w: balance %s is not of 256 bits without sign", ErrSyntax, &b)
	}
	return &b, nil
}

// parseCode reads hex, with or without 0x, or nothing.
func parseCode(dec *json.Decoder) ([]byte, error) {
	var s string
	if err := decodeAs(dec, "code", &s); err != nil {
		return nil, err
	}
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		return nil, fmt.Errorf("%w: code: %w", ErrSyntax, err)
	}
	return b, nil
}

// parseStorage reads slots: keys and values of up to 32 bytes in hex, padded on the left. A slot
// set to zero is no slot.
func parseStorage(dec *json.Decoder) (map[common.Hash]common.Hash, error) {
	slots := make(map[common.Hash]common.Hash)
	zero := make(map[common.Hash]bool)
	err := object(dec, func(k string) error {
		key, err := parseWord(k)
		if err != nil {
			return fmt.Errorf("%w: storage key %.80q: %w", ErrSyntax, k, err)
		}
		if _, ok := slots[key]; ok || zero[key] {
			return fmt.Errorf("%w: storage key %s %w", ErrSyntax, key, ErrDuplicate)
		}
		var v string
		if err := decodeAs(dec, fmt.Sprintf("storage at %s", key), &v); err != nil {
			return err
		}
		value, err := parseWord(v)
		if err != nil {
			return fmt.Errorf("%w: storage at %s: %.80q: %w", ErrSyntax, key, v, err)
		}
		if value == (common.Hash{}) {
			zero[key] = true
			return nil
		}
		slots[key] = value
		return nil
	})
	return slots, err
}

var errWord = errors.New("not hex of at most 32 bytes")

// parseWord reads up to 32 bytes of hex, with or without 0x, an odd number of digits too.
func parseWord(s string) (w common.Hash, err error) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(s)%2 == 1 {
		s = "0" + s
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) > common.HashLength {
		return w, errWord
	}
	return common.BytesToHash(b), nil
}
