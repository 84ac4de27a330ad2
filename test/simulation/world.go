package simulation

import (
	"bytes"
	"maps"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

const (
	chainID  = 7
	gasLimit = 30_000_000
)

// account is an account of the oracle. It never changes: a block makes another one.
type account struct {
	nonce   uint64
	balance uint256.Int
	code    []byte
	slots   map[common.Hash]common.Hash // never zero

	root common.Hash // of the storage trie, once asked for
}

func (a *account) clone() *account {
	c := *a
	c.slots, c.root = maps.Clone(a.slots), common.Hash{}
	if c.slots == nil {
		c.slots = map[common.Hash]common.Hash{}
	}
	return &c
}

// empty is empty in the sense of EIP-161.
func (a *account) empty() bool { return a.nonce == 0 && a.balance.IsZero() && len(a.code) == 0 }

func (a *account) codeHash() common.Hash {
	if len(a.code) == 0 {
		return types.EmptyCodeHash
	}
	return crypto.Keccak256Hash(a.code)
}

// storageRoot is go-ethereum's.
func (a *account) storageRoot() common.Hash {
	if a.root == (common.Hash{}) {
		t := trie.NewStackTrie(nil)
		for _, slot := range byHash(a.slots, slotHashes) {
			h := slotHashes[slot]
			if err := t.Update(h[:], slotRLP(a.slots[slot])); err != nil {
				panic(err)
			}
		}
		a.root = t.Hash()
	}
	return a.root
}

func (a *account) state() types.StateAccount {
	code := a.codeHash()
	return types.StateAccount{
		Nonce: a.nonce, Balance: &a.balance, Root: a.storageRoot(), CodeHash: code[:],
	}
}

func slotRLP(v common.Hash) []byte {
	b, err := rlp.EncodeToBytes(bytes.TrimLeft(v[:], "\x00"))
	if err != nil {
		panic(err)
	}
	return b
}

// world is a state: the oracle's.
type world map[common.Address]*account

// root is go-ethereum's, from scratch.
func (w world) root() common.Hash {
	t := trie.NewStackTrie(nil)
	for _, addr := range byHash(w, addrHashes) {
		s := w[addr].state()
		b, err := rlp.EncodeToBytes(&s)
		if err != nil {
			panic(err)
		}
		h := addrHashes[addr]
		if err := t.Update(h[:], b); err != nil {
			panic(err)
		}
	}
	return t.Hash()
}

// block is a block of the simulated chain, with the state behind it.
type block struct {
	parent   *block // nil: the genesis
	header   *types.Header
	hash     common.Hash
	list     []byte // the raw block access list
	txs      int
	world    world
	codes    [][]byte // that accounts got in it
	accounts int      // changed
	slots    int      // changed

	rows map[string]string // that a store has at it; see rowsAt
}

func (b *block) number() uint64 { return b.header.Number.Uint64() }

func (b *block) ancestor(depth int) *block {
	for ; depth > 0 && b.parent != nil; depth-- {
		b = b.parent
	}
	return b
}

// header makes a header that lacks nothing that Amsterdam's have.
func newHeader(number uint64, parent, root common.Hash, list []byte) *types.Header {
	zero, slot := uint64(0), number
	h := crypto.Keccak256Hash(list)
	return &types.Header{
		ParentHash: parent, UncleHash: types.EmptyUncleHash, Root: root,
		TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash,
		Difficulty: new(big.Int), Number: new(big.Int).SetUint64(number),
		GasLimit: gasLimit, Time: 12 * number, BaseFee: big.NewInt(7),
		WithdrawalsHash: &types.EmptyWithdrawalsHash, BlobGasUsed: &zero, ExcessBlobGas: &zero,
		ParentBeaconRoot: &common.Hash{}, RequestsHash: &types.EmptyRequestsHash,
		BlockAccessListHash: &h, SlotNumber: &slot,
	}
}

// codesAt are the codes that a store has at the block: those of its branch, also of accounts that
// have others by now.
func (b *block) codesAt() map[common.Hash][]byte {
	codes := map[common.Hash][]byte{}
	for ; b != nil; b = b.parent {
		for _, c := range b.codes {
			codes[crypto.Keccak256Hash(c)] = c
		}
	}
	return codes
}
