package chaingen

import (
	"crypto/ecdsa"
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// Shape of the genesis. The counts that do not scale are powers of two of no deeper meaning:
// enough that random choices among them repeat some and leave some alone.
const (
	chainID          = 7928 // of no public network; the number of the EIP
	genesisTime      = 1_700_000_000
	proposerCount    = 8
	writerCount      = 16
	authorityCount   = 8
	destroyedPrepaid = 32 // addresses that create-destroy will use, funded in the genesis
	holdersPerTx     = 16
	// writerSlots is how many slots, from 0, the writers use: few enough that recipes that draw
	// ranges of it overwrite what others have written.
	writerSlots = 64
	// pendulumRest is what slot 0 of the pendulum holds between blocks.
	pendulumRest = 7
)

// signer is an account that the generator can sign for.
type signer struct {
	key  *ecdsa.PrivateKey
	addr common.Address
}

// world is what the genesis holds, and the source of addresses that all branches share.
type world struct {
	seed     uint64
	size     int
	config   *params.ChainConfig
	txSigner types.Signer

	senders     []signer         // pay for all transactions
	authorities []signer         // existing accounts that sign EIP-7702 authorisations
	holders     []common.Address // plain accounts that receive
	proposers   []common.Address // fee recipients
	writers     []common.Address // writerCode, the i-th with 4*i slots in the genesis
	single      common.Address   // writerCode with one slot
	pendulum    common.Address   // writerCode, slot 0 always back at pendulumRest after a block
	payer       common.Address
	factories   []common.Address // factoryCode: twins without, and with, storage
	ashes       common.Address   // phoenixCode(ashInit)
	embers      common.Address   // phoenixCode(emberInit)
	mayfly      common.Address
	quitter     common.Address
	reverter    common.Address
}

func newWorld(seed uint64, size int) *world {
	config := *params.MergedTestChainConfig
	config.ChainID = big.NewInt(chainID)
	config.AmsterdamTime = new(uint64)
	w := &world{seed: seed, size: size, config: &config, txSigner: types.LatestSigner(&config)}
	for i := range 16 + size {
		w.senders = append(w.senders, w.signer("sender", uint64(i), 0))
	}
	for i := range authorityCount {
		w.authorities = append(w.authorities, w.signer("authority", uint64(i), 0))
	}
	w.holders = w.addresses("holder", holdersPerTx*(size+4))
	w.proposers = w.addresses("proposer", proposerCount)
	w.writers = w.addresses("writer", writerCount)
	w.factories = w.addresses("factory", 2)
	for _, c := range []struct {
		addr *common.Address
		name string
	}{
		{&w.single, "single"}, {&w.pendulum, "pendulum"}, {&w.payer, "payer"},
		{&w.ashes, "ashes"}, {&w.embers, "embers"}, {&w.mayfly, "mayfly"},
		{&w.quitter, "quitter"}, {&w.reverter, "reverter"},
	} {
		*c.addr = w.address(c.name, 0, 0)
	}
	return w
}

// digest derives 32 bytes from the seed, a label and two numbers. Different labels never meet:
// the numbers and the seed have fixed widths.
func (w *world) digest(label string, a, b uint64) common.Hash {
	buf := append([]byte("balsa chaingen/"), label...)
	for _, v := range [...]uint64{w.seed, a, b} {
		buf = binary.BigEndian.AppendUint64(buf, v)
	}
	return crypto.Keccak256Hash(buf)
}

func (w *world) address(label string, a, b uint64) common.Address {
	d := w.digest(label, a, b)
	return common.BytesToAddress(d[12:])
}

func (w *world) addresses(label string, n int) []common.Address {
	list := make([]common.Address, n)
	for i := range list {
		list[i] = w.address(label, uint64(i), 0)
	}
	return list
}

func (w *world) signer(label string, a, b uint64) signer {
	return signerOf(w.digest("key/"+label, a, b))
}

// signerOf makes a key of a digest; the few digests that are no valid key are hashed on.
func signerOf(d common.Hash) signer {
	for {
		if key, err := crypto.ToECDSA(d[:]); err == nil {
			return signer{key: key, addr: crypto.PubkeyToAddress(key.PublicKey)}
		}
		d = crypto.Keccak256Hash(d[:])
	}
}

// salt is the CREATE2 salt that create-destroy uses in a block, the same on every branch.
func (w *world) salt(number, index uint64) common.Hash {
	return w.digest("salt", number, index)
}

// ashAddress is where the ashes contract creates (and destroys) under a salt.
func (w *world) ashAddress(salt common.Hash) common.Address {
	return crypto.CreateAddress2(w.ashes, salt, crypto.Keccak256(ashInit()))
}

// prepaidSalt is the i-th salt whose address the genesis funds.
func (w *world) prepaidSalt(i uint64) common.Hash {
	return w.digest("prepaid", i%destroyedPrepaid, 0)
}

// gasLimit leaves room for Size transactions at the largest gas limit, twice: blocks below half
// of it never raise the base fee, and the access list's item limit (a 2,000th of it) is far away.
func (w *world) gasLimit() uint64 {
	return 60_000_000 + 2*callGas*uint64(w.size)
}

// genesis makes the genesis: the system contracts, the accounts and the contracts of the world.
func (w *world) genesis() *core.Genesis {
	alloc := core.SystemContractAllocs()
	for _, s := range w.senders {
		alloc[s.addr] = types.Account{Balance: ether(1_000_000)}
	}
	for _, s := range w.authorities {
		alloc[s.addr] = types.Account{Balance: ether(1)}
	}
	for i, addr := range w.holders {
		// Balances of one to a dozen bytes: the leaf's size is part of the trie's shape.
		wei := new(big.Int).Lsh(big.NewInt(int64(i+1)), uint(i*8%88))
		alloc[addr] = types.Account{Balance: wei}
	}
	for _, addr := range w.proposers {
		alloc[addr] = types.Account{Balance: ether(32)}
	}
	for i := range uint64(destroyedPrepaid) {
		alloc[w.ashAddress(w.prepaidSalt(i))] = types.Account{Balance: big.NewInt(int64(i + 1))}
	}
	w.deploy(alloc)
	return &core.Genesis{
		Config:     w.config,
		Timestamp:  genesisTime,
		ExtraData:  []byte("balsa sample chain"),
		GasLimit:   w.gasLimit(),
		Difficulty: new(big.Int),
		BaseFee:    big.NewInt(params.InitialBaseFee),
		Alloc:      alloc,
	}
}

// deploy puts the contracts into the genesis.
func (w *world) deploy(alloc types.GenesisAlloc) {
	contract := func(addr common.Address, code []byte, slots int) {
		a := types.Account{Nonce: 1, Balance: new(big.Int), Code: code}
		if slots > 0 {
			a.Storage = make(map[common.Hash]common.Hash, slots)
		}
		for i := range uint64(slots) {
			// Values of one to 32 bytes, so that small nodes are embedded in their parents.
			v := w.digest("slot", i, uint64(slots))
			clear(v[:i%common.HashLength])
			v[31] |= 1
			a.Storage[common.BigToHash(new(big.Int).SetUint64(i))] = v
		}
		alloc[addr] = a
	}
	for i, addr := range w.writers {
		contract(addr, writerCode(), 4*i)
	}
	contract(w.single, writerCode(), 1)
	contract(w.pendulum, writerCode(), 0)
	pendulum := alloc[w.pendulum]
	pendulum.Storage = map[common.Hash]common.Hash{{}: common.BigToHash(big.NewInt(pendulumRest))}
	alloc[w.pendulum] = pendulum
	contract(w.payer, payerCode(), 0)
	contract(w.factories[0], factoryCode(deployer(twinCode(0), 0)), 0)
	contract(w.factories[1], factoryCode(deployer(twinCode(1), 2)), 0)
	contract(w.ashes, phoenixCode(ashInit()), 0)
	contract(w.embers, phoenixCode(emberInit()), 0)
	contract(w.mayfly, mayflyCode(), 0)
	contract(w.quitter, quitterCode(), 2)
	contract(w.reverter, reverterCode(), 0)
}

func ether(n int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether))
}
