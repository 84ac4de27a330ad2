package actors

import (
	"cmp"
	"slices"
)

// Stats is a reading of a system's counters. They are read one after another, while they move.
type Stats struct {
	Actors      []ActorStats // the living ones, by path
	DeadLetters uint64       // user messages to nobody
	RefusedNils uint64       // nil messages
	Dropped     uint64       // user messages to actors that were stopping, stopped ones included
	AsksOpen    int          // asks that wait
	Goroutines  int          // of the own dispatcher, the parked ones included
}

// ActorStats is a reading of one actor's counters, over all its incarnations.
type ActorStats struct {
	Path      string
	Depth     int    // user messages that wait
	DepthMax  int    // the most that ever waited; 0 where a replaced mailbox does not tell
	Processed uint64 // user messages handed over
	Dropped   uint64 // user messages that came when it was stopping
	Restarts  uint64
	Recovered uint64 // panics while it was restarting or stopping
}

// Stats reads the counters. Any goroutine may call it.
func (s *System) Stats() Stats {
	st := Stats{
		DeadLetters: s.deadLetters.Load(),
		RefusedNils: s.refusedNils.Load(),
		Dropped:     s.dropped.Load(),
		AsksOpen:    int(s.asksOpen.Load()),
	}
	if s.pool != nil {
		st.Goroutines = int(s.pool.live.Load())
	}
	s.mu.RLock()
	cells := make([]*cell, 0, len(s.cells))
	for _, c := range s.cells {
		cells = append(cells, c)
	}
	s.mu.RUnlock()
	slices.SortFunc(cells, func(a, b *cell) int { return cmp.Compare(a.id, b.id) })
	st.Actors = make([]ActorStats, len(cells))
	for i, c := range cells {
		st.Actors[i] = c.stats()
	}
	return st
}
