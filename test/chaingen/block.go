package chaingen

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// Gas limits. A new account costs 183,600 of state gas and a new slot 97,920 (EIP-8037), so a
// transfer may need some 210,000 and the recipes that create most, below 3.5 million.
const (
	transferGas = 300_000
	callGas     = 4_000_000
)

// block is a block that is being filled.
type block struct {
	gen      *core.BlockGen
	world    *world
	rng      *rand.Rand
	number   uint64
	coinbase common.Address
	sent     int    // transactions and withdrawals so far
	derived  uint64 // fresh addresses and keys so far
}

// failure carries an error through the panics that core.GenerateChain lets through.
type failure struct{ err error }

// must ends the generation with an error; see failure.
func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// setCoinbase must come before the first transaction.
func (b *block) setCoinbase(addr common.Address) {
	b.coinbase = addr
	b.gen.SetCoinbase(addr)
}

func (b *block) sender() signer {
	return b.world.senders[b.rng.IntN(len(b.world.senders))]
}

func (b *block) proposer() common.Address {
	return b.world.proposers[b.rng.IntN(len(b.world.proposers))]
}

func (b *block) holder() common.Address {
	return b.world.holders[b.rng.IntN(len(b.world.holders))]
}

// fresh gives the digest behind a new address or key. Half of them depend on the seed and the
// block number only, so that the branches of a fork create the same accounts in different ways.
func (b *block) fresh() common.Hash {
	b.derived++
	if b.rng.IntN(2) == 0 {
		return b.world.digest("fresh", b.number, b.derived)
	}
	return b.world.digest("drawn", b.rng.Uint64(), b.rng.Uint64())
}

func (b *block) freshAddress() common.Address {
	d := b.fresh()
	return common.BytesToAddress(d[12:])
}

// amount draws a value of one wei to some ether, of any size in bytes in between.
func (b *block) amount() *big.Int {
	return new(big.Int).SetUint64(b.rng.Uint64()>>(2+b.rng.IntN(62)) + 1)
}

// word draws a storage value of 1 to 32 bytes that is not zero.
func (b *block) word() common.Hash {
	var v common.Hash
	for i := 0; i < len(v); i += 8 {
		binary.BigEndian.PutUint64(v[i:], b.rng.Uint64())
	}
	clear(v[:b.rng.IntN(len(v))])
	v[31] |= 1
	return v
}

// fee draws a tip of 0 to 2 gwei and a cap that covers the block's base fee.
func (b *block) fee() (tip, feeCap *big.Int) {
	tip = new(big.Int).Mul(big.NewInt(int64(b.rng.IntN(3))), big.NewInt(params.GWei))
	return tip, new(big.Int).Add(b.gen.BaseFee(), tip)
}

func (b *block) add(from signer, tx types.TxData) {
	signed, err := types.SignNewTx(from.key, b.world.txSigner, tx)
	must(err)
	b.gen.AddTx(signed)
	b.sent++
}

func (b *block) send(from signer, to *common.Address, gas uint64, value *big.Int, data []byte) {
	tip, feeCap := b.fee()
	b.add(from, &types.DynamicFeeTx{
		ChainID:   b.world.config.ChainID,
		Nonce:     b.gen.TxNonce(from.addr),
		GasTipCap: tip,
		GasFeeCap: feeCap,
		Gas:       gas,
		To:        to,
		Value:     value,
		Data:      data,
	})
}

// transfer sends value from one of the senders.
func (b *block) transfer(to common.Address, value *big.Int) {
	b.send(b.sender(), &to, transferGas, value, nil)
}

// call calls a contract with words of call data, as args makes them.
func (b *block) call(to common.Address, value *big.Int, data []byte) {
	b.send(b.sender(), &to, callGas, value, data)
}

// create sends a creation and gives the address of the contract.
func (b *block) create(from signer, value *big.Int, initcode []byte) common.Address {
	addr := crypto.CreateAddress(from.addr, b.gen.TxNonce(from.addr))
	b.send(from, nil, callGas, value, initcode)
	return addr
}

// delegation is one EIP-7702 authorisation to sign: the zero address clears.
type delegation struct {
	authority signer
	to        common.Address
	nonce     uint64
}

// delegate sends a transaction with authorisations that calls an account with the data.
func (b *block) delegate(from signer, to common.Address, data []byte, ds ...delegation) {
	tip, feeCap := b.fee()
	auths := make([]types.SetCodeAuthorization, len(ds))
	for i, d := range ds {
		auth, err := types.SignSetCode(d.authority.key, types.SetCodeAuthorization{
			ChainID: *uint256.MustFromBig(b.world.config.ChainID),
			Address: d.to,
			Nonce:   d.nonce,
		})
		must(err)
		auths[i] = auth
	}
	b.add(from, &types.SetCodeTx{
		ChainID:   uint256.MustFromBig(b.world.config.ChainID),
		Nonce:     b.gen.TxNonce(from.addr),
		GasTipCap: uint256.MustFromBig(tip),
		GasFeeCap: uint256.MustFromBig(feeCap),
		Gas:       callGas,
		To:        to,
		Value:     new(uint256.Int),
		Data:      data,
		AuthList:  auths,
	})
}

// withdraw adds a withdrawal of the amount, in gwei.
func (b *block) withdraw(to common.Address, gwei uint64) {
	b.gen.AddWithdrawal(&types.Withdrawal{
		Validator: b.rng.Uint64N(1 << 20),
		Address:   to,
		Amount:    gwei,
	})
	b.sent++
}

// args packs words of call data: integers, hashes, addresses and big integers.
func args(words ...any) []byte {
	var data []byte
	for _, w := range words {
		var h common.Hash
		switch v := w.(type) {
		case int:
			h = common.BigToHash(big.NewInt(int64(v)))
		case *big.Int:
			h = common.BigToHash(v)
		case common.Hash:
			h = v
		case common.Address:
			copy(h[12:], v[:])
		default:
			must(fmt.Errorf("chaingen: no call data word of a %T", w))
		}
		data = append(data, h[:]...)
	}
	return data
}
