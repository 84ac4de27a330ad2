package chaingen

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/program"
)

// The contracts take their arguments as 32-byte words of call data without a selector, see args.

// forEach appends a loop that runs body for i = 0, 1, ... below the word of call data at offset
// countAt, then stops. body finds i on top of the stack and leaves it there.
func forEach(p *program.Program, countAt byte, body func(p *program.Program)) {
	p.Push(0)
	top := p.Label()
	p.Op(vm.JUMPDEST, vm.DUP1)
	p.Push(countAt).Op(vm.CALLDATALOAD, vm.GT) // count > i
	p.Op(vm.PUSH2).Append([]byte{0, 0})        // where the body starts, known below
	operand := p.Size() - 2
	p.Op(vm.JUMPI, vm.STOP)
	binary.BigEndian.PutUint16(p.Bytes()[operand:], uint16(p.Size()))
	p.Op(vm.JUMPDEST)
	body(p)
	p.Push(1).Op(vm.ADD)
	p.Op(vm.PUSH2).Append([]byte{byte(top >> 8), byte(top)}).Op(vm.JUMP)
}

// writerCode takes (start, count, value) and stores (i+1) x value in slot start+i for every i
// below count: a value of zero clears them. Without call data it does nothing, so it accepts
// plain transfers.
func writerCode() []byte {
	p := program.New()
	forEach(p, 32, func(p *program.Program) {
		p.Push(64).Op(vm.CALLDATALOAD).Op(vm.DUP2).Push(1).Op(vm.ADD, vm.MUL)
		p.Op(vm.DUP2).Push(0).Op(vm.CALLDATALOAD, vm.ADD)
		p.Op(vm.SSTORE)
	})
	return p.Bytes()
}

// payerCode takes (first, count, amount) and calls the count addresses from first on, sending
// amount wei to each.
func payerCode() []byte {
	p := program.New()
	forEach(p, 32, func(p *program.Program) {
		p.Push0().Push0().Push0().Push0() // no output, no input
		p.Push(64).Op(vm.CALLDATALOAD)
		p.Op(vm.DUP6).Push(0).Op(vm.CALLDATALOAD, vm.ADD)
		p.Op(vm.GAS, vm.CALL, vm.POP)
	})
	return p.Bytes()
}

// factoryCode takes (salt, count) and deploys initcode by CREATE2 under salt, salt+1, ...
func factoryCode(initcode []byte) []byte {
	p := program.New().Mstore(initcode, 0)
	forEach(p, 32, func(p *program.Program) {
		p.Op(vm.DUP1).Push(0).Op(vm.CALLDATALOAD, vm.ADD)
		p.Push(len(initcode)).Push(0).Push(0)
		p.Op(vm.CREATE2, vm.POP)
	})
	return p.Bytes()
}

// twinCode is what the factories deploy: code that only has to be recognised.
func twinCode(version byte) []byte {
	return append([]byte{byte(vm.STOP), version}, "the same code under many addresses"...)
}

// deployer gives the initcode of a contract with the given code that first stores 1, 2, ... in
// the slots 0, 1, ... below slots.
func deployer(code []byte, slots int) []byte {
	p := program.New()
	for i := range slots {
		p.Sstore(i, i+1)
	}
	return p.ReturnViaCodeCopy(code).Bytes()
}

// phoenixCode takes (salt) and deploys initcode by CREATE2, passing on the value of the call.
func phoenixCode(initcode []byte) []byte {
	p := program.New().Mstore(initcode, 0)
	p.Push(0).Op(vm.CALLDATALOAD)
	p.Push(len(initcode)).Push(0).Op(vm.CALLVALUE)
	return p.Op(vm.CREATE2, vm.POP, vm.STOP).Bytes()
}

// ashInit is the initcode of a contract that writes two slots and destroys itself before it has
// any code; what it owns goes to its creator.
func ashInit() []byte {
	return program.New().Sstore(1, 42).Sstore(2, 43).Op(vm.CALLER, vm.SELFDESTRUCT).Bytes()
}

// emberInit is the initcode of a contract that destroys itself in favour of itself: since
// EIP-8246 what it owns stays, on an account without nonce, code and storage.
func emberInit() []byte {
	return program.New().Sstore(1, 42).Op(vm.ADDRESS, vm.SELFDESTRUCT).Bytes()
}

// quitterCode takes (beneficiary) and destroys itself: EIP-6780 lets only the balance go, unless
// the contract is as young as the transaction.
func quitterCode() []byte {
	return program.New().Push(0).Op(vm.CALLDATALOAD, vm.SELFDESTRUCT).Bytes()
}

// quitterInit is the initcode of quitterCode with one slot of storage.
func quitterInit() []byte {
	return deployer(quitterCode(), 1)
}

// mayflyCode takes (salt, beneficiary), deploys a quitter by CREATE2 with the value of the call
// and calls it, so that it lives within the call only.
func mayflyCode() []byte {
	initcode := quitterInit()
	p := program.New().Mstore(initcode, 0)
	p.Push(0).Op(vm.CALLDATALOAD)
	p.Push(len(initcode)).Push(0).Op(vm.CALLVALUE).Op(vm.CREATE2)
	p.Push(32).Op(vm.CALLDATALOAD).Push(0).Op(vm.MSTORE)
	p.Push0().Push0().Push(32).Push(0).Push(0) // output, input, value
	return p.Op(vm.DUP6, vm.GAS, vm.CALL, vm.POP, vm.STOP).Bytes()
}

// reverterCode writes two slots and takes everything back.
func reverterCode() []byte {
	return program.New().Sstore(0, 1).Sstore(1, 2).Push0().Push0().Op(vm.REVERT).Bytes()
}
