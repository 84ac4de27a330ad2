package chaingen

// emptyOneIn is how rare empty blocks are in a mix.
const emptyOneIn = 16

// fillMix splits a block between two to four families. One of them follows from the block
// number, so that a chain with as many blocks as there are families has something of each.
func fillMix(b *block, n int) {
	if b.rng.IntN(emptyOneIn) == 0 {
		b.setCoinbase(b.proposer())
		return
	}
	b.mixCoinbase()
	families := plainFamilies()
	parts := 2 + b.rng.IntN(3)
	next := int(b.number) % len(families)
	for ; parts > 0 && n > 0; parts-- {
		share := n
		if parts > 1 {
			share = 1 + b.rng.IntN(max(1, 2*n/parts))
		}
		before := b.sent
		families[next].fill(b, share)
		n -= b.sent - before
		next = b.rng.IntN(len(families))
	}
}

// mixCoinbase draws who gets the fees: mostly a proposer, at times an account that the fees
// create, or one that the block's transactions use.
func (b *block) mixCoinbase() {
	switch b.rng.IntN(6) {
	case 0:
		b.setCoinbase(b.freshAddress())
	case 1:
		holder := b.holder()
		b.setCoinbase(holder)
		b.transfer(holder, b.amount())
	case 2:
		b.setCoinbase(b.sender().addr)
	case 3:
		b.setCoinbase(b.world.writers[b.rng.IntN(writerCount)])
	default:
		b.setCoinbase(b.proposer())
	}
}
