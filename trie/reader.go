package trie

import "github.com/ethereum/go-ethereum/common"

// EmptyRoot is the root of a trie without leaves: the Keccak-256 of the RLP of the empty string.
var EmptyRoot = common.HexToHash("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")

// MaxValueLen bounds a leaf's value, in bytes.
const MaxValueLen = 1 << 20

// Reader gives a trie as it stands: its branch rows and its flat leaves. Bytes that it returns
// stay valid and unchanged until the update or proof that asked for them has returned. The calls
// for one trie come in ascending order of path where they can, FirstBranch and FirstLeaf apart,
// so that an iterator that only moves forward is seldom turned back.
type Reader interface {
	// FirstBranch returns the branch with the least path that has prefix p; false if there is none.
	FirstBranch(p Path) (Path, Branch, bool, error)
	// FirstLeaf returns the leaf with the least key below p; false if there is none. The value is
	// as the trie holds it: the consensus RLP of an account, or of a slot's trimmed value.
	FirstLeaf(p Path) (key common.Hash, value []byte, ok bool, err error)
}

// Sink takes the rows that builds and updates make, each with the tag of its trie. The rows of
// one trie come children before parents and otherwise in no order, and, because hashing is
// deferred, during calls for other tries too. A Sink must not call the builder that calls it.
type Sink interface {
	// PutBranch stores a row; b.Refs is valid during the call only.
	PutBranch(tag uint32, p Path, b Branch) error
	// DeleteBranch removes a row. Only updates call it, and never for a path that they put.
	DeleteBranch(tag uint32, p Path) error
}

// Change is one leaf's change. The caller leaves out changes that change nothing.
type Change struct {
	Key common.Hash
	// Value is the leaf's new value, as the trie holds it. None (nil, no bytes, or the RLP of the
	// empty string) deletes the leaf.
	Value []byte
	// Existed says whether the leaf was there before.
	Existed bool
}
