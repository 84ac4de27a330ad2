package world

import "github.com/ethereum/go-ethereum/common"

// The journal is two lists, because changes of fields and of slots do not meet: an entry of one
// never restores what an entry of the other changed.
type (
	// fieldEntry is an account's fields before an operation.
	fieldEntry struct {
		object int32
		prev   fields
	}
	// slotEntry is a slot before a write.
	slotEntry struct {
		slot    int32
		written bool
		prev    common.Hash
	}
	// mark is the journal's length at a snapshot.
	mark struct{ changes, writes int }
)

// record notes an account's fields before they change, and that it is touched.
func (s *State) record(i int32, o *object) {
	s.changes = append(s.changes, fieldEntry{i, o.fields})
	if !o.touched {
		o.touched = true
		s.touched = append(s.touched, i)
	}
	o.exists = true
}

// Snapshot returns an id of the state as it stands, until the next Sweep or Commit.
func (s *State) Snapshot() int {
	s.snapshots = append(s.snapshots, mark{len(s.changes), len(s.writes)})
	return len(s.snapshots) - 1
}

// RevertToSnapshot takes back every operation since the snapshot, and the snapshots made since. It
// panics where the id is not that of a snapshot, or of one that was taken back or swept over.
func (s *State) RevertToSnapshot(id int) {
	m := s.snapshots[id]
	s.snapshots = s.snapshots[:id]
	for n := len(s.changes) - 1; n >= m.changes; n-- {
		e := &s.changes[n]
		s.objects[e.object].fields = e.prev
	}
	for n := len(s.writes) - 1; n >= m.writes; n-- {
		e := &s.writes[n]
		v := &s.slots[e.slot]
		v.cur, v.written = e.prev, e.written
	}
	s.changes, s.writes = s.changes[:m.changes], s.writes[:m.writes]
}

// Sweep ends a transaction: of the accounts that were touched since the last sweep, those that are
// empty (EIP-161: nonce zero, balance zero, no code) do not exist any more, nor do their slots.
// What came before can not be reverted any more. It fails with ErrOrphanSlot.
func (s *State) Sweep() error {
	for _, i := range s.touched {
		o := &s.objects[i]
		if !o.touched {
			continue // reverted, or there twice
		}
		o.touched = false
		if o.nonce != 0 || !o.balance.IsZero() || s.hasCode(o) {
			continue
		}
		if err := s.remove(o); err != nil {
			return err
		}
	}
	s.touched, s.changes, s.writes = s.touched[:0], s.changes[:0], s.writes[:0]
	s.snapshots = s.snapshots[:0]
	return nil
}

// remove makes an empty account absent.
func (s *State) remove(o *object) error {
	for j := o.first; j >= 0; j = s.slots[j].next {
		v := &s.slots[j]
		if v.written && v.cur != (common.Hash{}) {
			return orphan(o, v)
		}
		v.cur, v.written = common.Hash{}, false
	}
	o.exists, o.cleared = false, true
	return nil
}
