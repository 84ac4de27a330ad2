package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/balsa-sync/balsa/test/conformance"
	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// ethProof is an answer of eth_getProof (EIP-1186).
type ethProof struct {
	Address      common.Address
	AccountProof []hexutil.Bytes
	Balance      *hexutil.U256
	CodeHash     common.Hash
	Nonce        hexutil.Uint64
	StorageHash  common.Hash
	StorageProof []struct {
		Key   common.Hash
		Value *hexutil.U256
		Proof []hexutil.Bytes
	}
}

func nodesOf(proof []hexutil.Bytes) [][]byte {
	nodes := make([][]byte, len(proof))
	for i := range proof {
		nodes[i] = proof[i]
	}
	return nodes
}

// TestProofOfWETHOnMainnet verifies the account of the WETH contract and one of its slots against
// the state root of mainnet block 23,223,655, and the header against its hash.
func TestProofOfWETHOnMainnet(t *testing.T) {
	var proof ethProof
	file := conformance.File(t, "proofs", "weth_mainnet_23223655_proof.json")
	if err := json.Unmarshal(file, &proof); err != nil {
		t.Fatal(err)
	}
	var header types.Header
	file = conformance.File(t, "proofs", "weth_block_header.json")
	if err := json.Unmarshal(file, &header); err != nil {
		t.Fatal(err)
	}
	hash := common.HexToHash("8d96f79997a305853cbb6886915209bccfb0c71156c2ed560b040f1d30fc3265")
	if header.Number.Uint64() != 23223655 || header.Hash() != hash {
		t.Fatalf("header of block %v has hash %x, want %x", header.Number, header.Hash(), hash)
	}
	key := crypto.Keccak256Hash(proof.Address[:])
	leaf, err := trie.VerifyProof(header.Root, key, nodesOf(proof.AccountProof))
	if err != nil {
		t.Fatal(err)
	}
	want, err := rlp.EncodeToBytes(&types.StateAccount{
		Nonce: uint64(proof.Nonce), Balance: (*uint256.Int)(proof.Balance),
		Root: proof.StorageHash, CodeHash: proof.CodeHash[:],
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(leaf, want) {
		t.Errorf("account leaf %x, want %x", leaf, want)
	}
	if len(proof.StorageProof) != 1 {
		t.Fatalf("%d storage proofs, want 1", len(proof.StorageProof))
	}
	for _, s := range proof.StorageProof {
		leaf, err := trie.VerifyProof(proof.StorageHash, crypto.Keccak256Hash(s.Key[:]),
			nodesOf(s.Proof))
		if err != nil {
			t.Fatal(err)
		}
		if want := slotLeaf(t, (*uint256.Int)(s.Value).Bytes32()); !bytes.Equal(leaf, want) {
			t.Errorf("slot leaf %x, want %x", leaf, want)
		}
		// Another slot's value is not what these nodes prove.
		other := crypto.Keccak256Hash([]byte("another slot"))
		_, err = trie.VerifyProof(proof.StorageHash, other, nodesOf(s.Proof))
		if !errors.Is(err, trie.ErrBadProof) {
			t.Errorf("the proof of one slot for another: %v", err)
		}
	}
}
