package conformance_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/balsa-sync/balsa/test/conformance"
	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
	"github.com/klauspost/compress/zstd"
)

// storageLeaves returns the leaves of a storage trie by hashed slot; a zero slot has none.
func storageLeaves(t testing.TB, storage map[common.Hash]common.Hash) map[common.Hash][]byte {
	t.Helper()
	leaves := make(map[common.Hash][]byte, len(storage))
	for slot, value := range storage {
		if value != (common.Hash{}) {
			leaves[crypto.Keccak256Hash(slot[:])] = slotLeaf(t, value)
		}
	}
	return leaves
}

// slotLeaf is the RLP of a slot's value without its leading zeros.
func slotLeaf(t testing.TB, value common.Hash) []byte {
	t.Helper()
	return mustRLP(t, common.TrimLeftZeroes(value[:]))
}

func mustRLP(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// addTrie gives sorted leaves to the builder as one trie.
func addTrie(t testing.TB, b *trie.Builder, leaves map[common.Hash][]byte) (id int) {
	t.Helper()
	b.Begin(0)
	for _, key := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := b.Leaf(&key, leaves[key]); err != nil {
			t.Fatal(err)
		}
	}
	id, err := b.End()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// allocRoot builds all storage tries of a genesis state together, and then the account trie.
func allocRoot(t testing.TB, alloc types.GenesisAlloc) common.Hash {
	t.Helper()
	b := trie.NewBuilder(trie.Options{})
	storage := make(map[common.Address]int)
	for address, account := range alloc {
		storage[address] = addTrie(t, b, storageLeaves(t, account.Storage))
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	accounts := make(map[common.Hash][]byte, len(alloc))
	for address, account := range alloc {
		accounts[crypto.Keccak256Hash(address[:])] = mustRLP(t, &types.StateAccount{
			Nonce:    account.Nonce,
			Balance:  uint256.MustFromBig(account.Balance),
			Root:     b.Root(storage[address]),
			CodeHash: crypto.Keccak256(account.Code),
		})
	}
	id := addTrie(t, b, accounts)
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Root(id)
}

func TestGenesisRootsOfPublicChains(t *testing.T) {
	mainnet := common.HexToHash("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544")
	if got := allocRoot(t, core.DefaultGenesisBlock().Alloc); got != mainnet {
		t.Errorf("mainnet: root %x, want %x", got, mainnet)
	}
	// A block hash that the chain is known by, of the header with the root that was built.
	for _, c := range []struct {
		name    string
		genesis *core.Genesis
		hash    common.Hash
	}{
		{"mainnet", core.DefaultGenesisBlock(), params.MainnetGenesisHash},
		{"Sepolia", core.DefaultSepoliaGenesisBlock(), params.SepoliaGenesisHash},
		{"Hoodi", core.DefaultHoodiGenesisBlock(), params.HoodiGenesisHash},
	} {
		header := c.genesis.ToBlock().Header()
		header.Root = allocRoot(t, c.genesis.Alloc)
		if got := header.Hash(); got != c.hash {
			t.Errorf("%s: block hash %x with root %x, want %x", c.name, got, header.Root, c.hash)
		}
	}
}

// worldChainGenesis is the hash of World Chain's block 0 (chain 480), as its entry in the OP
// superchain registry has it: superchain/configs/mainnet/worldchain.toml, genesis.l2.hash.
var worldChainGenesis = common.HexToHash(
	"70d316d2e0973b62332ba2e9768dd7854298d7ffe77f0409ffdb8d859f2d3fa3")

// TestGenesisRootOfWorldChain builds the state of the registry's genesis file, which names no
// root, puts the root into the header that the file's other fields give, and compares the hash of
// that header with the block hash in the registry's chain configuration.
func TestGenesisRootOfWorldChain(t *testing.T) {
	packed := conformance.File(t, "superchain", "worldchain.json.zst")
	dec, err := zstd.NewReader(bytes.NewReader(packed),
		zstd.WithDecoderDicts(conformance.File(t, "superchain", "dictionary")),
		zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	var genesis core.Genesis
	if err := json.NewDecoder(dec).Decode(&genesis); err != nil {
		t.Fatal(err)
	}
	if len(genesis.Alloc) != 2340 {
		t.Fatalf("%d accounts, want 2340", len(genesis.Alloc))
	}
	// Ecotone (Cancun) is active at genesis.
	header := &types.Header{
		ParentHash: genesis.ParentHash, UncleHash: types.EmptyUncleHash, Coinbase: genesis.Coinbase,
		Root: allocRoot(t, genesis.Alloc), TxHash: types.EmptyTxsHash,
		ReceiptHash: types.EmptyReceiptsHash, Difficulty: genesis.Difficulty, Number: new(big.Int),
		GasLimit: genesis.GasLimit, GasUsed: genesis.GasUsed, Time: genesis.Timestamp,
		Extra: genesis.ExtraData, MixDigest: genesis.Mixhash,
		Nonce: types.EncodeNonce(genesis.Nonce), BaseFee: genesis.BaseFee,
		WithdrawalsHash: &types.EmptyWithdrawalsHash, BlobGasUsed: genesis.BlobGasUsed,
		ExcessBlobGas: genesis.ExcessBlobGas, ParentBeaconRoot: new(common.Hash),
	}
	if got := header.Hash(); got != worldChainGenesis {
		t.Errorf("block hash %x with root %x, want %x", got, header.Root, worldChainGenesis)
	}
}
