package simulation

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/state"
)

// main is a run: a state is built, and lives through what the seed brings.
func (r *run) main() {
	r.open()
	r.processes++
	genesis := r.chain.genesis()
	r.build(genesis, false)
	r.head = genesis
	r.path, r.pos = []*block{genesis}, 0
	r.begin()
	r.quiet("built")
	for range 2 + r.planRNG.IntN(6) {
		r.operation()
	}
	r.ending()
}

// begin starts the actors for blocks; a process that ends over it is followed by another.
func (r *run) begin() {
	if r.over() {
		r.restart()
		return
	}
	r.start()
}

// operation draws what the embedder does next.
func (r *run) operation() {
	switch n := r.planRNG.IntN(16); {
	case n < 6:
		r.extend(1 + r.planRNG.IntN(8))
	case n < 10:
		r.reorg()
	case n < 12:
		r.wrong()
	case n == 12:
		r.again(r.head.ancestor(r.planRNG.IntN(4)))
	case n == 13:
		r.reopen()
	case n == 14:
		r.rebuildAll()
	default:
		r.look()
	}
	r.quiet("quiet")
}

func (r *run) extend(n int) {
	var blocks []*block
	at := r.head
	for range n {
		at = r.chain.next(at)
		blocks = append(blocks, at)
	}
	r.blocks += n
	r.apply(blocks)
}

// reorg goes back to an ancestor, and on along another branch.
func (r *run) reorg() {
	to := r.head.ancestor(1 + r.planRNG.IntN(6))
	r.blocks += int(r.head.number() - to.number())
	r.rewind(to)
	if r.planRNG.IntN(3) == 0 {
		r.quiet("rewound")
	}
	r.extend(r.planRNG.IntN(5))
}

// reopen ends the process in order and starts another.
func (r *run) reopen() {
	r.restart()
}

// rebuildAll makes all tries again from the flat rows (I7).
func (r *run) rebuildAll() {
	r.stopForBuild()
	r.build(r.head, true)
	r.begin()
}

// stopForBuild has the block actors stop: a rebuild has the store for itself.
func (r *run) stopForBuild() {
	r.checkLetters()
	r.closeViews()
	r.stopActors()
}

// wrong sends a block that is to be refused.
func (r *run) wrong() {
	b := r.chain.next(r.head)
	other := r.chain.next(r.head)
	switch r.planRNG.IntN(6) {
	case 0:
		w := wrongBlock(b, func(b *block) { b.header.Root = flip(b.header.Root) })
		r.refuse(w, b.list, balactor.ErrWrongRoot)
	case 1:
		w := wrongBlock(b, func(b *block) {
			h := flip(*b.header.BlockAccessListHash)
			b.header.BlockAccessListHash = &h
		})
		r.refuse(w, b.list, balactor.ErrBALHash)
	case 2:
		r.refuse(r.chain.next(b), b.list, balactor.ErrUnknownParent)
	case 3:
		r.refuse(b, nil, balactor.ErrNoBAL)
	case 4:
		w := wrongBlock(b, func(w *block) {
			h := bal.Hash(other.list)
			w.header.BlockAccessListHash, w.txs = &h, other.txs
		})
		if other.header.Root != b.header.Root {
			r.refuse(w, other.list, balactor.ErrWrongRoot)
		}
	case 5:
		w := wrongBlock(b, func(b *block) { b.header.Number.SetUint64(b.number() + 1) })
		r.refuse(w, b.list, balactor.ErrUnknownParent)
	}
}

// look takes a snapshot that is held while the store goes on.
func (r *run) look() {
	if len(r.node.views) < 3 {
		r.node.views = append(r.node.views, view{r.node.store.NewSnapshot(), r.head})
	}
}

// checkViews reads what snapshots show: the state at the block that they were taken at.
func (r *run) checkViews() {
	r.faults.silent(func() {
		for _, v := range r.node.views {
			r.checkView(v.sn, v.at)
		}
	})
	r.halt()
}

func (r *run) checkView(sn *state.Snapshot, at *block) {
	if c, ok := sn.Cursor(); !ok || c.Hash != at.hash {
		r.fail("a snapshot of %s stands at %v", name(at), c)
		return
	}
	for range 4 {
		addr := r.chain.addresses[r.planRNG.IntN(len(r.chain.addresses))]
		slot := r.chain.slots[r.planRNG.IntN(len(r.chain.slots))]
		want := at.world[addr]
		a, ok, err := sn.Account(addrHashes[addr])
		if err != nil || ok != (want != nil) {
			r.fail("a snapshot of %s has account %s: %v, %v", name(at), addr, ok, err)
			return
		}
		value := common.Hash{}
		if want != nil {
			value = want.slots[slot]
			if a.Nonce != want.nonce || a.Balance != want.balance || a.CodeHash != want.codeHash() ||
				a.StorageRoot != want.storageRoot() {
				r.fail("a snapshot of %s has account %s as %+v", name(at), addr, a)
			}
		}
		if got, err := sn.Slot(addrHashes[addr], slotHashes[slot]); err != nil || got != value {
			r.fail("a snapshot of %s has slot %s of %s = %s, %v, want %s", name(at), slot, addr, got,
				err, value)
		}
	}
}

// ending stops the faults: from then on everything has to go well, and what was acknowledged has to
// be there in the end.
func (r *run) ending() {
	r.faults.stop()
	r.extend(2)
	r.quiet("without faults")
	r.restart()
	r.extend(1)
	r.quiet("the end")
	r.end()
}
