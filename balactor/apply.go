package balactor

import "fmt"

// Apply is a way from a block access list and the parent's state to the block's.
type Apply uint8

const (
	// ApplyBulk reads an account's and its slots' values and replaces them, run by run of accounts,
	// without a journal, in every worker.
	ApplyBulk Apply = iota
	// ApplyJournaled takes each block through a journaled world state, as a client does that executes
	// transactions (package world). It is there to be measured against: what comes before, the reads,
	// and what comes after, the tries and the store, are the same code. Rewinds have no list and do
	// not go this way.
	ApplyJournaled
)

// String is the way's name, which ParseApply takes.
func (a Apply) String() string {
	switch a {
	case ApplyBulk:
		return "bulk"
	case ApplyJournaled:
		return "journaled"
	}
	return fmt.Sprintf("apply %d", uint8(a))
}

// ParseApply finds the way with a name.
func ParseApply(name string) (Apply, error) {
	for a := ApplyBulk; a <= ApplyJournaled; a++ {
		if a.String() == name {
			return a, nil
		}
	}
	return 0, fmt.Errorf("%q is neither %s nor %s", name, ApplyBulk, ApplyJournaled)
}
