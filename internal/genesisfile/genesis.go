package genesisfile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa/internal/blockfile"
)

// Errors of this package, each wrapped with the file and what in it failed.
var (
	// ErrSyntax: the file is not what it should be.
	ErrSyntax = errors.New("not a genesis")
	// ErrDuplicate: an address or a storage key comes twice.
	ErrDuplicate = errors.New("comes twice")
	// ErrTooLarge: the file, unpacked, is larger than MaxBytes.
	ErrTooLarge = errors.New("file too large")
)

// MaxBytes bounds a file as it is after unpacking. Its accounts are held in memory, so this is no
// way in for a whole chain's state.
const MaxBytes = 4 << 30

// maxHeaderBytes bounds a header file: a header takes some 700 bytes, twice that in hex.
const maxHeaderBytes = 64 << 10

// Genesis is a state, and the block after which it stands.
type Genesis struct {
	ChainID uint64 // 0: the file does not say
	Header  *types.Header
	Alloc   map[common.Address]types.Account
}

// Read reads a genesis file. The header's state root is computed by go-ethereum, so that a store
// which is built from the alloc has something to be compared with.
func Read(path string) (*Genesis, error) {
	var g *Genesis
	err := withFile(path, func(r io.Reader) (err error) {
		g, err = parseGenesis(r)
		return err
	})
	return g, err
}

// ReadAlloc reads accounts by address: {"alloc": {…}} with any members beside, or the accounts
// alone.
func ReadAlloc(path string) (map[common.Address]types.Account, error) {
	var alloc map[common.Address]types.Account
	err := withFile(path, func(r io.Reader) error {
		a, _, err := parseFile(r)
		if err == nil && a == nil {
			err = fmt.Errorf(`%w: neither an "alloc" nor accounts by address`, ErrSyntax)
		}
		alloc = a
		return err
	})
	return alloc, err
}

// withFile calls f with the unpacked bytes of a file and wraps its error with the path.
func withFile(path string, f func(io.Reader) error) error {
	return limitedFile(path, MaxBytes, f)
}

func limitedFile(path string, limit int64, f func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	plain, err := blockfile.Gunzip(file)
	if err == nil {
		err = f(&limitedReader{r: plain, left: limit})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fmt.Errorf("%s: %w: the file is cut off", path, ErrSyntax)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// limitedReader fails, other than io.LimitReader, where there is more than the limit.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n, ErrTooLarge
	}
	return n, err
}

func parseGenesis(r io.Reader) (*Genesis, error) {
	alloc, rest, err := parseFile(r)
	if err != nil {
		return nil, err
	}
	if alloc == nil || rest["config"] == nil {
		return nil, fmt.Errorf(`%w: a genesis has the members "config" and "alloc"; `+
			`accounts alone go with --alloc and a --header`, ErrSyntax)
	}
	rest["alloc"] = json.RawMessage("{}")
	text, err := json.Marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	var g core.Genesis
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if g.Config == nil {
		return nil, fmt.Errorf(`%w: "config" is null`, ErrSyntax)
	}
	if g.IsUBT() {
		return nil, fmt.Errorf("%w: its state is a binary trie, not a Merkle-Patricia trie", ErrSyntax)
	}
	if g.Number > 1<<62 {
		return nil, fmt.Errorf("%w: number %d", ErrSyntax, g.Number)
	}
	out := &Genesis{Alloc: alloc}
	if id := g.Config.ChainID; id != nil {
		if !id.IsUint64() {
			return nil, fmt.Errorf("%w: chain id %s is above 64 bits", ErrSyntax, id)
		}
		out.ChainID = id.Uint64()
	}
	g.Alloc = alloc
	out.Header = g.ToBlock().Header()
	return out, nil
}

// ReadHeader reads a header: its RLP in hex, with or without 0x, or the path of a file that holds
// that, or the RLP itself.
func ReadHeader(hexOrPath string) (*types.Header, error) {
	if _, ok := unhex(hexOrPath); ok {
		h, err := decodeHeader([]byte(hexOrPath))
		if err != nil {
			return nil, fmt.Errorf("header: %w", err)
		}
		return h, nil
	}
	var h *types.Header
	err := limitedFile(hexOrPath, maxHeaderBytes, func(r io.Reader) error {
		text, err := io.ReadAll(r)
		if err == nil {
			h, err = decodeHeader(text)
		}
		return err
	})
	return h, err
}

// unhex gives the bytes of a non-empty hex string.
func unhex(s string) ([]byte, bool) {
	s = strings.TrimSpace(s)
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	b, err := hex.DecodeString(s)
	return b, err == nil && len(b) > 0
}

func decodeHeader(text []byte) (*types.Header, error) {
	enc, ok := unhex(string(text))
	if !ok {
		enc = bytes.TrimSpace(text)
	}
	h := new(types.Header)
	if err := rlp.DecodeBytes(enc, h); err != nil {
		return nil, fmt.Errorf("not the RLP of a header: %w", err)
	}
	return h, h.SanityCheck()
}
