package trie

import "errors"

// Errors of builds, updates and readers. They come wrapped with the key or path that failed.
var (
	// ErrKeyOrder: a key or path does not lie behind the one before it, or overlaps it.
	ErrKeyOrder = errors.New("trie: key out of order")
	// ErrDuplicateKey: a key came twice.
	ErrDuplicateKey = errors.New("trie: duplicate key")
	// ErrEmptyValue: a leaf without a value, as no bytes or as the RLP of the empty string.
	ErrEmptyValue = errors.New("trie: empty value")
	// ErrValueTooLarge: a leaf's value is longer than MaxValueLen.
	ErrValueTooLarge = errors.New("trie: value too large")
	// ErrBadBranch: bytes that are no branch row, or a branch that cannot be.
	ErrBadBranch = errors.New("trie: bad branch")
	// ErrBadPath: a path whose length no node of that kind can have.
	ErrBadPath = errors.New("trie: bad path")
	// ErrMissingNode: the reader lacks what the trie says is there.
	ErrMissingNode = errors.New("trie: missing node")
	// ErrStaleChange: a change contradicts the trie: its Existed, or a delete of what is absent.
	ErrStaleChange = errors.New("trie: change contradicts the trie")
	// ErrLoneRef: a reference was left without siblings, so that its node moves up, and no reader
	// is there to say what it stands for.
	ErrLoneRef = errors.New("trie: reference without siblings")
	// ErrNotBegun: an item or an end without a trie to belong to.
	ErrNotBegun = errors.New("trie: no trie begun")
	// ErrNotEnded: the trie was left open when the next one began, or aborted without an error.
	ErrNotEnded = errors.New("trie: trie not ended")
)
