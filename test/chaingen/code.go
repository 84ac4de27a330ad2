package chaingen

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

func fillCreations(b *block, n int) {
	end := b.sent + n
	for turn := int(b.number); b.sent < end; turn++ {
		from := b.sender()
		switch turn % 6 {
		case 0: // no code: an account with a nonce
			b.create(from, nil, nil)
		case 1: // an account that had money before it became a contract
			addr := crypto.CreateAddress(from.addr, b.gen.TxNonce(from.addr)+1)
			b.send(from, &addr, transferGas, b.amount(), nil)
			b.create(from, b.amount(), deployer(b.code(), 0))
		case 2: // code from one transaction, storage from the next
			addr := b.create(from, nil, deployer(writerCode(), 0))
			b.call(addr, nil, args(0, 1+b.rng.IntN(12), b.word()))
		case 3:
			b.create(from, b.amount(), deployer(b.code(), 1+b.rng.IntN(8)))
		default:
			b.create(from, nil, deployer(b.code(), b.rng.IntN(3)))
		}
	}
}

// code draws code of 1 to 160 bytes that nobody will run: it begins with STOP, which also keeps
// it clear of the prefix that EIP-3541 forbids.
func (b *block) code() []byte {
	code := make([]byte, 1+b.rng.IntN(160))
	for i := range code[1:] {
		code[i+1] = byte(b.rng.Uint64())
	}
	return code
}

func fillCreate2(b *block, n int) {
	for i := range n {
		salt := b.fresh()
		switch (int(b.number) + i) % 4 {
		case 0: // the factory of EIP-7997: the salt, then the initcode
			code := deployer(twinCode(0), 0)
			b.call(params.DeterministicFactoryAddress, nil, append(salt[:], code...))
		case 1:
			b.call(b.world.factories[1], nil, args(salt, 1+b.rng.IntN(5)))
		default:
			b.call(b.world.factories[0], nil, args(salt, 1+b.rng.IntN(8)))
		}
	}
}

func fillAuthorisations(b *block, n int) {
	w := b.world
	end := b.sent + n
	for turn := b.number; b.sent < end; turn++ {
		// Blocks walk through the authorities at half the speed of the recipes: an authority is
		// set, changed and cleared over a dozen blocks, and others stay delegated.
		a := w.authorities[(turn-b.number/2)%authorityCount]
		set := func(to common.Address) delegation {
			return delegation{a, to, b.gen.TxNonce(a.addr)}
		}
		slots := 1 + b.rng.IntN(6)
		switch turn % 7 {
		case 0: // set, and storage written under the account at once
			b.delegate(b.sender(), a.addr, args(0, slots, b.word()), set(w.writers[0]))
		case 1: // another delegate
			b.delegate(b.sender(), b.holder(), nil, set(w.payer))
		case 2: // cleared; the storage stays where it is
			b.delegate(b.sender(), b.holder(), nil, set(common.Address{}))
		case 3: // set, its storage written and emptied again, then cleared
			b.delegate(b.sender(), a.addr, args(0, slots, b.word()), set(w.writers[0]))
			b.call(a.addr, nil, args(0, writerSlots, 0))
			b.delegate(b.sender(), b.holder(), nil, set(common.Address{}))
		case 4: // set; what is called is somebody else
			b.delegate(b.sender(), b.holder(), nil, set(w.writers[0]))
		case 5: // an account that exists by its authorisation alone
			newcomer := signerOf(b.fresh())
			ds := []delegation{{newcomer, w.writers[0], 0}}
			if b.rng.IntN(2) == 0 { // cleared by the same transaction
				ds = append(ds, delegation{newcomer, common.Address{}, 1})
			}
			b.delegate(b.sender(), b.holder(), nil, ds...)
		case 6: // the sender itself; its nonce has moved when the authorisation is looked at
			from := b.sender()
			nonce := b.gen.TxNonce(from.addr)
			b.delegate(from, from.addr, nil, delegation{from, w.writers[1], nonce + 1})
			b.delegate(from, from.addr, nil, delegation{from, common.Address{}, nonce + 3})
		}
	}
}

func fillCreateDestroy(b *block, n int) {
	w := b.world
	end := b.sent + n
	// What the block before has funded for this one, and what this one funds for the next.
	b.call(w.ashes, nil, args(w.salt(b.number, 0)))
	b.transfer(w.ashAddress(w.salt(b.number+1, 0)), b.amount())
	for turn := b.number; b.sent < end; turn++ {
		salt := w.salt(b.number, 1+turn-b.number)
		switch turn % 7 {
		case 0: // funded in the genesis, if nobody came before
			b.call(w.ashes, nil, args(w.prepaidSalt(turn)))
		case 1: // funded by one transaction, created and destroyed by the next
			b.transfer(w.ashAddress(salt), b.amount())
			b.call(w.ashes, b.amount(), args(salt))
		case 2: // destroyed in favour of itself: a balance stays
			b.call(w.embers, b.amount(), args(salt))
		case 3: // the same address again and again; nothing to keep, so nothing stays
			b.call(w.embers, nil, args(w.salt(0, 0)))
		case 4: // lives through a call, leaves its value to an old or a new account
			heir := b.holder()
			if b.rng.IntN(2) == 0 {
				heir = b.freshAddress()
			}
			b.call(w.mayfly, b.amount(), args(salt, heir))
		case 5: // by a creation transaction
			b.create(b.sender(), b.amount(), ashInit())
		case 6: // too old to be destroyed: only the balance goes
			b.call(w.quitter, b.amount(), args(b.holder()))
		}
	}
}
