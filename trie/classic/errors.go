package classic

import "errors"

var (
	// ErrContradiction says that what a Source gives cannot be the trie with the root that it was
	// opened at: a record is missing, or lies elsewhere, or does not encode to the reference that its
	// parent has for it.
	ErrContradiction = errors.New("the stored trie contradicts itself")
	// ErrStale says that a change begins with another value than the trie has.
	ErrStale = errors.New("the trie has another value than the change begins with")
)
