package chaingen

func fillStorage(b *block, n int) {
	w := b.world
	end := b.sent + n
	for turn := int(b.number); b.sent < end; turn++ {
		writer := w.writers[b.rng.IntN(writerCount)]
		start, count := b.rng.IntN(writerSlots-12), 1+b.rng.IntN(12)
		switch turn % 9 {
		case 0: // cleared, whatever of it is there
			b.call(writer, nil, args(start, count, 0))
		case 1: // emptied; the contract stays
			b.call(writer, nil, args(0, writerSlots, 0))
		case 2: // a single slot comes and goes
			b.call(w.single, nil, args(0, 1, b.word()))
			b.call(w.single, nil, args(0, 1, 0))
			if b.rng.IntN(2) == 0 {
				b.call(w.single, nil, args(0, 1, b.word()))
			}
		case 3: // A -> B -> A across two transactions
			b.call(w.pendulum, nil, args(0, 1, b.word()))
			b.call(w.pendulum, nil, args(0, 1, pendulumRest))
		case 4: // a write that changes nothing counts as a read
			b.call(w.pendulum, nil, args(0, 1, pendulumRest))
		case 5: // far away from the rest, under hashes that no other slot has
			b.call(writer, nil, args(b.fresh(), count, b.word()))
		case 6: // written and taken back
			b.call(w.reverter, nil, nil)
		default: // written, or overwritten
			b.call(writer, nil, args(start, count, b.word()))
		}
	}
}
