package balbench

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/bal"
)

const (
	// GasLimit of every block: 200,000 items of an access list (EIP-7928).
	GasLimit = 400_000_000
	// Transactions of every block.
	Transactions = 200
)

// NewHeader is the Amsterdam header of the block after parent with an access list.
func NewHeader(parent *types.Header, root common.Hash, list []byte) *types.Header {
	number := new(big.Int).Add(parent.Number, big.NewInt(1))
	zero, slot, listHash := uint64(0), number.Uint64(), bal.Hash(list)
	h := &types.Header{
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash,
		ReceiptHash: types.EmptyReceiptsHash, Root: root,
		Difficulty: new(big.Int), Number: number, GasLimit: GasLimit, Time: 12 * slot,
		BaseFee: big.NewInt(7), WithdrawalsHash: &types.EmptyWithdrawalsHash,
		BlobGasUsed: &zero, ExcessBlobGas: &zero, ParentBeaconRoot: &common.Hash{},
		RequestsHash: &types.EmptyRequestsHash, BlockAccessListHash: &listHash, SlotNumber: &slot,
	}
	if number.Sign() > 0 {
		h.ParentHash = parent.Hash()
	}
	return h
}
