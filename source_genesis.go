package balsa

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// Genesis is a state to start from: that of block 0, or of any block whose header is known.
type Genesis struct {
	ChainID uint64
	Header  *types.Header // of the block after which the state is this
	Alloc   map[common.Address]types.Account
}

// genesisSource gives the rows of a Genesis.
type genesisSource struct {
	g       Genesis
	entries []allocEntry // ascending by hash
	mark    string
	pending []Row // of the account that is under way, the next first
}

// allocEntry is an account of a genesis under its key in the state.
type allocEntry struct {
	hash common.Hash
	addr common.Address
}

// GenesisSource gives a genesis as a Source.
func GenesisSource(g Genesis) (Source, error) {
	s := &genesisSource{g: g, entries: make([]allocEntry, 0, len(g.Alloc))}
	for addr := range g.Alloc {
		s.entries = append(s.entries, allocEntry{keccak.Sum(addr[:]), addr})
	}
	slices.SortFunc(s.entries, func(a, b allocEntry) int {
		return bytes.Compare(a.hash[:], b.hash[:])
	})
	sum := sha256.New()
	for _, e := range s.entries {
		rows, err := accountRows(e.hash, g.Alloc[e.addr])
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", e.addr, err)
		}
		digestRows(sum, rows)
	}
	s.mark = "genesis " + hex.EncodeToString(sum.Sum(nil)[:16])
	return s, nil
}

// digestRows takes rows into a digest, each field behind its length.
func digestRows(sum hash.Hash, rows []Row) {
	var buf []byte
	for i := range rows {
		r := &rows[i]
		value := r.Value
		if r.Kind == AccountRow {
			value = r.Account.AppendSlim(nil)
		}
		buf = append(buf[:0], byte(r.Kind))
		buf = append(append(buf, r.Hash[:]...), r.Slot[:]...)
		buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(value))), value...)
		sum.Write(buf)
	}
}

// Target implements Source.
func (s *genesisSource) Target() (uint64, *types.Header) { return s.g.ChainID, s.g.Header }

// Mark implements Source.
func (s *genesisSource) Mark() string { return s.mark }

// Next implements Source.
func (s *genesisSource) Next() (*Row, error) {
	if len(s.pending) == 0 {
		if len(s.entries) == 0 {
			return nil, io.EOF
		}
		e := s.entries[0]
		s.entries = s.entries[1:]
		rows, err := accountRows(e.hash, s.g.Alloc[e.addr])
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", e.addr, err)
		}
		s.pending = rows
	}
	r := &s.pending[0]
	s.pending = s.pending[1:]
	return r, nil
}

// accountRows gives an account of a genesis, its code and its slots. A slot of value zero does not
// exist.
func accountRows(hash common.Hash, from types.Account) ([]Row, error) {
	a := state.NewAccount()
	a.Nonce = from.Nonce
	if err := setBalance(&a.Balance, from.Balance); err != nil {
		return nil, err
	}
	rows := make([]Row, 1, 2+len(from.Storage))
	if len(from.Code) > 0 {
		a.CodeHash = keccak.Sum(from.Code)
		rows = append(rows, Row{Kind: CodeRow, Hash: a.CodeHash, Value: from.Code})
	}
	first := len(rows)
	for k, v := range from.Storage {
		if v != (common.Hash{}) {
			rows = append(rows, Row{
				Kind: SlotRow, Hash: hash, Slot: keccak.Sum(k[:]), Value: state.EncodeSlot(v),
			})
		}
	}
	slots := rows[first:]
	slices.SortFunc(slots, func(a, b Row) int { return bytes.Compare(a.Slot[:], b.Slot[:]) })
	if len(slots) > 0 {
		a.StorageRoot = UnknownRoot
	}
	rows[0] = Row{Kind: AccountRow, Hash: hash, Account: a}
	return rows, nil
}

func setBalance(to *uint256.Int, from *big.Int) error {
	if from == nil {
		return nil
	}
	balance, overflow := uint256.FromBig(from)
	if overflow || from.Sign() < 0 {
		return fmt.Errorf("balance %s is not a number of 256 bits", from)
	}
	*to = *balance
	return nil
}
