package blockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"
)

// payloadParams is what an engine_newPayload request carries beside the payload and the header
// needs. Versioned hashes are no part of a header.
type payloadParams struct {
	beaconRoot *common.Hash    // from V3 on (EIP-4788)
	requests   []hexutil.Bytes // from V4 on (EIP-7685); nil: none, empty: an empty list
}

// decodeParams reads the params behind the payload: versioned hashes, parent beacon root, requests.
func decodeParams(rest []json.RawMessage) (*payloadParams, error) {
	p := new(payloadParams)
	if len(rest) > 1 && rest[1] != nil {
		if err := json.Unmarshal(rest[1], &p.beaconRoot); err != nil {
			return nil, fmt.Errorf("parent beacon root: %w", err)
		}
	}
	if len(rest) > 2 && rest[2] != nil {
		if err := json.Unmarshal(rest[2], &p.requests); err != nil {
			return nil, fmt.Errorf("execution requests: %w", err)
		}
	}
	return p, nil
}

// rebuildHeader makes the header of a payload as the Engine API says (execution-apis, paris.md
// "Payload validation" and its successors up to amsterdam.md), and checks its hash. The
// transactions are taken as bytes: their root needs no more.
func rebuildHeader(p *engine.ExecutableData, params *payloadParams) (*types.Header, error) {
	if len(p.LogsBloom) != types.BloomByteLength {
		return nil, fmt.Errorf("%w: logsBloom has %d bytes", ErrSyntax, len(p.LogsBloom))
	}
	if slices.Contains(p.Withdrawals, nil) {
		return nil, fmt.Errorf("%w: a withdrawal is null", ErrSyntax)
	}
	h := headerOf(p)
	if params == nil {
		return matchBare(h, p.BlockHash)
	}
	h.ParentBeaconRoot = params.beaconRoot
	if params.requests != nil {
		requests := make([][]byte, len(params.requests))
		for i, r := range params.requests {
			requests[i] = r
		}
		hash := types.CalcRequestsHash(requests)
		h.RequestsHash = &hash
	}
	if got := h.Hash(); got != p.BlockHash {
		return nil, fmt.Errorf("%w: payload and params hash to %s", ErrBlockHash, got)
	}
	return h, nil
}

// headerOf gives what a payload alone says of its header.
func headerOf(p *engine.ExecutableData) *types.Header {
	h := &types.Header{
		ParentHash:    p.ParentHash,
		UncleHash:     types.EmptyUncleHash,
		Coinbase:      p.FeeRecipient,
		Root:          p.StateRoot,
		TxHash:        types.DeriveSha(rawList(p.Transactions), trie.NewStackTrie(nil)),
		ReceiptHash:   p.ReceiptsRoot,
		Bloom:         types.BytesToBloom(p.LogsBloom),
		Difficulty:    new(big.Int),
		Number:        new(big.Int).SetUint64(p.Number),
		GasLimit:      p.GasLimit,
		GasUsed:       p.GasUsed,
		Time:          p.Timestamp,
		Extra:         p.ExtraData,
		MixDigest:     p.Random,
		BaseFee:       p.BaseFeePerGas,
		BlobGasUsed:   p.BlobGasUsed,
		ExcessBlobGas: p.ExcessBlobGas,
		SlotNumber:    p.SlotNumber,
	}
	if p.Withdrawals != nil {
		root := types.DeriveSha(types.Withdrawals(p.Withdrawals), trie.NewStackTrie(nil))
		h.WithdrawalsHash = &root
	}
	if p.BlockAccessList != nil {
		hash := crypto.Keccak256Hash(p.BlockAccessList)
		h.BlockAccessListHash = &hash
	}
	return h
}

// matchBare tries what a bare payload does not say: no parent beacon root and no requests, then
// those of a chain that has them and leaves them empty.
func matchBare(h *types.Header, want common.Hash) (*types.Header, error) {
	for _, beaconRoot := range []*common.Hash{nil, {}} {
		for _, requests := range []*common.Hash{nil, &types.EmptyRequestsHash} {
			h := types.CopyHeader(h)
			h.ParentBeaconRoot, h.RequestsHash = beaconRoot, requests
			if h.Hash() == want {
				return h, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the payload's header needs the parent beacon root and the execution "+
		"requests, which only the whole engine_newPayload request has", ErrBarePayload)
}

// rawList is a list of encoded items to take the root of.
type rawList [][]byte

func (l rawList) Len() int                           { return len(l) }
func (l rawList) EncodeIndex(i int, w *bytes.Buffer) { w.Write(l[i]) }
